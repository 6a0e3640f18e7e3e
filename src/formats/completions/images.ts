import { usageError } from '../../errors.ts';
import { isObject, type JsonObject, type JsonValue, listField, textField } from '../../json.ts';
import { type BodyValue, isUpload, setFields } from '../../body.ts';
import type { Ask, Encoded, Media } from '../ask.ts';
import type { ReplyEvent } from '../events.ts';

/** Shapes that the images operations have for sure; newer models take more sizes. */
const sizes: Readonly<Record<string, string>> = { '1:1': '1024x1024', '3:2': '1536x1024', '2:3': '1024x1536' };

/** Fields of an ask that these operations have a place for; every other is refused. */
const ownFields: ReadonlySet<keyof Ask> = new Set([
  ...(['use', 'model', 'stream', 'body'] as const),
  ...(['prompt', 'media', 'mask', 'candidates', 'aspect', 'size'] as const),
]);

/** A picture by OpenAI's own operations (formats 7): `generations`, or `edits` where there are pictures to change. */
export function encodeImages(ask: Ask): Encoded {
  refuseUnfit(ask);
  const media = ask.media ?? [];
  const fields = { model: ask.model, prompt: ask.prompt, n: ask.candidates, size: sizeOf(ask) };
  const body = setFields(ask.body ?? {}, fields);
  if (media.length === 0) return { path: '/v1/images/generations', body };
  const files = { 'image[]': media.map(imageFile), mask: ask.mask && imageFile(ask.mask) };
  return { path: '/v1/images/edits', body: setFields(body, files), form: true };
}

function refuseUnfit(ask: Ask): void {
  if (ask.tier !== undefined)
    throw usageError(
      `the images operation of this service has no ${ask.tier} tier`,
      'text and chat have it; pictures go at full price',
    );
  const given = (Object.keys(ask) as (keyof Ask)[]).filter((field) => [ask[field] ?? []].flat().length > 0);
  const found = given.find((field) => !ownFields.has(field));
  if (found !== undefined)
    throw usageError(`the images operation of this service has no place for '${found}'`, 'leave it out');
}

function imageFile({ mimeType, data, title }: Media): BodyValue {
  const type = mimeType.toLowerCase();
  if (!isUpload(data) || !type.startsWith('image/'))
    throw usageError(`the images operation of this service takes pictures, not ${mimeType}`, 'leave the file out');
  // The service judges a file by its name, too.
  return { ...data, file: { name: title ?? `image.${type.slice('image/'.length)}`, mimeType: type } };
}

/** `WxH` is sent as it is. Throws usage for a shape or a size that these operations do not have. */
function sizeOf({ size, aspect }: Ask): string | undefined {
  const isClass = size !== undefined && /^\d+K?$/i.test(size);
  if (size !== undefined && !isClass) return size;
  if (isClass && size !== '1K')
    throw usageError(`the images operation of this service has no size '${size}'`, 'it has 1K, or WxH in pixels');
  if (aspect === undefined) return size && sizes['1:1'];
  if (Object.hasOwn(sizes, aspect)) return sizes[aspect];
  throw usageError(
    `the images operation of this service has no aspect ratio '${aspect}'`,
    `it has ${Object.keys(sizes).join(', ')}; a size in pixels is sent as it is`,
  );
}

/** Whether a reply is one of the images operations. */
export function isImagesReply(json: JsonObject): boolean {
  const data = json['data'];
  return Array.isArray(data) && data.every((item) => isObject(item) && ('b64_json' in item || 'url' in item));
}

/** What a reply of the images operations says. A picture that is only linked becomes a Markdown link (deviation 3). */
export function readImages(json: JsonObject): ReplyEvent[] {
  const format = textField(json, 'outputFormat');
  return (listField(json, 'data') ?? []).filter(isObject).flatMap((item) => imageEvents(item, format));
}

function imageEvents(item: JsonObject, format: string | undefined): ReplyEvent[] {
  const data = textField(item, 'b64Json');
  if (data !== undefined) return [{ type: 'blob', mimeType: format && `image/${format}`, data, candidate: 0 }];
  return linkedImage(item['url'], 0);
}

const dataUrl = /^data:([^,;]*)(?:;[^,]*)?;base64,/i;

/** A picture at a URL: its bytes where they are in it, else a link. */
export function linkedImage(url: JsonValue | undefined, candidate: number): ReplyEvent[] {
  if (typeof url !== 'string' || url === '') return [];
  const [head, mimeType] = dataUrl.exec(url.slice(0, 200)) ?? [];
  if (head === undefined) return [{ type: 'text', text: `![image](${url})`, candidate }];
  return [{ type: 'blob', mimeType: mimeType?.toLowerCase() || undefined, data: url.slice(head.length), candidate }];
}
