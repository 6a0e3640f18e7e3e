import { isCredentialName } from './header-form.ts';
import type { Secret } from './secret.ts';

const mask = '(redacted)';

/** Replaces every known secret in a text. */
export type Redactor = (text: string) => string;

/**
 * A function that replaces each secret, as it is, URL-encoded, JSON-escaped or inside Base64, by `(redacted)`.
 * Values of 3 to 5 characters count only where they stand alone, shorter ones not at all: they would eat ordinary words.
 */
export function createRedactor(secrets: readonly Secret[]): Redactor {
  const { pattern } = secretPattern(secrets);
  return pattern === undefined ? (text) => text : (text) => text.replace(pattern, mask);
}

/**
 * Like `createRedactor`, but every character of a secret becomes `*`, so that no length changes: for what is recorded byte
 * for byte. `reach` is the length of the longest spelling.
 */
export function createMasker(secrets: readonly Secret[]): { hide: Redactor; reach: number } {
  const { pattern, reach } = secretPattern(secrets);
  if (pattern === undefined) return { hide: (text) => text, reach };
  return { hide: (text) => text.replace(pattern, (found) => '*'.repeat(found.length)), reach };
}

function secretPattern(secrets: readonly Secret[]): { pattern: RegExp | undefined; reach: number } {
  const values = secrets.map((secret) => secret.reveal().trim());
  const literal = values.filter((value) => value.length >= 6).flatMap(spellingsOf);
  const alone = values.filter((value) => value.length >= 3 && value.length < 6);
  const alternatives = [
    ...[...new Set(literal)].sort((a, b) => b.length - a.length).map(escapePattern),
    ...alone.map((value) => `(?<![A-Za-z0-9])${escapePattern(value)}(?![A-Za-z0-9])`),
  ];
  const reach = Math.max(0, ...[...literal, ...alone].map((text) => text.length));
  return { pattern: alternatives.length === 0 ? undefined : new RegExp(alternatives.join('|'), 'g'), reach };
}

/**
 * Headers as they may be shown: credentials by name (the scheme before them stays), `alsoSecret` names, and known values.
 */
export function redactHeaders(
  headers: Readonly<Record<string, string>>,
  redact: Redactor,
  alsoSecret: readonly string[] = [],
): Record<string, string> {
  const hidden = new Set(alsoSecret.map((name) => name.toLowerCase()));
  const shown = Object.entries(headers).map(([name, value]) => {
    const secret = hidden.has(name.toLowerCase()) || isCredentialName(name);
    return [name, secret ? hideCredential(value) : redact(value)] as const;
  });
  return Object.fromEntries(shown);
}

function hideCredential(value: string): string {
  const scheme = /^(?:Bearer|Basic) /i.exec(value)?.[0] ?? '';
  return scheme + mask;
}

function spellingsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  return [value, json, encodeURIComponent(Buffer.from(value).toString()), ...base64Spellings(value)];
}

/** Base64 of the value alone, and the part that stays the same at each of the three places it may begin in longer data. */
function base64Spellings(value: string): string[] {
  const whole = Buffer.from(value).toString('base64');
  const unpadded = whole.replaceAll('=', '');
  const inside = [0, 1, 2].map((lead) => {
    const bytes = Buffer.concat([Buffer.alloc(lead), Buffer.from(value)]);
    return bytes.toString('base64').slice(Math.ceil((lead * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  return [whole, unpadded, ...inside].flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
