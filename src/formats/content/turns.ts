import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { type Body, type BodyValue, objectAt } from '../../body.ts';
import { blocksOf, type Turn } from '../turns.ts';

/** A conversation as `contents`. Results of tools want the name of the call that they answer, which an earlier turn has. */
export function contentTurns(turns: readonly Turn[], service: string): BodyValue[] {
  const names = new Map<string, string>();
  return turns.flatMap((turn) => {
    const isOwn = turn.service === service;
    const parts = blocksOf(turn).flatMap((block) => partsOf(block, { names, isOwn }));
    return parts.length === 0 ? [] : [{ role: turn.role === 'user' ? 'user' : 'model', parts }];
  });
}

interface Reading {
  /** Names of calls by their id. */
  names: Map<string, string>;
  /** The service itself wrote the turn: its signatures go back to it. */
  isOwn: boolean;
}

function partsOf(block: JsonObject, { names, isOwn }: Reading): BodyValue[] {
  const { type, text, id, name, signature } = block;
  const signed = isOwn && typeof signature === 'string' ? { thoughtSignature: signature } : {};
  if (type === 'text') return typeof text === 'string' && text !== '' ? [{ text, ...signed }] : [];
  if (type === 'image' || type === 'document') return mediaParts(block);
  if (type === 'tool_use') {
    if (typeof id === 'string' && typeof name === 'string') names.set(id, name);
    return [{ functionCall: { name: name ?? '', args: block['input'] ?? {} }, ...signed }];
  }
  if (type === 'tool_result') return [resultPart(block, names)];
  // Thinking goes back to the service that signed it, and there with its call or its text.
  return [];
}

/** A picture or a document; its bytes may still be an upload. */
function mediaParts(block: JsonObject): BodyValue[] {
  const source = objectAt(block as Body, 'source');
  const { type, data, url, media_type: mimeType = 'image/png' } = source;
  if (type === 'text') return data === undefined ? [] : [{ text: data }];
  if (type === 'url' && typeof url === 'string') return [{ fileData: { fileUri: url } }];
  return data === undefined ? [] : [{ inlineData: { mimeType, data } }];
}

function resultPart(block: JsonObject, names: ReadonlyMap<string, string>): BodyValue {
  const { tool_use_id: id, content, is_error: isError } = block;
  const name = names.get(String(id)) ?? String(id);
  return { functionResponse: { name, response: { [isError === true ? 'error' : 'result']: textOf(content) } } };
}

function textOf(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((block) => (isObject(block) && typeof block['text'] === 'string' ? block['text'] : '')).join('\n');
}
