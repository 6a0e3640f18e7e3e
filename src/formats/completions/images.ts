import { settingError, usageError } from '../../errors.ts';
import { isObject, type JsonObject, type JsonValue, listField, textField } from '../../json.ts';
import { type BodyValue, isUpload, setFields } from '../../body.ts';
import type { PlainRequest, EncodedRequest, Media } from '../plain-request.ts';
import type { ReplyEvent } from '../events.ts';

/** The sizes that every model of the images operations draws. */
const sizes: Readonly<Record<string, string>> = { '1:1': '1024x1024', '3:2': '1536x1024', '2:3': '1024x1536' };

/** About how many pixels an image of each class has; above 2K the service calls them experimental. */
const pixels: Readonly<Record<string, number>> = { '1K': 1024 * 1024, '2K': 2560 * 1440, '4K': 3840 * 2160 };
const fewestPixels = 655_360;
const longestSide = 3840;
const widestShape = 3;
/** Both sides are multiples of it. */
const step = 16;

/** Fields of a request that these operations have a place for; every other is refused. */
const ownFields: ReadonlySet<keyof PlainRequest> = new Set([
  ...(['use', 'model', 'stream', 'body'] as const),
  ...(['prompt', 'media', 'mask', 'candidates', 'aspect', 'size', 'imageType'] as const),
]);

/** What `output_format` calls types; PNG is what comes without it, and is not asked for: older models know no such field. */
const outputFormats: Readonly<Record<string, string>> = { 'image/jpeg': 'jpeg', 'image/webp': 'webp' };

/** An image by OpenAI's own operations (formats 7): `generations`, or `edits` where there are images to change. */
export function encodeImages(request: PlainRequest): EncodedRequest {
  refuseUnfit(request);
  const media = request.media ?? [];
  const own = request.body ?? {};
  const format = own['output_format'] ?? outputFormats[request.imageType ?? ''];
  const fields = {
    model: request.model,
    prompt: request.prompt,
    n: request.candidates,
    size: chooseImageSize(request),
    output_format: format,
  };
  const body = setFields(own, fields);
  if (media.length === 0) return { path: '/v1/images/generations', body };
  const files = { 'image[]': media.map(imageFile), mask: request.mask && imageFile(request.mask) };
  return { path: '/v1/images/edits', body: setFields(body, files), form: true };
}

function refuseUnfit(request: PlainRequest): void {
  if (request.tier !== undefined)
    throw usageError(
      `the images operation of this service has no ${request.tier} tier`,
      'text and chat have it; pictures go at full price',
    );
  const given = (Object.keys(request) as (keyof PlainRequest)[]).filter(
    (field) => [request[field] ?? []].flat().length > 0,
  );
  const found = given.find((field) => !ownFields.has(field));
  if (found !== undefined)
    throw settingError(`the images operation of this service has no place for '${found}'`, {
      reason: 'no-place',
      value: found,
    });
}

function imageFile({ mimeType, data, title }: Media): BodyValue {
  const type = mimeType.toLowerCase();
  if (!isUpload(data) || !type.startsWith('image/'))
    throw usageError(`the images operation of this service takes pictures, not ${mimeType}`, 'leave the file out');
  // The service judges a file by its name, too.
  return { ...data, file: { name: title ?? `image.${type.slice('image/'.length)}`, mimeType: type } };
}

/** `WxH` is sent unchanged; a shape, and a class of size, become it. Throws usage for what these operations do not have. */
function chooseImageSize({ size, aspect }: PlainRequest): string | undefined {
  if (size === undefined && aspect === undefined) return undefined;
  if (size !== undefined && !/^\d+K?$/i.test(size)) return size;
  const [shape, target] = [aspect ?? '1:1', pixels[size ?? '1K']];
  if (target === undefined)
    throw usageError(
      `the images operation of this service has no size '${size}'`,
      `it has ${Object.keys(pixels).join(', ')}, or WxH in pixels`,
    );
  if ((size ?? '1K') === '1K' && Object.hasOwn(sizes, shape)) return sizes[shape];
  return fitSizeToShape(shape, target);
}

/** The size of exactly this shape that is nearest to a number of pixels, or for more than 1K just below it. */
function fitSizeToShape(aspect: string, target: number): string {
  const [across, down] = inLowestTerms(aspect);
  const unit = step * step * across * down;
  const largest = Math.floor(longestSide / (step * Math.max(across, down)));
  const smallest = Math.ceil(Math.sqrt(fewestPixels / unit));
  const ideal = Math.sqrt(target / unit);
  const wanted = target === pixels['1K'] ? Math.round(ideal) : Math.floor(ideal);
  const times = Math.max(smallest, Math.min(largest, wanted));
  if (times <= largest && Math.max(across / down, down / across) <= widestShape)
    return `${step * across * times}x${step * down * times}`;
  throw usageError(
    `the images operation of this service has no aspect ratio '${aspect}'`,
    'it has those from 1:3 to 3:1 whose sides can be multiples of 16 pixels; a size in pixels is sent unchanged',
  );
}

function inLowestTerms(aspect: string): [number, number] {
  const [across = 1, down = 1] = aspect.split(':').map(Number);
  const divisor = greatestDivisor(across, down);
  return [across / divisor, down / divisor];
}

function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other);
}

/** Whether a reply is one of the images operations. */
export function isImagesReply(json: JsonObject): boolean {
  const data = json['data'];
  return Array.isArray(data) && data.every((item) => isObject(item) && ('b64_json' in item || 'url' in item));
}

/** What a reply of the images operations says. An image that is only linked becomes a Markdown link (deviation 3). */
export function readImagesReply(json: JsonObject): ReplyEvent[] {
  const format = textField(json, 'outputFormat');
  return (listField(json, 'data') ?? []).filter(isObject).flatMap((item) => imageItemEvents(item, format));
}

function imageItemEvents(item: JsonObject, format: string | undefined): ReplyEvent[] {
  // Empty is absent, as null is: the link of a paid image is beside it.
  const data = textField(item, 'b64Json') ?? '';
  if (data !== '') return [{ type: 'blob', mimeType: format && `image/${format}`, data, candidate: 0 }];
  return linkedImage(item['url'], 0);
}

const dataUrl = /^data:([^,;]*)(?:;[^,]*)?;base64,/i;

/** An image at a URL: its bytes where they are in it, else a link. */
export function linkedImage(url: JsonValue | undefined, candidate: number): ReplyEvent[] {
  if (typeof url !== 'string' || url === '') return [];
  const [head, mimeType] = dataUrl.exec(url.slice(0, 200)) ?? [];
  if (head === undefined) return [{ type: 'text', text: `![image](${url})`, candidate }];
  if (head === url) return [];
  return [{ type: 'blob', mimeType: mimeType?.toLowerCase() || undefined, data: url.slice(head.length), candidate }];
}
