import { isCredentialName, revealed, Secret } from './redact.ts';
import { usageError, vendorHeaderNames } from '../../library/index.ts';
import type { Header, Origin, Profile } from './types.ts';

/** Headers of the connection, or that the client sets: users cannot. */
export const refusedHeaderNames = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The reason that a user cannot set a header of this name; undefined if they can. */
export function invalidNameReason(name: string): string | undefined {
  if (name.length > 200 || !/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) return 'is not a header name';
  if (refusedHeaderNames.has(name.toLowerCase())) return 'is set by the connection itself';
  return undefined;
}

/** The reason that a text cannot be a header's value; undefined if it can. The value may be a key, so it is never quoted. */
export function invalidValueReason(value: string): string | undefined {
  const position = value.search(/[^\t\x20-\x7e]/);
  return position === -1 ? undefined : `has a character at position ${position + 1} that a header cannot carry`;
}

/** A header from `--header 'Name: value'`. Throws usage for credentials (argv is public), hop-by-hop and malformed headers. */
export function parseHeader(text: string): Header {
  const header = splitHeader(text, '--header');
  if (!isCredentialName(header.name)) return header;
  throw usageError(
    `--header ${header.name} would show a secret to every user of this machine`,
    "put it into the profile's headers, or into a file: --header @file",
  );
}

/** The headers of a file, one a line; blank lines and `#` lines are skipped, values are kept secret. Throws usage. */
export function parseHeaderLines(text: string, path: string): Header[] {
  const lines = text.replace('\uFEFF', '').split(/\r?\n/);
  return lines.flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    const { name, value } = splitHeader(line, `${path}:${index + 1}`);
    return [{ name, value: new Secret(value) }];
  });
}

/** The real names of vendor-a's key header and vendor-b's version header (formats 1). */
export type HeaderNames = NonNullable<Profile['headerNames']>;

/** Reads `<content-key>,<version>`, of which either side can be empty, or `vendors`. */
export function parseHeaderNames(text: string, { from }: Origin): HeaderNames {
  if (text.trim() === 'vendors') return vendorHeaderNames;
  const [apiKey = '', version = '', ...more] = text.split(',').map((name) => name.trim());
  const names = [apiKey, version].filter((name) => name !== '');
  const hint = 'for example --header-names x-goog-api-key,anthropic-version, which is what vendors means';
  if (more.length > 0 || names.length === 0)
    throw usageError(`${from}: must be vendors, or <content-key>,<version>`, hint);
  for (const name of names) {
    const reason = invalidNameReason(name);
    if (reason !== undefined) throw usageError(`${from}: ${JSON.stringify(name.slice(0, 64))} ${reason}`, hint);
  }
  return { ...(apiKey !== '' && { apiKey }), ...(version !== '' && { version }) };
}

/**
 * All values of `--header`; `readFile` reads those of the form `@file`. A header given twice is sent once, its values joined by
 * commas.
 */
export async function readHeaderFlags(
  flags: readonly string[],
  readFile: (path: string) => Promise<string>,
): Promise<Header[]> {
  const byName = new Map<string, Header>();
  for (const flag of flags) {
    const path = flag.startsWith('@') ? flag.slice(1) : undefined;
    const headers = path === undefined ? [parseHeader(flag)] : parseHeaderLines(await readFile(path), path);
    for (const header of headers) {
      const earlier = byName.get(header.name);
      byName.set(header.name, earlier === undefined ? header : joined(earlier, header));
    }
  }
  return [...byName.values()];
}

function joined({ name, value: first }: Header, { value: second }: Header): Header {
  const value = `${revealed(first)}, ${revealed(second)}`;
  return { name, value: typeof first === 'string' && typeof second === 'string' ? value : new Secret(value) };
}

function splitHeader(text: string, where: string): { name: string; value: string } {
  const colon = text.indexOf(':');
  if (colon < 1)
    throw usageError(`${where} is not of the form 'Name: value'`, "gateway-cli text --header 'X-Team: docs' 'Hello'");
  const name = text.slice(0, colon).trim();
  const value = text.slice(colon + 1).trim();
  const nameReason = invalidNameReason(name);
  if (nameReason !== undefined) throw usageError(`${where}: ${JSON.stringify(name.slice(0, 64))} ${nameReason}`);
  const valueReason = value === '' ? 'has no value' : invalidValueReason(value);
  if (valueReason !== undefined) throw usageError(`${where}: ${name} ${valueReason}`);
  return { name: name.toLowerCase(), value };
}
