import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type Body, type BodyValue, type Upload, isUpload } from '../body.ts';
import type { KnownFiles } from '../files/known-files.ts';
import type { Shard } from './types.ts';

/** The first 64 bits of a SHA-256, as two unsigned halves. */
export interface Hash64 {
  high: number;
  low: number;
}

export function hashId(id: string): Hash64 {
  // As hex it is three times faster than as a buffer.
  const hex = hash('sha256', id, 'hex');
  return { high: Number.parseInt(hex.slice(0, 8), 16), low: Number.parseInt(hex.slice(8, 16), 16) };
}

/** Adds an id to the sum that identifies a set of ids, whatever their order. */
export function addHash(sum: Hash64, { high, low }: Hash64): Hash64 {
  return { high: (sum.high ^ high) >>> 0, low: (sum.low + low) >>> 0 };
}

/** 16 hex digits. */
export function toHex({ high, low }: Hash64): string {
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}

/** A request of a job as the folder of its batch knows it. */
export interface RequestDigest {
  /** 16 hex digits, which results, journal and recovery files have as `request`. */
  digest: string;
  /** Whether something in it is still to be fetched. */
  hasUrls: boolean;
  /** Length of the body; infinite if it has files or URLs. */
  characters: number;
}

/**
 * The digest of a request: path and body with sorted keys, files by their content, what is still to be fetched by its
 * URL, and where it goes if that is not where the batch goes. Two requests that would send the same bytes have the same one, as
 * long as a URL names the same bytes. `onBytes` is called for each piece of a file. Throws the system's error for an unreadable file.
 */
export async function digestRequest(
  { path, body, origin }: { path: string; body: Body; origin?: string | undefined },
  { onBytes, known }: { onBytes?: ((bytes: number) => void) | undefined; known?: KnownFiles } = {},
): Promise<RequestDigest> {
  const hashes = new Map<Upload, string>();
  const uploads = uploadsIn(body);
  const files = uploads.filter(({ url }) => url === undefined);
  for (const upload of files) {
    const { source } = upload;
    const hashed = (): Promise<string> => hashUpload(upload, onBytes);
    hashes.set(upload, await (known && typeof source === 'string' ? known(source, 'sha256', hashed) : hashed()));
  }
  const text = `${origin ?? ''}${path}\n${canonical(body, hashes)}`;
  const characters = uploads.length > 0 ? Number.POSITIVE_INFINITY : text.length;
  return { digest: digestText(text), hasUrls: files.length < uploads.length, characters };
}

/** The first 64 bits of the SHA-256 of a text: 16 hex digits. */
export function digestText(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16);
}

function uploadsIn(value: BodyValue, found: Upload[] = []): Upload[] {
  if (typeof value !== 'object' || value === null) return found;
  if (isUpload(value)) found.push(value);
  else for (const key of Object.keys(value)) uploadsIn((value as Body)[key] as BodyValue, found);
  return found;
}

async function hashUpload({ source }: Upload, onBytes?: (bytes: number) => void): Promise<string> {
  const sum = createHash('sha256');
  if (typeof source !== 'string') return sum.update(source).digest('hex');
  for await (const chunk of createReadStream(source) as AsyncIterable<Uint8Array>) {
    sum.update(chunk);
    onBytes?.(chunk.byteLength);
  }
  return sum.digest('hex');
}

/** Thousands of these are made before the first job is sent: text is joined at once, and nothing made that is thrown away. */
function canonical(value: BodyValue, hashes: ReadonlyMap<Upload, string>): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isUpload(value))
    return value.url === undefined ? `{"sha256":"${hashes.get(value) ?? ''}"}` : `{"url":${JSON.stringify(value.url)}}`;
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, hashes)).join(',')}]`;
  let fields = '';
  for (const key of Object.keys(value).sort()) {
    const item = (value as Body)[key];
    if (item !== undefined) fields += `${fields && ','}${JSON.stringify(key)}:${canonical(item, hashes)}`;
  }
  return `{${fields}}`;
}

/** Whether a job belongs to a shard: only by its id, so that every machine decides the same. */
export function isInShard(id: string, shard: Shard | undefined): boolean {
  return shard === undefined || hashId(id).high % shard.total === shard.index - 1;
}
