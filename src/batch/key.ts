import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type Body, type BodyValue, isUpload, type Upload } from '../body.ts';
import type { KnownFiles } from '../files/known-files.ts';
import { formatFacts } from '../formats/format.ts';
import type { FormatName } from '../formats/types.ts';

/** What a row asks. */
interface Question {
  /** Scheme and host of the gateway, or `offline`. */
  origin: string;
  /** Of the request: it names the format or the model. */
  path: string;
  format: FormatName;
  body: Body;
}

/** How files are hashed. */
interface Hashing {
  /** Called for each piece of a file. */
  onBytes?: ((bytes: number) => void) | undefined;
  known?: KnownFiles | undefined;
}

/** What is known of a request whose key is made. */
export interface RequestKey {
  /** 32 hex digits. */
  key: string;
  /** Whether something in it is still to be fetched. */
  hasUrls: boolean;
  /** Length of the body; infinite if it has files or URLs. */
  characters: number;
}

/**
 * The key of a request: rows that ask the same have the same key, whatever bounds, routes or labels their requests. Files count by their
 * content, and URLs by their text. Throws the system's error for an unreadable file.
 */
export async function keyRequest({ origin, path, format, body }: Question, hashing: Hashing = {}): Promise<RequestKey> {
  const { text, hasUrls, characters } = await canonicalText(withoutUnkeyed(body, formatFacts[format].unkeyed), hashing);
  return { key: digestText(`${origin}\n${path}\n${text}`), hasUrls, characters };
}

/** 32 hex digits: the first half of the SHA-256 of a text. */
export function digestText(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32);
}

/** A body without some of its fields. An object in it that has no others is left out, too. */
function withoutUnkeyed(body: Body, fields: readonly string[]): Body {
  const left = { ...body };
  for (const field of fields) {
    const [name = '', inner] = field.split('.');
    const value = left[name];
    if (inner !== undefined && isPlainObject(value)) {
      const { [inner]: _, ...rest } = value;
      left[name] = rest;
      if (Object.keys(rest).length > 0) continue;
    } else if (inner !== undefined) continue;
    delete left[name];
  }
  return left;
}

function isPlainObject(value: BodyValue | undefined): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isUpload(value);
}

/**
 * A body with sorted keys, files by their content, what is still to be fetched by its URL. `characters`: its length; infinite if it has files
 * or URLs. Throws the system's error for an unreadable file.
 */
async function canonicalText(
  body: Body,
  { onBytes, known }: Hashing,
): Promise<Pick<RequestKey, 'hasUrls' | 'characters'> & { text: string }> {
  const hashes = new Map<Upload, string>();
  const uploads = uploadsIn(body);
  const files = uploads.filter(({ url }) => url === undefined);
  for (const upload of files) {
    const { source } = upload;
    const hashed = (): Promise<string> => hashUpload(upload, onBytes);
    hashes.set(upload, await (known && typeof source === 'string' ? known(source, 'sha256', hashed) : hashed()));
  }
  const text = canonical(body, hashes);
  const characters = uploads.length > 0 ? Number.POSITIVE_INFINITY : text.length;
  return { text, hasUrls: files.length < uploads.length, characters };
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
