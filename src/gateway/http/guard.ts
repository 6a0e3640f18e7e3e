import type { IncomingMessage, IncomingHttpHeaders } from 'node:http';
import { services, vendorHeaderNames } from '../../library/index.ts';
import { Problem } from '../problem.ts';
import type { ServiceRules } from '../service.ts';
import type { GatewayFormat, GatewayReply, KeyForm, ServedHeaderNames } from '../types.ts';
import { timingSafeEqual } from 'node:crypto';

/** Callers that are allowed in addition to this machine. */
export interface Allowed {
  /** Hosts that callers may name in addition to the loopback ones, as a URL writes them in lower case, with or without port. */
  hosts?: readonly string[] | undefined;
  /** Origins of pages that may call from a browser, in lower case. */
  origins?: readonly string[] | undefined;
}

/**
 * Refuses requests that a web page could make a browser send here: a foreign or missing Host (DNS rebinding), a foreign Origin, a
 * request from another site. `hosts` are allowed beside the loopback names: as `name` at every port, as `name:port` there alone.
 * Throws Problem 403.
 */
export function guard(request: IncomingMessage, { hosts = [], origins = [] }: Allowed): void {
  const { localPort = 0 } = request.socket;
  const isOwn = (authority: string): boolean =>
    loopbackHosts.some((name) => authority === `${name}:${localPort}` || (localPort === 80 && authority === name));
  const named = headerValues(request, 'host');
  const host = named[0]?.toLowerCase() ?? '';
  const isAllowed = hosts.includes(host) || hosts.includes(host.replace(/:\d*$/, ''));
  if (named.length !== 1 || !(isAllowed || isOwn(host))) {
    const own = `${loopbackHosts[0]}:${localPort}`;
    throw new Problem(403, `the Host header must name this gateway: ${own}, or what serve --allow-host allows`);
  }
  if (!(request.url ?? '').startsWith('/')) throw new Problem(403, 'the request target must be a path');
  // A proxy in front of an allowed host can terminate TLS for it.
  const isOwnPage = (origin: string): boolean =>
    (origin.startsWith('http://') && isOwn(origin.slice('http://'.length))) ||
    (isAllowed && (origin === `http://${host}` || origin === `https://${host}`));
  const shown = headerValues(request, 'origin').map((origin) => origin.toLowerCase());
  if (shown.some((origin) => !isOwnPage(origin) && !origins.includes(origin))) {
    throw new Problem(403, 'requests from another origin are refused unless serve --allow-origin allows it');
  }
  if (shown.some((origin) => origins.includes(origin))) return;
  const sites = headerValues(request, 'sec-fetch-site');
  if (sites.some((site) => site !== 'same-origin' && site !== 'none')) {
    throw new Problem(403, 'requests from another site are refused');
  }
}

const loopbackHosts = ['127.0.0.1', 'localhost', '[::1]'] as const;

/** All values of a header, also if Node keeps only the first. */
function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? '';
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '');
  }
  return values;
}

/** Headers that a browser needs to show a reply to a page of an allowed origin; empty for other callers. */
export function corsHeaders({ headers }: IncomingMessage, origins: readonly string[]): Record<string, string> {
  const { origin } = headers;
  if (origin === undefined || !origins.includes(origin.toLowerCase())) return {};
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'request-id, x-request-id, retry-after',
    vary: 'origin',
  };
}

/** Whether a browser only asks if a page may send a request. It asks without the key. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

/** Allows the preflight of a page of an allowed origin: the key is checked when the request comes. */
export function preflightReply({ headers }: IncomingMessage): GatewayReply {
  const local = headerText(headers, 'access-control-request-private-network');
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': headerText(headers, 'access-control-request-headers') ?? '',
      'access-control-max-age': '600',
      ...(local !== undefined && { 'access-control-allow-private-network': 'true' }),
    },
    body: '',
  };
}

/** The rules for a caller's key. */
interface KeyRules {
  /** The key; undefined: every caller is allowed, with or without a key. */
  key?: string | undefined;
  headerNames: ServedHeaderNames;
  /** The only service that callers may use. */
  rules?: ServiceRules | undefined;
}

const { apiKey: vendorKeyHeader, version: vendorVersionHeader } = services.gateway.headerNames;
/** Headers of the vendors' own clients. */
const { apiKey: publicKeyHeader, version: publicVersionHeader } = vendorHeaderNames;
const firstVersion = '2023-06-01';

/** Checks the key in every form that a client, or the client of a service, may send. Returns the form that held the key. Throws Problem 401. */
export function checkCallerKey(
  { format, headers, query }: { format: GatewayFormat; headers: IncomingHttpHeaders; query: URLSearchParams },
  { key, headerNames, rules }: KeyRules,
): KeyForm | undefined {
  const shown = shownKeys(headers, query, headerNames).filter(({ form }) => rules?.keyForms.includes(form) ?? true);
  if (key === undefined) return shown[0]?.form;
  const right = shown.find((candidate) => sameSecret(candidate.key, key));
  if (right) return right.form;
  if (shown.length > 0) throw new Problem(401, format.wrongKey);
  throw new Problem(401, `no API key: send ${formsFor(rules ?? format, headerNames)}`);
}

/** The messages format requires its version header. Throws Problem 400. */
export function checkVersionHeader(headers: IncomingHttpHeaders, { headerNames }: KeyRules): void {
  const names = [headerNames.version, vendorVersionHeader, publicVersionHeader];
  const values = [...new Set(names)].flatMap((name) => headerText(headers, name) ?? []);
  const wanted = headerNames.version ?? vendorVersionHeader;
  if (values.length === 0) throw new Problem(400, `${wanted}: header is required`);
  if (values.every((value) => /^\d{4}-\d{2}-\d{2}$/.test(value))) return;
  throw new Problem(400, `${wanted}: "${firstVersion}" is the version of this format`);
}

function shownKeys(
  headers: IncomingHttpHeaders,
  query: URLSearchParams,
  { apiKey }: ServedHeaderNames,
): { form: KeyForm; key: string }[] {
  const shown: { form: KeyForm; key: string }[] = [];
  const add = (form: KeyForm, key: string | null | undefined): void => {
    if (key) shown.push({ form, key });
  };
  for (const name of [vendorKeyHeader, apiKey, publicKeyHeader]) add('vendor-key', headerText(headers, name));
  add('bearer', bearerToken(headers.authorization));
  add('x-api-key', headerText(headers, 'x-api-key'));
  add('query', query.get('key'));
  return shown;
}

/** The headers of the key that the specification names for a format. */
function formsFor({ keyForms }: Pick<GatewayFormat, 'keyForms'>, { apiKey }: ServedHeaderNames): string {
  const names: Partial<Record<KeyForm, string>> = {
    'vendor-key': apiKey ?? vendorKeyHeader,
    bearer: 'Authorization: Bearer',
  };
  return keyForms.map((form) => names[form] ?? form).join(' or ');
}

/** The value of a header; the first one if the header is repeated. */
export function headerText(headers: IncomingHttpHeaders, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
}

/** The token after `Bearer` in an Authorization header. */
export function bearerToken(value: string | undefined): string | undefined {
  return value !== undefined && /^bearer /i.test(value) ? value.slice('bearer '.length).trim() : undefined;
}

/** Compares two secrets in a time that reveals no more than their length. */
function sameSecret(one: string, other: string): boolean {
  const [bytes, others] = [Buffer.from(one), Buffer.from(other)];
  return bytes.length === others.length && timingSafeEqual(bytes, others);
}
