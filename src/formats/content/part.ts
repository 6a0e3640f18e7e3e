import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { camelCase, field, listField, objectField, textField } from '../fields.ts';
import type { ContentPart } from './types.ts';

/** What one part of a candidate holds. A part should hold one thing; where it holds text beside another, both come out. */
export function decodePart(raw: JsonValue): ContentPart[] {
  if (!isObject(raw)) return [];
  const thought = field(raw, 'thought') === true;
  const text = textField(raw, 'text');
  const other = callOf(raw) ?? blobOf(raw, thought);
  if (other) return text ? [{ kind: 'text', text, thought }, other] : [other];
  if (text !== undefined) return [{ kind: 'text', text, thought }];
  return [{ kind: 'other', keys: keysOf(raw) }];
}

function callOf(raw: JsonObject): ContentPart | undefined {
  const call = objectField(raw, 'functionCall');
  if (!call) return undefined;
  const name = textField(call, 'name');
  const args = field(call, 'args');
  const partialArgs = listField(call, 'partialArgs') ?? [];
  const willContinue = field(call, 'willContinue') === true;
  const id = textField(call, 'id');
  if (name !== undefined && partialArgs.length === 0 && !willContinue)
    return { kind: 'call', id, name, input: args ?? {} };
  const isEnd = keysOf(call).length === 0;
  return { kind: 'call-piece', id, name, args: isObject(args) ? args : undefined, partialArgs, willContinue, isEnd };
}

function blobOf(raw: JsonObject, thought: boolean): ContentPart | undefined {
  const inline = objectField(raw, 'inlineData');
  const data = inline && textField(inline, 'data');
  if (!inline || data === undefined) return undefined;
  return { kind: 'blob', mimeType: textField(inline, 'mimeType'), data, thought };
}

function keysOf(raw: JsonObject): string[] {
  return Object.entries(raw)
    .filter(([, value]) => value !== null)
    .map(([key]) => camelCase(key));
}
