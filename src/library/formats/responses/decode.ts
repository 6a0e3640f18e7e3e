import {
  isObject,
  type JsonObject,
  type JsonValue,
  listField,
  numberField,
  objectField,
  textField,
} from '../../json.ts';
import { decodeTool, joinTexts, urlBlock } from '../completions/decode.ts';
import { type DecodedRequest, decodeEffort, decodeInput, decodeSchema } from '../decoded-request.ts';
import type { Turn } from '../plain-request.ts';
import { isSystemMessage } from '../openai-fields.ts';
import { asksForSearch } from '../search-tool.ts';

/** Reads a request of the format, such as `encode` writes. */
export function decodeResponsesRequest(body: JsonObject): DecodedRequest {
  const { input = '' } = body;
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : [input].flat().filter(isObject);
  const format = objectField(objectField(body, 'text') ?? {}, 'format') ?? {};
  const words = items.filter(isSystemMessage).map(({ content = '' }) => joinTexts(content));
  const system = [textField(body, 'instructions') ?? '', ...words].filter((text) => text !== '').join('\n');
  return {
    system: system === '' ? undefined : system,
    turns: items.filter((item) => !isSystemMessage(item)).flatMap(decodeItem),
    tools: (listField(body, 'tools') ?? []).filter(isObject).filter(isFunction).flatMap(decodeTool),
    search: asksForSearch(listField(body, 'tools') ?? []),
    toolChoice: decodeChoice(body['tool_choice']),
    schema: decodeSchema(format),
    responseMime: format['type'] === 'json_object' ? 'application/json' : undefined,
    maxTokens: numberField(body, 'max_output_tokens'),
    temperature: numberField(body, 'temperature'),
    topP: numberField(body, 'top_p'),
    effort: decodeEffort(textField(objectField(body, 'reasoning') ?? {}, 'effort')),
  };
}

function isFunction({ type = 'function' }: JsonObject): boolean {
  return type === 'function';
}

/** Turns of one item: thinking and items of tools that ran at a service are left out. */
function decodeItem(item: JsonObject): Turn[] {
  const { type = 'message', role, content = '', call_id: id = '', name = '' } = item;
  if (type === 'function_call') {
    const input = decodeInput(textField(item, 'arguments') ?? '{}');
    return [{ role: 'assistant', content: [{ type: 'tool_use', id, name, input }] }];
  }
  if (type === 'custom_tool_call') {
    const input = { input: item['input'] ?? '' };
    return [{ role: 'assistant', content: [{ type: 'tool_use', id, name, input }] }];
  }
  if (type === 'function_call_output' || type === 'custom_tool_call_output') {
    const result = { type: 'tool_result', tool_use_id: id, content: joinTexts(item['output'] ?? '') };
    return [{ role: 'user', content: [result] }];
  }
  if (type !== 'message') return [];
  const parts =
    typeof content === 'string' ? [{ type: 'input_text', text: content }] : [content].flat().filter(isObject);
  return [{ role: role === 'assistant' ? 'assistant' : 'user', content: parts.flatMap(decodePart) }];
}

function decodePart(part: JsonObject): JsonObject[] {
  const url = part['image_url'] ?? part['file_data'];
  if (url !== undefined) return [urlBlock(url)];
  const text = textField(part, 'text') ?? '';
  return text === '' ? [] : [{ type: 'text', text }];
}

function decodeChoice(choice: JsonValue | undefined): string | undefined {
  if (choice === 'required') return 'any';
  if (choice === 'none') return choice;
  return isObject(choice) && choice['type'] === 'function' ? `tool:${textField(choice, 'name') ?? ''}` : undefined;
}
