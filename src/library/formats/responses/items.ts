import { isObject, type JsonObject, parseFlat, textField } from '../../json.ts';
import { type Body, type BodyValue, setFields } from '../../body.ts';
import { encodePart, encodeUserTurn, joinParts, type PartWords } from '../openai-parts.ts';
import { getTurnBlocks, toList, type Turn } from '../plain-request.ts';

/*
 * A conversation in this format is a list of items: messages, calls of tools, their results, and thinking. The service keeps none
 * of them, so all go back, in their order.
 */

/** A turn as items. Signed items, and items that no other format has, go back only to the service that sent them. */
export function turnItems(turn: Turn, service: string): Body[] {
  const blocks = getTurnBlocks(turn);
  if (turn.role === 'assistant') return assistantItems(blocks, turn.service === service);
  return encodeUserTurn(blocks, resultItem, inputParts);
}

/** The parts of a turn in this format. */
export const inputParts: PartWords = {
  text: 'input_text',
  stored: (id, isImage) => ({ type: isImage ? 'input_image' : 'input_file', file_id: id }),
  linked: (url, isImage) => (isImage ? imagePart(url) : { type: 'input_file', file_url: url }),
  inline: (url, isImage, title) => (isImage ? imagePart(url) : { type: 'input_file', filename: title, file_data: url }),
};

function imagePart(url: BodyValue): Body {
  return { type: 'input_image', image_url: url };
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
  const blocks = typeof content === 'string' ? [] : getTurnBlocks({ content: toList(content) });
  const parts = blocks.flatMap((inner) => encodePart(inner, inputParts));
  const output = typeof content === 'string' ? content : joinParts(parts, inputParts);
  return { type: 'function_call_output', call_id: block['tool_use_id'] ?? '', output };
}
