import { isObject, type JsonObject, objectField, textField } from '../json.ts';
import { type Body, type BodyValue, isUpload } from '../body.ts';
import { encodeAudio, type MediaBytes, toDataUrl } from './data-url.ts';
import { type Media, type PlainRequest, withTitleAbove } from './plain-request.ts';

/*
 * The turns of the user are the same in both formats of OpenAI, but for the words of their parts.
 */

/** The words of one format for the parts of a turn. */
export interface PartWords {
  /** The type of a text. */
  text: 'text' | 'input_text';
  /** A file that the service has under an id. */
  stored(id: BodyValue, isImage: boolean): Body;
  /** A file at an address. */
  linked(url: string, isImage: boolean, title?: string): Body;
  /** A file in a data URL. OpenAI requires a name for every file. */
  inline(url: BodyValue, isImage: boolean, title: string): Body;
}

/** A turn of the user: each result of a tool by itself, in front of the other parts. */
export function encodeUserTurn(
  blocks: readonly JsonObject[],
  encodeResult: (block: JsonObject) => Body,
  words: PartWords,
): Body[] {
  const results = blocks.filter(({ type }) => type === 'tool_result');
  const parts = blocks.filter(({ type }) => type !== 'tool_result').flatMap((block) => encodePart(block, words));
  const said = parts.length === 0 ? [] : [{ role: 'user', content: joinParts(parts, words) }];
  return [...results.map(encodeResult), ...said];
}

/** The last turn. The prompt comes before the inputs that it is about, as in OpenAI's own documents. */
export function encodePrompt({ prompt, media = [] }: Pick<PlainRequest, 'prompt' | 'media'>, words: PartWords): Body[] {
  if (media.length === 0) return prompt === undefined ? [] : [{ role: 'user', content: prompt }];
  const text = prompt === undefined ? [] : [textPart(prompt, words)];
  return [{ role: 'user', content: [...text, ...media.map((one) => encodeMedia(one, words))] }];
}

/** A block of a user's turn, or of a tool's result; kinds that the formats do not have are left out. */
export function encodePart(block: JsonObject, words: PartWords): BodyValue[] {
  const source = objectField(block, 'source');
  if (!source) return block['type'] === 'text' ? textParts(textField(block, 'text') ?? '', words) : [];
  const title = textField(block, 'title');
  const isImage = block['type'] === 'image';
  const { type, media_type: mimeType = '', data, url, file_id: id } = source as Body;
  if (type === 'text') return [textPart(withTitleAbove(String(data), title), words)];
  if (type === 'file') return [words.stored(id ?? '', isImage)];
  if (type === 'url' && typeof url === 'string') return [words.linked(url, isImage, title)];
  if (typeof data !== 'string' && !isUpload(data)) return [];
  return [encodeBytes({ mimeType: String(mimeType), data, title }, words)];
}

/** An image or a file of the last turn. */
export function encodeMedia({ mimeType, data, title }: Media, words: PartWords): BodyValue {
  if (typeof data === 'string') return textPart(withTitleAbove(data, title), words);
  return encodeBytes({ mimeType, data, title }, words);
}

function encodeBytes(
  { title = 'document.pdf', ...media }: MediaBytes & Pick<Media, 'title'>,
  words: PartWords,
): BodyValue {
  const isImage = media.mimeType.toLowerCase().startsWith('image/');
  return encodeAudio(media) ?? words.inline(toDataUrl(media), isImage, title);
}

/** A blank text says nothing, and some services refuse it. */
export function textParts(text: string, words: PartWords): JsonObject[] {
  return text.trim() === '' ? [] : [textPart(text, words)];
}

function textPart(text: string, { text: type }: PartWords): JsonObject {
  return { type, text };
}

/** The content of a turn. A single text is sent as a string, which every server takes. */
export function joinParts(parts: BodyValue[], { text: type }: PartWords): BodyValue {
  const [first] = parts;
  return parts.length === 1 && isObject(first) && first['type'] === type ? (first['text'] ?? '') : parts;
}
