import { settingError, usageError } from '../../errors.ts';
import { isObject, type JsonObject, type JsonValue, listField, textField } from '../../json.ts';
import { type Body, type BodyValue, isUpload, setFields, type Upload } from '../../body.ts';
import { fitOpenaiSize, openaiSizeClasses } from '../../vendors/image-sizes.ts';
import { type ImagesOperation, outputFormats } from '../../vendors/image-types.ts';
import type { PlainRequest, EncodedRequest, Media } from '../plain-request.ts';
import type { ReplyEvent } from '../events.ts';
import { toDataUrl } from '../data-url.ts';
import { mediaPart } from './turns.ts';

/** Fields of a request that each operation has a place for; every other is refused. */
const ownFields: Readonly<Record<ImagesOperation, ReadonlySet<keyof PlainRequest>>> = {
  openai: new Set([...common(), 'mask']),
  openrouter: new Set([...common(), 'seed']),
};

function common(): (keyof PlainRequest)[] {
  return [
    ...(['use', 'model', 'stream', 'body', 'prompt', 'media', 'candidates', 'store', 'keepThink'] as const),
    ...(['aspect', 'size', 'quality', 'background', 'outputFormat', 'imageType'] as const),
  ];
}

/** An image by an operation of its own (formats 7). Throws usage for what it does not have. */
export function encodeImages(request: PlainRequest, operation: ImagesOperation): EncodedRequest {
  refuseUnfit(request, ownFields[operation]);
  const own = request.body ?? {};
  const byName = outputFormats[operation][request.imageType ?? ''];
  const shared = { model: request.model, prompt: request.prompt, n: request.candidates, seed: request.seed };
  const look = {
    quality: request.quality,
    background: request.background,
    output_format: request.outputFormat ?? own['output_format'] ?? byName,
  };
  const body = setFields(own, { ...shared, ...encodeShape(request, operation), ...look });
  const { media = [], mask } = request;
  if (operation === 'openrouter') return encodeReferences(body, media);
  if (media.length === 0) return { path: '/v1/images/generations', body };
  const files = { 'image[]': media.map(imageFile), mask: mask && imageFile(mask) };
  return { path: editsPath, body: setFields(body, files), form: true };
}

export const editsPath = '/v1/images/edits';

/** The form of an edit as JSON: a batch holds no files. */
export function toEditBody({ 'image[]': images = [], mask, ...fields }: Body): Body {
  const pictures = { images: [images].flat().map(referTo) };
  return { ...fields, ...pictures, ...(mask !== undefined && { mask: referTo(mask) }) };
}

function referTo(file: BodyValue): Body {
  const { file: { mimeType } = { mimeType: 'image/png' }, ...data } = file as Upload;
  return { image_url: toDataUrl({ mimeType, data }) };
}

/** OpenRouter's operation draws, and changes the images that the request refers to. */
function encodeReferences(body: Body, media: readonly Media[]): EncodedRequest {
  for (const one of media) requirePicture(one);
  const references = media.length === 0 ? undefined : media.map(mediaPart);
  return { path: '/v1/images', body: setFields(body, { input_references: references }) };
}

function refuseUnfit(request: PlainRequest, fields: ReadonlySet<keyof PlainRequest>): void {
  if (request.tier !== undefined)
    throw usageError(
      `the images operation of this service has no ${request.tier} tier`,
      'text and chat have it; pictures go at full price',
    );
  const given = (Object.keys(request) as (keyof PlainRequest)[]).filter(
    (field) => [request[field] ?? []].flat().length > 0,
  );
  const found = given.find((field) => !fields.has(field));
  if (found !== undefined)
    throw settingError(`the images operation of this service has no place for '${found}'`, {
      reason: 'no-place',
      value: found,
    });
}

function requirePicture({ mimeType, data }: Media): void {
  if (!isUpload(data) || !mimeType.toLowerCase().startsWith('image/'))
    throw usageError(`the images operation of this service takes pictures, not ${mimeType}`, 'leave the file out');
}

function imageFile(media: Media): BodyValue {
  requirePicture(media);
  const type = media.mimeType.toLowerCase();
  // The service judges a file by its name, too.
  return {
    ...(media.data as Upload),
    file: { name: media.title ?? `image.${type.slice('image/'.length)}`, mimeType: type },
  };
}

/** OpenRouter has a field for each; OpenAI has both sides, which a shape and a class of size become. */
function encodeShape({ size, aspect }: PlainRequest, operation: ImagesOperation): Record<string, string | undefined> {
  const isClass = size !== undefined && /^\d+K?$/i.test(size);
  if (operation === 'openrouter')
    return { aspect_ratio: aspect, resolution: isClass ? size : undefined, size: isClass ? undefined : size };
  if (size === undefined && aspect === undefined) return {};
  return { size: size === undefined || isClass ? chooseImageSize(aspect ?? '1:1', size ?? '1K') : size };
}

function chooseImageSize(aspect: string, size: string): string {
  if (!openaiSizeClasses.includes(size))
    throw usageError(
      `the images operation of this service has no size '${size}'`,
      `it has ${openaiSizeClasses.join(', ')}, or WxH in pixels`,
    );
  const fitting = fitOpenaiSize(aspect, size);
  if (fitting !== undefined) return fitting;
  throw usageError(
    `the images operation of this service has no aspect ratio '${aspect}'`,
    'it has those from 1:3 to 3:1 whose sides can be multiples of 16 pixels; a size in pixels is sent unchanged',
  );
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
  const mimeType = textField(item, 'mediaType') ?? (format && `image/${format}`);
  if (data !== '') return [{ type: 'blob', mimeType, data, candidate: 0 }];
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
