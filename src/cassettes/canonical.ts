import { createHash } from 'node:crypto';
import { isObject, type JsonValue } from '../json.ts';

/** Base64 up to this length stands in a cassette as it is, in characters. */
export const shortBase64 = 1024;

/** JSON that is nested deeper is not taken apart. */
const mostDepth = 500;

/**
 * JSON with the members of every object in order of their names, and each long Base64 string as its size and SHA-256: equal
 * requests have equal texts, whoever wrote them. Throws RangeError for what is nested too deeply.
 */
export function canonicalJson(value: JsonValue, depth = 0): string {
  if (depth > mostDepth) throw new RangeError('nested too deeply');
  if (typeof value === 'string') return JSON.stringify(shortened(value));
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, depth + 1)).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] as JsonValue, depth + 1)}`);
  return `{${members.join(',')}}`;
}

/** What stands for bytes that are too long to show: `sha256sum` of the file gives the same digest. */
export function digestText(bytes: number, sha256: string): string {
  return `<${bytes} bytes, sha256 ${sha256}>`;
}

/** SHA-256 in hex. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

function shortened(text: string): string {
  if (text.length <= shortBase64 || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return text;
  const bytes = Buffer.from(text, 'base64');
  return digestText(bytes.length, sha256(bytes));
}
