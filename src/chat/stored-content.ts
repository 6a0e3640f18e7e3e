import { readFile } from 'node:fs/promises';
import type { JsonValue } from '../json.ts';
import { type BodyValue, isUpload } from '../upload.ts';

/**
 * A part of a request as a session keeps it: pictures and files as the Base64 that was sent, so that a session is one file
 * that can be moved, and a later turn sends the very same bytes. A turn is 32 MB at most (wire.md 3, Limits).
 */
export async function storable(value: BodyValue): Promise<JsonValue> {
  if (isUpload(value)) {
    const bytes = typeof value.source === 'string' ? await readFile(value.source) : Buffer.from(value.source);
    return bytes.toString('base64');
  }
  if (Array.isArray(value)) return Promise.all(value.map(storable));
  if (typeof value !== 'object' || value === null) return value;
  const fields = await Promise.all(
    Object.entries(value).map(async ([key, item]) => [key, await storable(item)] as const),
  );
  return Object.fromEntries(fields);
}
