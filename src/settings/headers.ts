import { usageError } from '../errors.ts';
import { invalidNameReason, invalidValueReason, isCredential, isCredentialName } from './header-form.ts';
import { Secret } from './secret.ts';
import type { Settings } from './settings.ts';
import type { Header } from './types.ts';

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
  const all: Header[] = [];
  for (const flag of flags) {
    if (flag.startsWith('@')) all.push(...parseHeaderLines(await readFile(flag.slice(1)), flag.slice(1)));
    else all.push(parseHeader(flag));
  }
  return joinRepeated(all);
}

function joinRepeated(headers: readonly Header[]): Header[] {
  const byName = new Map<string, Header>();
  for (const header of headers) {
    const earlier = byName.get(header.name);
    byName.set(
      header.name,
      earlier === undefined ? header : { name: header.name, value: joinValues(earlier.value, header.value) },
    );
  }
  return [...byName.values()];
}

function joinValues(a: Header['value'], b: Header['value']): Header['value'] {
  if (typeof a === 'string' && typeof b === 'string') return `${a}, ${b}`;
  return new Secret(`${plain(a)}, ${plain(b)}`);
}

function plain(value: Header['value']): string {
  return typeof value === 'string' ? value : value.reveal();
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
