import { hash } from 'node:crypto';
import { type RequestBody, segmentBody, segmentForm, withLength } from '../body.ts';
import { usageError } from '../errors.ts';
import { describeCut, type Placed, placeOperation, refuseOtherOperation } from '../formats/base-path.ts';
import { byAuthUse, getAuthUseFormat, keyFacts, requireFormatName, type AnyApiRequest } from '../formats/format.ts';
import type { SentKey } from '../formats/key-advice.ts';
import type { AuthUse } from '../formats/types.ts';
import { type AuthForm, findOwnPath, hasOwnHost, isOwnHost, type ServiceName, services } from '../vendors/services.ts';
import { checkHeaderKey, joinUrl, parseBaseUrl, requireSafeUrl } from '../transport/request.ts';
import type { HttpRequest, KeyHeader } from '../transport/types.ts';
import { version } from '../version.ts';
import type { ClientOptions } from './client-types.ts';
import type { Memory } from './memory.ts';

/** The address of a service, and its key. */
export interface Endpoint {
  service: ServiceName;
  baseUrl: URL;
  /** The key. Absent: requests go out without a key. A function is asked when the first request is sent. */
  apiKey: ClientOptions['apiKey'];
  auth: Readonly<Record<AuthUse, AuthForm>>;
  headerNames: {
    /** The header of the form `api-key`, if the format has none of its own. */
    apiKey: string;
    /** The header of the version of the messages format. */
    version: string;
  };
  /** Further headers of every request, lower-case names. */
  headers: Readonly<Record<string, string>>;
  allowHttp: boolean;
  memory: Memory;
}

/** Reads the endpoint from the options of a client. Throws GatewayError usage. Corrections of the base URL are warnings. */
export function readEndpoint(options: ClientOptions): { endpoint: Endpoint; warnings: string[] } {
  const name = options.service ?? 'gateway';
  if (!Object.hasOwn(services, name))
    throw usageError(`there is no service ${JSON.stringify(name)}`, `there are: ${Object.keys(services).join(', ')}`);
  const service = services[name];
  const { baseUrl = service.baseUrl } = options;
  if (baseUrl === undefined)
    throw usageError('no base URL is set', "give createClient a baseUrl, or a service: 'gemini'");
  const { auth, headerNames, headers = {}, allowHttp = false, apiKey } = options;
  const url = parseBaseUrl(typeof baseUrl === 'string' ? baseUrl : baseUrl.href);
  const format = options.format ?? service.formats.text ?? 'content';
  requireFormatName(format);
  for (const option of ['timeoutMs', 'retries', 'retryMaxWaitMs'] as const) requireAmount(option, options[option]);
  refuseOtherOperation(url, format);
  const endpoint = {
    service: name,
    baseUrl: url,
    apiKey,
    auth: readAuth(auth, service.auth),
    headerNames: readHeaderNames(headerNames, name),
    headers: Object.fromEntries(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value])),
    allowHttp,
    memory: options.memory ?? new Map<string, string>(),
  };
  return { endpoint, warnings: [describeCut(url, format) ?? []].flat() };
}

/** Throws GatewayError usage for a value that is not a number from 0 on. */
function requireAmount(name: string, value: unknown): void {
  if (value !== undefined && !(typeof value === 'number' && value >= 0))
    throw usageError(`${name} is not a number from 0 on: ${JSON.stringify(value)}`, `for example: ${name}: 2`);
}

/** The place of a request below the base URL, which depends on its format. */
export function placeRequest(
  { service, baseUrl }: Pick<Endpoint, 'service' | 'baseUrl'>,
  { path, use, behindBase }: Pick<AnyApiRequest, 'path' | 'use' | 'behindBase'>,
): Placed {
  const base = { path: baseUrl.pathname.replace(/\/$/, ''), own: findOwnPath(service, baseUrl), behind: behindBase };
  return placeOperation(base, path, getAuthUseFormat(use));
}

/** The names that are set, and those of the service for the others. */
export function readHeaderNames(
  { apiKey, version }: NonNullable<ClientOptions['headerNames']> = {},
  service: ServiceName,
): Endpoint['headerNames'] {
  const own = services[service].headerNames;
  return { apiKey: apiKey ?? own.apiKey, version: version ?? own.version };
}

/** `auto` is the form that the service uses. */
function readAuth(auth: ClientOptions['auth'] = 'auto', own: AuthForm): Record<AuthUse, AuthForm> {
  return byAuthUse((use) => {
    const { [use]: form = 'auto' } = typeof auth === 'string' ? { [use]: auth } : auth;
    return form === 'auto' ? own : form;
  });
}

/**
 * The HTTP request of an API request, without its key: a dry run shows it. Throws GatewayError usage for a URL that the key must
 * not go to, auth for a text that cannot be a key.
 */
export function addressRequest(
  endpoint: Endpoint,
  apiRequest: Omit<AnyApiRequest, 'format'>,
  sample?: number | undefined,
): HttpRequest {
  const { baseUrl, apiKey, headers: ownHeaders } = endpoint;
  requireSafeUrl(baseUrl, { allowHttp: endpoint.allowHttp, hasKey: apiKey !== undefined });
  if (apiKey !== undefined && typeof apiKey !== 'function') checkHeaderKey(apiKey);
  const body = createRequestBody(apiRequest);
  const { prefix, path } = placeRequest(endpoint, apiRequest);
  const url = joinUrl({ origin: baseUrl.origin, pathname: prefix }, path);
  const query = [baseUrl.search.slice(1), apiRequest.query ?? ''].filter((part) => part !== '').join('&');
  if (query !== '') url.search = query;
  const headers: Record<string, string> = {};
  if (body) headers['content-type'] = body.contentType ?? 'application/json';
  headers['accept'] = apiRequest.accept ?? 'application/json';
  headers['user-agent'] = `gateway-cli/${version}`;
  return {
    method: body ? 'POST' : 'GET',
    url,
    base: prefix === '' ? undefined : new URL(prefix, baseUrl.origin),
    ownHeaders,
    headers: Object.assign(headers, apiRequest.headers, ownHeaders, endpointHeaders(endpoint, apiRequest.use)),
    keyHeader: apiKey === undefined ? undefined : getKeyHeader(endpoint, apiRequest.use),
    body: body ?? { segments: [], bytes: 0 },
    sample,
  };
}

function createRequestBody({ body, form, file }: Omit<AnyApiRequest, 'format'>): RequestBody | undefined {
  if (file !== undefined) return { ...withLength([file]), contentType: file.file?.mimeType };
  return body && (form ? segmentForm(body) : segmentBody(body));
}

const messagesVersion = '2023-06-01';

/** The headers of the key, with its prefix alone, and of the version; without a key the latter alone. Their names are in lower case. */
export function endpointHeaders(
  endpoint: Pick<Endpoint, 'apiKey' | 'auth' | 'headerNames'>,
  use: AuthUse,
): Record<string, string> {
  const headers: Record<string, string> = {};
  if (endpoint.apiKey !== undefined) {
    const { name, prefix } = getKeyHeader(endpoint, use);
    headers[name] = prefix;
  }
  if (use === 'messages') headers[endpoint.headerNames.version.toLowerCase()] = messagesVersion;
  return headers;
}

/** The header for the key of a request. */
export function getKeyHeader({ auth, headerNames }: Pick<Endpoint, 'auth' | 'headerNames'>, use: AuthUse): KeyHeader {
  const { form, header = headerNames.apiKey } = keyFacts[use];
  const isBearer = (auth[use] === 'auto' ? form : auth[use]) === 'bearer';
  return isBearer ? { name: 'authorization', prefix: 'Bearer ' } : { name: header.toLowerCase(), prefix: '' };
}

/** The form in which the key is sent, by which a refusal is explained. */
export function describeSentKey(endpoint: Endpoint, use: AuthUse): SentKey {
  const { service, apiKey, auth, headerNames } = endpoint;
  const isElsewhere = hasOwnHost(service) && !isOwnHost(service, endpoint.baseUrl);
  return {
    service,
    form: auth[use],
    header: apiKey === undefined ? undefined : getKeyHeader(endpoint, use).name,
    version: headerNames.version.toLowerCase(),
    ...(isElsewhere && { isElsewhere }),
  };
}

/** A digest of the key and a word. */
export async function digestKey({ apiKey }: Endpoint, word: string): Promise<string | undefined> {
  if (apiKey === undefined) return undefined;
  const key = typeof apiKey === 'function' ? await apiKey() : apiKey;
  return hash('sha256', `${word} ${key}`, 'hex').slice(0, 8);
}
