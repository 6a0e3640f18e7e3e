import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from '../problem.ts';
import type { Format, KeyForm, OptionNames, ServedHeaderNames } from '../types.ts';

/** What decides whether a caller is let in. */
export interface KeyRules {
  /** Undefined: any caller is, with or without a key. */
  key: string | undefined;
  headerNames: ServedHeaderNames;
  specOnly: boolean;
  optionNames: OptionNames;
}

interface Shown {
  form: KeyForm;
  key: string;
}

const vendorKeyHeader = 'x-vendor-a-api-key';
const vendorVersionHeader = 'vendor-b-version';
/** What the vendors' own clients send; taken unless `specOnly`. */
const publicKeyHeader = 'x-goog-api-key';
const publicVersionHeader = 'anthropic-version';
const specVersion = '2023-06-01';

/**
 * Checks the key in any form that the format allows: all of them by default, those of the vendors' clients
 * too; with `specOnly` only those of the table. Returns the form that held the key. Throws Problem 401.
 */
export function checkKey(
  { format, headers, query }: { format: Format; headers: IncomingHttpHeaders; query: URLSearchParams },
  rules: KeyRules,
): KeyForm | undefined {
  const shown = shownKeys(headers, query, rules).filter(({ form }) => !rules.specOnly || inSpec(form, format));
  const { key } = rules;
  if (key === undefined) return shown[0]?.form;
  const right = shown.find((candidate) => sameSecret(candidate.key, key));
  if (right) return right.form;
  if (shown.length > 0)
    throw new Problem(401, format === 'messages' ? 'invalid x-api-key' : 'the API key is not valid');
  throw new Problem(401, `no API key: send ${formsFor(format, rules)}${passedOver(headers, query, rules)}`);
}

/** The messages format requires its version header. Returns the newest version that it names. Throws Problem 400. */
export function checkVersion(
  headers: IncomingHttpHeaders,
  { headerNames, specOnly, optionNames }: KeyRules,
): string | undefined {
  const neutral = specOnly && headerNames.version !== undefined ? [] : [vendorVersionHeader];
  const names = [headerNames.version, ...neutral, ...(specOnly ? [] : [publicVersionHeader])];
  const values = [...new Set(names)].flatMap((name) => headerText(headers, name) ?? []);
  const wanted = headerNames.version ?? vendorVersionHeader;
  if (values.length === 0) {
    const other = headerText(headers, publicVersionHeader) !== undefined;
    throw new Problem(
      400,
      `${wanted}: header is required${other ? asOwnName(publicVersionHeader, 'version', optionNames) : ''}`,
    );
  }
  const fits = values.every((value) => (specOnly ? value === specVersion : /^\d{4}-\d{2}-\d{2}$/.test(value)));
  if (!fits) throw new Problem(400, `${wanted}: "${specVersion}" is the version of this format`);
  return values.toSorted().at(-1);
}

/** What a caller showed that only `specOnly` keeps from being taken. */
function passedOver(headers: IncomingHttpHeaders, query: URLSearchParams, { specOnly, optionNames }: KeyRules): string {
  if (!specOnly) return '';
  if (headerText(headers, publicKeyHeader) !== undefined) return asOwnName(publicKeyHeader, 'key', optionNames);
  if (query.has('key')) return `; ${optionNames.specOnly} refuses ?key=`;
  return bearerToken(headers.authorization) === undefined
    ? ''
    : `; ${optionNames.specOnly} refuses Authorization: Bearer here`;
}

function asOwnName(name: string, of: 'key' | 'version', { specOnly, headerNames }: OptionNames): string {
  const value = of === 'key' ? `${name},` : `,${name}`;
  return `; ${specOnly} refuses ${name} unless it is named: ${headerNames} ${value}`;
}

function shownKeys(headers: IncomingHttpHeaders, query: URLSearchParams, { headerNames, specOnly }: KeyRules): Shown[] {
  const shown: Shown[] = [];
  const add = (form: KeyForm, key: string | null | undefined): void => {
    if (key !== undefined && key !== null && key !== '') shown.push({ form, key });
  };
  if (!specOnly || headerNames.apiKey === undefined) add('vendor-key', headerText(headers, vendorKeyHeader));
  add('vendor-key', headerText(headers, headerNames.apiKey));
  if (!specOnly) add('vendor-key', headerText(headers, publicKeyHeader));
  add('bearer', bearerToken(headers.authorization));
  add('x-api-key', headerText(headers, 'x-api-key'));
  if (!specOnly) add('query', query.get('key'));
  return shown;
}

function inSpec(form: KeyForm, format: Format): boolean {
  return format === 'messages' ? form === 'x-api-key' : form === 'vendor-key' || form === 'bearer';
}

function formsFor(format: Format, { headerNames }: KeyRules): string {
  if (format === 'messages') return 'x-api-key';
  return `${headerNames.apiKey ?? vendorKeyHeader} or Authorization: Bearer`;
}

/** The value of a header, the first where it came often. */
export function headerText(headers: IncomingHttpHeaders, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
}

/** What stands behind `Bearer` in an Authorization header. */
export function bearerToken(value: string | undefined): string | undefined {
  return value !== undefined && /^bearer /i.test(value) ? value.slice('bearer '.length).trim() : undefined;
}

/** Compares in a time that tells nothing of either. */
export function sameSecret(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
