import { usageError } from '../errors.ts';
import type { PickedProfile } from './config-types.ts';
import { Secret } from './secret.ts';
import type { Settings, Header, Sourced } from './types.ts';

/** Headers of the connection, or that the client itself sets: nobody else may. */
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

/** What a key opens nothing with. */
const harmlessKey = /(?:^|[-_.])(?:idempotency|cache|surrogate|routing|partition)[-_.]key(?=[-_.]|$)/g;

/** A whole word of a name that says credential, compounds such as `apikey` and a number behind it included. */
const credentialWord =
  /^x?(?:(?:api|access|secret|auth|private|client|session|service|subscription|security|app|user|id|refresh|bearer)*(?:key|token|secret)|auth|authorization|password|passwd|passphrase|credentials?|cookie|jwt|signature)\d*$/;

/**
 * Whether a header of this name holds a credential: authorization, cookie, x-api-key and any other with a whole word such as
 * key, token or secret. `x-portkey-provider` and `anthropic-ratelimit-tokens-remaining` have none.
 */
export function isCredentialName(name: string): boolean {
  const words = name
    .toLowerCase()
    .replaceAll(harmlessKey, '')
    .split(/[^a-z\d]+/);
  return words.some((word) => credentialWord.test(word));
}

/** Whether a header is a credential, by its name or because its value holds a long run of letters and digits. */
export function isCredential(name: string, value: string): boolean {
  const runs = value.match(/[A-Za-z\d]{16,}/g) ?? [];
  return isCredentialName(name) || runs.some((run) => /\d/.test(run) && /[A-Za-z]/.test(run));
}

/** Why a user cannot set a header of this name, or undefined. */
export function invalidNameReason(name: string): string | undefined {
  if (name.length > 200 || !/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) return 'is not a header name';
  if (refusedHeaderNames.has(name.toLowerCase())) return 'is set by the connection itself';
  return undefined;
}

/** Why a text cannot be a header's value, or undefined. The value, which may be a key, is never quoted. */
export function invalidValueReason(value: string): string | undefined {
  const position = value.search(/[^\t\x20-\x7e]/);
  return position === -1 ? undefined : `has a character at position ${position + 1} that a header cannot carry`;
}

const secretHint = "put it into the profile's headers, or into a file: --header @file";

/** A header from `--header 'Name: value'`. Throws usage for credentials (argv is public), hop-by-hop and malformed ones. */
export function parseHeader(text: string): Header {
  const { name, value } = splitHeader(text, '--header');
  if (isCredentialName(name))
    throw usageError(`--header ${name} would show a secret to every user of this machine`, secretHint);
  return { name, value };
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

/** All values of `--header`, `@file` read by `readFile`. A header given twice is sent once, its values joined by commas. */
export async function readHeaderFlags(
  flags: readonly string[],
  readFile: (path: string) => Promise<string>,
): Promise<Header[]> {
  const byName = new Map<string, Header>();
  for (const flag of flags) {
    const path = flag.startsWith('@') ? flag.slice(1) : undefined;
    const headers = path === undefined ? [parseHeader(flag)] : parseHeaderLines(await readFile(path), path);
    for (const { name, value } of headers) {
      const earlier = byName.get(name)?.value;
      byName.set(name, { name, value: earlier === undefined ? value : joinValues(earlier, value) });
    }
  }
  return [...byName.values()];
}

function joinValues(a: Header['value'], b: Header['value']): Header['value'] {
  const joined = `${plain(a)}, ${plain(b)}`;
  return typeof a === 'string' && typeof b === 'string' ? joined : new Secret(joined);
}

function plain(value: Header['value']): string {
  return typeof value === 'string' ? value : value.reveal();
}

/** The flags' headers, and those of the profile that owns the base URL's origin; a flag replaces a profile's header. */
export function pickHeaders(flags: readonly Header[], owner: PickedProfile | undefined): Sourced<Header>[] {
  const byName = new Map<string, Sourced<Header>>();
  for (const [typed, value] of Object.entries(owner?.profile.headers ?? {})) {
    const name = typed.toLowerCase();
    const hidden = isCredential(name, value) ? new Secret(value) : value;
    byName.set(name, { value: { name, value: hidden }, from: owner?.label ?? '', origin: { kind: 'profile' } });
  }
  for (const header of flags) {
    const origin = { kind: 'flag', name: '--header' } as const;
    byName.set(header.name, { value: header, from: 'flag --header', origin });
  }
  return [...byName.values()];
}

/** Headers by name, as they go out. The result holds secrets in the clear: it is for sending only. */
export function revealHeaders(headers: readonly Header[]): Record<string, string> {
  return Object.fromEntries(headers.map(({ name, value }) => [name, plain(value)]));
}

/** The value of a header where it is a credential, by its name or by itself. */
export function credentialOf({ name, value }: Header): Secret | undefined {
  return value instanceof Secret && isCredential(name, value.reveal()) ? value : undefined;
}

/** The names under which no value is shown: of the key, of credentials, and of all that stood in a header file. */
export function hiddenHeaderNames({ headers, headerNames }: Pick<Settings, 'headers' | 'headerNames'>): string[] {
  const names = headers.flatMap(({ value: { name, value } }) => (value instanceof Secret ? [name] : []));
  return headerNames.apiKey === undefined ? names : [...names, headerNames.apiKey.value];
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
