import { isObject, type JsonObject, objectField, parseFlat, textField } from '../../json.ts';
import { type Body, type BodyValue, isUpload, setFields } from '../../body.ts';
import { encodeAudio, type MediaBytes, toDataUrl } from '../data-url.ts';
import { getTurnBlocks, type Media, type PlainRequest, toList, type Turn, withTitleAbove } from '../plain-request.ts';

/*
 * A conversation in this format is a list of items: messages, calls of tools, their results, and thinking. The service keeps none
 * of them, so all go back, in their order.
 */

/** A turn as items. Signed items, and items that no other format has, go back only to the service that sent them. */
export function turnItems(turn: Turn, service: string): Body[] {
  const blocks = getTurnBlocks(turn);
  if (turn.role === 'assistant') return assistantItems(blocks, turn.service === service);
  const results = blocks.filter(({ type }) => type === 'tool_result');
  const parts = blocks.filter(({ type }) => type !== 'tool_result').flatMap(userPart);
  const said = parts.length === 0 ? [] : [{ role: 'user', content: withoutParts(parts) }];
  return [...results.map(resultItem), ...said];
}

/** The prompt comes before the inputs that it is about. */
export function promptItems({ prompt, media = [] }: Pick<PlainRequest, 'prompt' | 'media'>): Body[] {
  if (media.length === 0) return prompt === undefined ? [] : [{ role: 'user', content: prompt }];
  const text = prompt === undefined ? [] : [textPart(prompt)];
  return [{ role: 'user', content: [...text, ...media.map(mediaPart)] }];
}

function assistantItems(blocks: readonly JsonObject[], isOwn: boolean): Body[] {
  const items: Body[] = [];
  for (const block of blocks) {
    const item = assistantItem(block, isOwn);
    if (item === undefined) continue;
    const last = items.at(-1);
    // Texts that follow each other are one message.
    if (item['type'] === 'message' && last?.['type'] === 'message' && last['phase'] === item['phase'])
      items[items.length - 1] = { ...last, content: [...(last['content'] as Body[]), ...(item['content'] as Body[])] };
    else items.push(item);
  }
  // The service refuses thinking that nothing follows, such as the thinking before an image, since images do not go back.
  while (items.at(-1)?.['type'] === 'reasoning') items.pop();
  return items;
}

function assistantItem(block: JsonObject, isOwn: boolean): Body | undefined {
  const { type, item, phase } = block;
  if (type === 'text') {
    const text = textField(block, 'text') ?? '';
    if (text.trim() === '') return undefined;
    const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] };
    return isOwn ? setFields(message, { phase }) : message;
  }
  if (type === 'tool_use') {
    const custom = isOwn ? signedItem(textField(block, 'signature')) : undefined;
    if (custom) return custom;
    const { id = '', name = '', input = {} } = block;
    const given = typeof input === 'string' ? input : JSON.stringify(input);
    return { type: 'function_call', call_id: id, name, arguments: given };
  }
  if (!isOwn) return undefined;
  return type === 'thinking' ? signedItem(textField(block, 'signature')) : isObject(item) ? item : undefined;
}

/** The signature of thinking: its whole item, without which the service does not take it back. */
export function signThinking(item: JsonObject): string | undefined {
  return typeof item['encrypted_content'] === 'string' ? JSON.stringify(item) : undefined;
}

/** The item in a signature, if the signature is of this format. */
function signedItem(signature: string | undefined): Body | undefined {
  if (signature === undefined) return undefined;
  try {
    const item = parseFlat(signature);
    return isObject(item) ? item : undefined;
  } catch {
    return undefined;
  }
}

/** The items of a conversation: results of custom tools have a kind of their own. */
export function nameResults(items: readonly BodyValue[]): BodyValue[] {
  const calls = items.filter((item) => isObject(item) && item['type'] === 'custom_tool_call') as Body[];
  if (calls.length === 0) return [...items];
  return items.map((item) => {
    const isResult = isObject(item) && item['type'] === 'function_call_output';
    const isCustom = isResult && calls.some((call) => call['call_id'] === item['call_id']);
    return isCustom ? { ...item, type: 'custom_tool_call_output' } : item;
  });
}

function resultItem(block: JsonObject): Body {
  const { content = '' } = block;
  const parts = typeof content === 'string' ? [] : getTurnBlocks({ content: toList(content) }).flatMap(userPart);
  const output = typeof content === 'string' ? content : withoutParts(parts);
  return { type: 'function_call_output', call_id: block['tool_use_id'] ?? '', output };
}

/** A block of a user's turn, or of a tool's result; kinds that the format does not have are left out. */
function userPart(block: JsonObject): BodyValue[] {
  const source = objectField(block, 'source');
  if (!source) return block['type'] === 'text' ? textParts(textField(block, 'text') ?? '') : [];
  const title = textField(block, 'title');
  const { type, data = '', media_type: mimeType = '', url, file_id: id } = source as Body;
  const isImage = block['type'] === 'image';
  if (type === 'text') return [textPart(withTitleAbove(String(data), title))];
  if (type === 'file') return [{ type: isImage ? 'input_image' : 'input_file', file_id: id ?? '' }];
  if (type === 'url' && typeof url === 'string')
    return [isImage ? { type: 'input_image', image_url: url } : { type: 'input_file', file_url: url }];
  if (typeof data !== 'string' && !isUpload(data)) return [];
  return [dataPart({ mimeType: String(mimeType), data, title })];
}

function mediaPart({ mimeType, data, title }: Media): BodyValue {
  return typeof data === 'string' ? textPart(withTitleAbove(data, title)) : dataPart({ mimeType, data, title });
}

/** The service requires a name for every file. */
function dataPart({ title = 'document.pdf', ...media }: MediaBytes & Pick<Media, 'title'>): BodyValue {
  const audio = encodeAudio(media);
  if (audio !== undefined) return audio;
  const url = toDataUrl(media);
  if (media.mimeType.toLowerCase().startsWith('image/')) return { type: 'input_image', image_url: url };
  return { type: 'input_file', filename: title, file_data: url };
}

/** A blank text says nothing, and some services refuse it. */
function textParts(text: string): JsonObject[] {
  return text.trim() === '' ? [] : [textPart(text)];
}

function textPart(text: string): JsonObject {
  return { type: 'input_text', text };
}

/** A single text is sent as a string, which every server takes. */
function withoutParts(parts: BodyValue[]): BodyValue {
  const [first] = parts;
  return parts.length === 1 && isObject(first) && first['type'] === 'input_text' ? (first['text'] ?? '') : parts;
}
