import { isObject, type JsonObject, listField, numberField, objectField, textField } from '../../json.ts';
import { joinTexts } from '../completions/decode.ts';
import { type DecodedRequest, decodeEffort, decodeStops } from '../decoded-request.ts';
import type { Turn } from '../plain-request.ts';
import { asksForSearch } from '../search-tool.ts';

/** Reads a request of the format, such as `encode` writes. Blocks of turns are in the words of this format already. */
export function decodeMessagesRequest(body: JsonObject): DecodedRequest {
  const config = objectField(body, 'output_config') ?? {};
  const format = objectField(config, 'format') ?? objectField(body, 'output_format');
  const messages = (listField(body, 'messages') ?? []).filter(isObject);
  const between = messages.filter(({ role }) => role === 'system').map(({ content = '' }) => joinTexts(content));
  const system = [joinTexts(body['system'] ?? ''), ...between].filter((text) => text !== '').join('\n');
  return {
    system: system === '' ? undefined : system,
    turns: messages.filter(({ role }) => role !== 'system').map(decodeTurn),
    tools: (listField(body, 'tools') ?? []).filter(isObject).flatMap(decodeTool),
    search: asksForSearch(listField(body, 'tools') ?? []),
    toolChoice: decodeChoice(objectField(body, 'tool_choice') ?? {}),
    schema: format?.['schema'],
    maxTokens: numberField(body, 'max_tokens'),
    temperature: numberField(body, 'temperature'),
    topP: numberField(body, 'top_p'),
    topK: numberField(body, 'top_k'),
    stop: decodeStops(body['stop_sequences']),
    effort: decodeEffort(textField(config, 'effort')),
  };
}

function decodeTurn({ role, content = '' }: JsonObject): Turn {
  const said = typeof content === 'string' ? content : [content].flat().filter(isObject);
  return { role: role === 'assistant' ? 'assistant' : 'user', content: said };
}

function decodeTool({ name, description, input_schema: schema }: JsonObject): JsonObject[] {
  if (name === undefined || schema === undefined) return [];
  return [{ name, ...(description !== undefined && { description }), schema }];
}

function decodeChoice({ type, name }: JsonObject): string | undefined {
  if (type === 'tool') return `tool:${String(name)}`;
  return type === 'any' || type === 'none' ? type : undefined;
}
