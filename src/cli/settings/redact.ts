import type { Header, Settings } from './types.ts';
import { inspect } from 'node:util';
import { append } from '../../library/index.ts';

/** The text in place of a secret. */
export const mask = '(redacted)';

/** A value that no log, message or dump can show; only `reveal` gives it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself, for the header it goes into. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [inspect.custom](): string {
    return mask;
  }
}

/** Keys that are no secrets. */
const harmlessKey = /(?:^|[-_.])(?:idempotency|cache|surrogate|routing|partition)[-_.]key(?=[-_.]|$)/g;

/** A whole word of a name that means a credential, compounds such as `apikey` and a number after it included. */
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
    .split(/[^a-z\d]/);
  return words.some((word) => credentialWord.test(word));
}

/**
 * Whether a header is a credential, by its name or because its value holds a long run of letters and digits. `traceparent` of
 * W3C's Trace Context has such a run, which is no secret.
 */
export function isCredential(name: string, value: string): boolean {
  if (name.toLowerCase() === 'traceparent') return false;
  const runs = value.match(/[A-Za-z\d]{16,}/g);
  return isCredentialName(name) || (runs?.some((run) => /\d/.test(run) && /[A-Za-z]/.test(run)) ?? false);
}

/** Names of parameters whose values are credentials, although the words are not. */
const queryKey = /^(?:code|sig)$/i;

/** Replaces every known secret in a text. */
type Redactor = (text: string) => string;

/** The functions that keep the secrets of a run out of its output and its files. */
export interface Redaction {
  /** Redacts messages to people: errors, hints, warnings, lines of `--verbose`. */
  redact: Redactor;
  /** Cleans every string and every name in a value that is kept or printed as JSON; its structure stays. */
  clean<T>(value: T): T;
}

export function createRedaction(secrets: readonly Secret[]): Redaction {
  const spellings = listSpellings(secrets).map(escapePattern);
  const hide = replacing(spellings);
  return {
    redact: createRedactor(secrets),
    clean(value) {
      if (spellings.length === 0) return value;
      // Most values have no secret, so all their texts are only searched, together.
      const texts = listTexts(value).join('\n');
      return hide(texts) === texts ? value : redactStrings(value, hide);
    },
  };
}

/**
 * A function that replaces each secret in a message, as it is, URL-encoded, JSON-escaped or inside Base64, by `(redacted)`. A
 * secret that may be an ordinary word is replaced only as a whole word, and a secret of one or two characters never.
 */
export function createRedactor(secrets: readonly Secret[]): Redactor {
  const words = listSecretValues(secrets)
    .filter((value) => value.length >= 3 && !isUnmistakable(value))
    .map((value) => String.raw`(?<![\w-]|\w[./])${escapePattern(value)}(?![\w-]|[./]\w)`);
  return replacing([...listSpellings(secrets).map(escapePattern), ...words]);
}

/**
 * A masker for bytes that are recorded: every character of an unmistakable secret becomes `*`, so that no length changes. `reach`
 * is the length of the longest spelling.
 */
export function createMasker(secrets: readonly Secret[]): { hide: Redactor; reach: number } {
  const spellings = listSpellings(secrets);
  const hide = replacing(spellings.map(escapePattern), (found) => '*'.repeat(found.length));
  return { hide, reach: spellings[0]?.length ?? 0 };
}

/** Headers in a form that may be shown: without credentials (the scheme stays), the values of `secretNames`, and known secrets. */
export function redactHeaders(
  headers: Readonly<Record<string, string>>,
  redact: Redactor,
  secretNames: readonly string[] = [],
): Record<string, string> {
  const hidden = new Set(secretNames.map((name) => name.toLowerCase()));
  const shown = Object.entries(headers).map(([name, value]) => {
    const isSecret = hidden.has(name.toLowerCase()) || isCredentialName(name);
    return [name, isSecret ? (scheme.exec(value)?.[0] ?? '') + mask : redact(value)] as const;
  });
  return Object.fromEntries(shown);
}

/** Ordinary words, also several with one character between them, and numbers. */
const wordsOrNumber = /^(?:[a-z]+(?:[-_. ][a-z]+)*|[\d.,:-]+)$/i;

/** Whether a secret differs from ordinary text: no reply contains it by chance. */
export function isUnmistakable(value: string): boolean {
  return value.length >= 16 || (value.length >= 8 && !wordsOrNumber.test(value));
}

/** The strings of a value, and the names of its members. */
function listTexts(value: unknown, found: string[] = []): string[] {
  if (typeof value === 'string') found.push(value);
  if (typeof value !== 'object' || value === null) return found;
  if (!Array.isArray(value)) append(found, Object.keys(value));
  for (const item of Object.values(value)) listTexts(item, found);
  return found;
}

/** The value with every string in it redacted, the names of its members too; names that become equal get a number. */
function redactStrings<T>(value: T, redact: Redactor): T {
  if (typeof value === 'string') return redact(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => redactStrings(item, redact)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const names = Object.keys(value);
  if (names.every((name) => name !== '__proto__' && redact(name) === name)) {
    const shown: Record<string, unknown> = {};
    for (const name of names) shown[name] = redactStrings((value as Record<string, unknown>)[name], redact);
    return shown as T;
  }
  const members = new Map<string, unknown>();
  for (const [name, item] of Object.entries(value)) {
    const shown = redact(name);
    let free = shown;
    for (let n = 2; members.has(free); n++) free = `${shown} ${n}`;
    members.set(free, redactStrings(item, redact));
  }
  return Object.fromEntries(members) as T;
}

const scheme = /^(?:Bearer|Basic) +/i;

/** The values of the secrets; for a value with a scheme, also the part after the scheme. */
function listSecretValues(secrets: readonly Secret[]): string[] {
  const values = secrets.map((secret) => secret.reveal().trim());
  return values.flatMap((value) => [value, value.replace(scheme, '')]);
}

/** Every spelling of the unmistakable values, the longest first. */
function listSpellings(secrets: readonly Secret[]): string[] {
  const spellings = listSecretValues(secrets)
    .filter(isUnmistakable)
    .flatMap((value) => [
      value,
      JSON.stringify(value).slice(1, -1),
      encodeURIComponent(Buffer.from(value).toString()),
      ...base64Spellings(value),
    ]);
  return [...new Set(spellings)].sort((a, b) => b.length - a.length);
}

/** Base64 of the value alone, and the part that stays the same at each of the three places it may begin in longer data. */
function base64Spellings(value: string): string[] {
  const whole = Buffer.from(value).toString('base64');
  const inside = [0, 1, 2].map((lead) => {
    const bytes = Buffer.concat([Buffer.alloc(lead), Buffer.from(value)]);
    return bytes.toString('base64').slice(Math.ceil((lead * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  const all = [whole, whole.replaceAll('=', ''), ...inside];
  return all.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}

/** Replaces what any of the patterns matches. */
function replacing(patterns: readonly string[], by: (found: string) => string = () => mask): Redactor {
  if (patterns.length === 0) return (text) => text;
  const any = new RegExp(patterns.join('|'), 'g');
  return (text) => text.replace(any, by);
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

/** The value of a header in the clear. */
export function revealed(value: Header['value']): string {
  return typeof value === 'string' ? value : value.reveal();
}

/** Headers by name, as they go out. The result holds secrets in the clear: it is for sending only. */
export function revealHeaders(headers: readonly Header[]): Record<string, string> {
  return Object.fromEntries(headers.map(({ name, value }) => [name, revealed(value)]));
}

/** The names of headers whose values are not shown: of the key, of credentials, and of all from a header file. */
export function hiddenHeaderNames({ headers, headerNames }: Pick<Settings, 'headers' | 'headerNames'>): string[] {
  const names = headers.flatMap(({ name, value }) => (value instanceof Secret ? [name] : []));
  return headerNames.apiKey === undefined ? names : [...names, headerNames.apiKey];
}

/** A secret that replies are searched for, and its name for people. */
export interface Credential {
  /** `the key`, `header x-corp-token` */
  name: string;
  secret: Secret;
}

/** The key and the credentials among the headers. Other values of a header file are not shown, but not searched for. */
export function listCredentials(
  { headers, baseUrl }: Pick<Settings, 'headers'> & Partial<Pick<Settings, 'baseUrl'>>,
  key?: Secret,
): Credential[] {
  const fromHeaders = headers.flatMap(({ name, value }) =>
    value instanceof Secret && isCredential(name, value.reveal()) ? [{ name: `header ${name}`, secret: value }] : [],
  );
  const query = baseUrl === undefined ? [] : [...new URL(baseUrl).searchParams];
  const fromQuery = query.flatMap(([name, value]) =>
    value !== '' && (queryKey.test(name) || isCredential(name, value))
      ? [{ name: 'the query of the base URL', secret: new Secret(value) }]
      : [],
  );
  const own = [...fromHeaders, ...fromQuery];
  return key === undefined ? own : [{ name: 'the key', secret: key }, ...own];
}
