import {
  isObject,
  type JsonObject,
  type JsonValue,
  listField,
  numberField,
  objectField,
  textField,
} from '../../json.ts';
import { mediaBlock } from '../content/decode.ts';
import { type DecodedRequest, decodeEffort, decodeInput, decodeSchema, decodeStops } from '../decoded-request.ts';
import type { Turn } from '../plain-request.ts';
import { isSystemMessage } from '../openai-fields.ts';
import { asksForSearch } from '../search-tool.ts';

/** Reads a request of the format, such as `encode` writes. */
export function decodeCompletionsRequest(body: JsonObject): DecodedRequest {
  const messages = (listField(body, 'messages') ?? []).filter(isObject);
  const format = objectField(body, 'response_format') ?? {};
  const system = messages.filter(isSystemMessage).map(({ content = '' }) => joinTexts(content));
  return {
    system: system.length === 0 ? undefined : system.join('\n'),
    turns: messages.filter((message) => !isSystemMessage(message)).map(decodeMessage),
    tools: (listField(body, 'tools') ?? [])
      .filter(isObject)
      .flatMap((tool) => decodeTool(objectField(tool, 'function'))),
    search: asksForSearch(listField(body, 'tools') ?? []),
    toolChoice: decodeChoice(body['tool_choice']),
    schema: decodeSchema(objectField(format, 'json_schema')),
    responseMime: format['type'] === 'json_object' ? 'application/json' : undefined,
    maxTokens: numberField(body, 'max_completion_tokens') ?? numberField(body, 'max_tokens'),
    temperature: numberField(body, 'temperature'),
    topP: numberField(body, 'top_p'),
    topK: numberField(body, 'top_k'),
    candidates: numberField(body, 'n'),
    seed: numberField(body, 'seed'),
    stop: decodeStops(body['stop']),
    effort: decodeEffort(
      textField(body, 'reasoning_effort') ?? textField(objectField(body, 'reasoning') ?? {}, 'effort'),
    ),
  };
}

/** The texts of a content. */
export function joinTexts(content: JsonValue): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content.filter(isObject) : [];
  return parts.flatMap((part) => textField(part, 'text') ?? []).join('\n');
}

function decodeMessage(message: JsonObject): Turn {
  const { role, content = '', name = '', tool_call_id: id = name } = message;
  if (role === 'tool' || role === 'function')
    return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: joinTexts(content) }] };
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : [content].flat().filter(isObject);
  const calls = (listField(message, 'tool_calls') ?? []).filter(isObject).map(decodeCall);
  const said = parts.flatMap(decodePart).filter(({ type, text }) => type !== 'text' || text !== '');
  return { role: role === 'assistant' ? 'assistant' : 'user', content: [...said, ...calls] };
}

function decodePart(part: JsonObject): JsonObject[] {
  const { type, text = '', image_url: image, file } = part;
  if (type === 'text') return [{ type: 'text', text }];
  if (type === 'image_url') return [urlBlock((isObject(image) ? textField(image, 'url') : image) ?? '')];
  return isObject(file) ? [urlBlock(file['file_data'] ?? '')] : [];
}

/** A file in a data URL, or its address. */
export function urlBlock(url: JsonValue): JsonObject {
  const [, mimeType, data] = /^data:([^;,]+)[^,]*;base64,(.*)$/s.exec(String(url)) ?? [];
  if (mimeType !== undefined) return mediaBlock(mimeType, data ?? '');
  return { type: 'image', source: { type: 'url', url } };
}

function decodeCall(call: JsonObject): JsonObject {
  const custom = objectField(call, 'custom');
  const id = call['id'] ?? '';
  if (custom) return { type: 'tool_use', id, name: custom['name'] ?? '', input: { input: custom['input'] ?? '' } };
  const { name = '', arguments: json = '{}' } = objectField(call, 'function') ?? {};
  return { type: 'tool_use', id, name, input: decodeInput(String(json)) };
}

/** An offered function in the plain form. */
export function decodeTool(offer: JsonObject | undefined): JsonObject[] {
  const { name, description, parameters: schema = { type: 'object' } } = offer ?? {};
  if (typeof name !== 'string') return [];
  return [{ name, ...(typeof description === 'string' && { description }), schema }];
}

function decodeChoice(choice: JsonValue | undefined): string | undefined {
  if (choice === 'required' || choice === 'any') return 'any';
  if (choice === 'none') return choice;
  const called = isObject(choice) ? objectField(choice, 'function') : undefined;
  return called && `tool:${textField(called, 'name') ?? ''}`;
}
