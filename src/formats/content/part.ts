import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { camelCase, field, objectField, textField } from '../fields.ts';
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
  const name = call && textField(call, 'name');
  if (!call || name === undefined) return undefined;
  return { kind: 'call', id: textField(call, 'id'), name, input: field(call, 'args') ?? {} };
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
