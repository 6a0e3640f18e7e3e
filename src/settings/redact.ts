import { isCredentialName } from './headers.ts';
import { mask, type Secret } from './secret.ts';

const scheme = /^(?:Bearer|Basic) +/i;

/** Replaces every known secret in a text. */
export type Redactor = (text: string) => string;

/** How the secrets of a run are kept out of what it says and keeps. */
export interface Redaction {
  /** For messages to people: errors, hints, warnings, lines of `--verbose`. */
  redact: Redactor;
  /** Every string and every name of a value that is kept or printed as JSON; its structure stays. */
  clean<T>(value: T): T;
}

export function createRedaction(secrets: readonly Secret[]): Redaction {
  const certain = patternOf(literalSpellings(secrets));
  return {
    redact: createRedactor(secrets),
    clean: (value) => (certain === undefined ? value : redactStrings(value, (text) => text.replace(certain, mask))),
  };
}

/**
 * A function that replaces each secret in a message, as it is, URL-encoded, JSON-escaped or inside Base64, by `(redacted)`.
 * One that may be an ordinary word counts only where it stands alone, one of one or two characters not at all.
 */
export function createRedactor(secrets: readonly Secret[]): Redactor {
  const alone = valuesOf(secrets)
    .filter((value) => value.length >= 3 && !isUnmistakable(value))
    .map((value) => String.raw`(?<![\w-]|\w[./])${escapePattern(value)}(?![\w-]|[./]\w)`);
  const pattern = patternOf([...literalSpellings(secrets), ...alone]);
  return pattern === undefined ? (text) => text : (text) => text.replace(pattern, mask);
}

/**
 * For what is recorded byte for byte: every character of an unmistakable secret becomes `*`, so that no length changes.
 * `reach` is the length of the longest spelling.
 */
export function createMasker(secrets: readonly Secret[]): { hide: Redactor; reach: number } {
  const pattern = patternOf(literalSpellings(secrets));
  if (pattern === undefined) return { hide: (text) => text, reach: 0 };
  const lengths = certainValues(secrets).flatMap(spellingsOf);
  return {
    hide: (text) => text.replace(pattern, (found) => '*'.repeat(found.length)),
    reach: Math.max(...lengths.map((text) => text.length)),
  };
}

/** Ordinary words, also several with one character between them, and numbers. */
const wordsOrNumber = /^(?:[a-z]+(?:[-_. ][a-z]+)*|[\d.,:-]+)$/i;

/** Whether a secret is told from ordinary text wherever it stands: no reply holds it by chance. */
export function isUnmistakable(value: string): boolean {
  return value.length >= 16 || (value.length >= 8 && !wordsOrNumber.test(value));
}

/** The value with every string in it redacted, the names of its members too; no member is lost where two become one. */
function redactStrings<T>(value: T, redact: Redactor): T {
  if (typeof value === 'string') return redact(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => redactStrings(item, redact)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const names = new Set<string>();
  const members = Object.entries(value).map(([name, item]) => {
    const shown = freeName(redact(name), names);
    names.add(shown);
    return [shown, redactStrings(item, redact)] as const;
  });
  return Object.fromEntries(members) as T;
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let n = 2; taken.has(free); n++) free = `${name} ${n}`;
  return free;
}

/** The values, and what stands behind the scheme of those that have one. */
function valuesOf(secrets: readonly Secret[]): string[] {
  const values = secrets.map((secret) => secret.reveal().trim());
  return values.flatMap((value) => [value, value.replace(scheme, '')]);
}

function certainValues(secrets: readonly Secret[]): string[] {
  return valuesOf(secrets).filter(isUnmistakable);
}

/** As patterns, the longest first. */
function literalSpellings(secrets: readonly Secret[]): string[] {
  const spellings = new Set(certainValues(secrets).flatMap(spellingsOf));
  return [...spellings].sort((a, b) => b.length - a.length).map(escapePattern);
}

function patternOf(alternatives: readonly string[]): RegExp | undefined {
  return alternatives.length === 0 ? undefined : new RegExp(alternatives.join('|'), 'g');
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
  return (scheme.exec(value)?.[0] ?? '') + mask;
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
