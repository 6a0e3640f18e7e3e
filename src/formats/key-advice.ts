import type { Advice } from '../errors.ts';
import { type ServiceName, services, vendorHeaderNames } from '../vendors/services.ts';
import type { ErrorBody } from './error-body.ts';
import type { FormatName } from './types.ts';

/** The problem with the key or the caller that an error reports (deviation 46). */
export interface Refusal {
  says:
    | 'header'
    /** The version header of the messages format did not arrive. */
    | 'version'
    /** No key arrived where the gateway looks for it, and the reply does not say where that is. */
    | 'no-key'
    | 'bad-key'
    /** The bearer token is not an access token. */
    | 'no-token'
    /** The service takes only access tokens, not API keys. */
    | 'token-only'
    /** The key is valid but must not use this model. */
    | 'model'
    /** The key is valid, but its project or its restrictions do not allow the request. */
    | 'project'
    /** The address or site that the request comes from is not allowed. */
    | 'origin'
    /** The path does not exist, although the words are about a key. */
    | 'path';
  /** The headers that the reply names; for `header`, the key must be in one of them. */
  names: readonly string[];
}

interface RefusalWording {
  says: Refusal['says'];
  /** Words in lower case; one is enough. */
  words: readonly string[];
  /** The header that the words mean, if they do not name it. */
  header?: string;
  /** Words that other errors use too: in a 400 they do not count. */
  isVague?: true;
}

/** The first row that fits counts. The words are those of the two vendors, of relays and of API gateways. */
const rows: readonly RefusalWording[] = [
  {
    says: 'origin',
    words: [
      'user location is not supported',
      'country, region, or territory not supported',
      'request not allowed',
      // The pages of Cloudflare's guard.
      'attention required! | cloudflare',
      'just a moment...',
      'error code: 1010',
      'error code: 1020',
    ],
  },
  // AWS API Gateway says this about a path that it does not have.
  { says: 'path', words: ['missing authentication token', "authorization header requires 'credential' parameter"] },
  {
    says: 'project',
    words: [
      'service_disabled',
      'has not been used in project',
      'api_key_service_blocked',
      'api_key_http_referrer_blocked',
      'api_key_ip_address_blocked',
      'requests from referer',
      'organization must be verified',
      'missing scopes:',
    ],
  },
  {
    says: 'model',
    isVague: true,
    words: ['not allowed to access model', 'not have access to model', 'not have access to the model', '无权访问模型'],
  },
  { says: 'token-only', words: ['api keys are not supported by this api'] },
  {
    says: 'bad-key',
    words: [
      'api_key_invalid',
      'invalid_api_key',
      'api key not valid',
      'api key not found.',
      'api key expired',
      'api key is invalid',
      'api key is expired',
      'invalid api key',
      'incorrect api key',
      'invalid x-api-key',
      'key was reported as leaked',
      'invalid proxy server token',
      'virtual key expected',
      'invalid subscription key',
    ],
  },
  {
    says: 'header',
    header: 'x-goog-api-key',
    words: [
      'unregistered callers',
      'missing required authentication credential',
      'expected oauth 2 access token',
      'access_token_type_unsupported',
    ],
  },
  {
    says: 'header',
    header: 'authorization',
    words: ['missing bearer', 'no bearer token', 'bearer token required', 'bearer token is missing'],
  },
  { says: 'no-token', words: ['invalid bearer token', 'oauth authentication is currently not supported'] },
  { says: 'version', words: ['anthropic-version: header is required', 'anthropic-version header'] },
  {
    says: 'no-key',
    words: [
      'no api key',
      'missing api key',
      'api key required',
      'api key is required',
      'api key is missing',
      'api key missing',
      'missing subscription key',
      'credentials missing',
      'credentials_missing',
      'no auth credentials',
      'no cookie auth credentials',
      'not authenticated',
      '未提供令牌',
    ],
  },
  {
    says: 'bad-key',
    isVague: true,
    words: [
      'invalid token',
      'invalid authentication credentials',
      'token expired',
      'token has expired',
      'token_not_found',
      '无效的令牌',
      '令牌已过期',
      'user not found',
    ],
  },
];

const keyHeaders = ['x-goog-api-key', 'x-api-key', 'authorization'];

/** A name alone is not enough: an error about something else may quote it. */
const demand =
  /\b(?:header|headers)\b.*\b(?:required|missing|not found)\b|\b(?:missing|provide|requires?|expected)\b.*\bheader\b|\bmissing x-/s;

/** The words are at the beginning of a body, which may be long. */
const longestRead = 1000;

/** Reads the words and names of an error that came with 400, 401 or 403. Undefined if they say nothing about the key. */
export function readRefusal(status: number | undefined, error: ErrorBody): Refusal | undefined {
  if (status !== 400 && status !== 401 && status !== 403) return undefined;
  const { message, reason, code, type } = error;
  const text = [message.slice(0, longestRead), reason, code, type].join('\n').toLowerCase();
  const names = keyHeaders.filter((name) => text.includes(name));
  for (const { says, words, header, isVague } of rows) {
    if ((isVague && status === 400) || !words.some((word) => text.includes(word))) continue;
    if (header !== undefined) return { says, names: [header] };
    return { says: says === 'no-key' && names.length > 0 ? 'header' : says, names };
  }
  return names.length > 0 && demand.test(text) ? { says: 'header', names } : undefined;
}

/** The form in which the key of a refused request was sent. */
export interface SentKey {
  service: ServiceName;
  /** The host is not the service's own, so the service did not make the key. */
  isElsewhere?: true;
  /** The setting `auth`. */
  form: 'auto' | 'api-key' | 'bearer';
  /** The header that carried the key, lower case; absent without a key. */
  header: string | undefined;
  /** The header with the version of the messages format, lower case. */
  version: string;
}

/** The known facts of the refused request. */
export interface RefusedRequest {
  format?: FormatName | undefined;
  sentKey?: SentKey | undefined;
}

/**
 * Advice for a refused key: one setting to change, or `auth-unknown`. The words of the reply decide. It never advises a form that
 * was already sent. If the reply names no header, it suggests another form of the key only while `auth` is `auto`; otherwise two
 * hints could each advise what the other one replaced.
 */
export function keyAdvice(refusal: Refusal | undefined, { format, sentKey: sent }: RefusedRequest): Advice {
  switch (refusal?.says) {
    case 'origin':
      return { reason: 'key-origin' };
    case 'project':
      return { reason: 'key-project' };
    case 'path':
      return { reason: 'no-such-path' };
    case 'model':
      return { reason: 'model' };
    case 'bad-key':
      // A gateway can also say this about a good key in the wrong header.
      return sent?.service === 'gateway' ? unknownCause : otherKey(sent);
  }
  if (sent?.header === undefined) return refusal?.says === 'version' ? { reason: 'refused' } : unknownCause;
  if (sent.service !== 'gateway') return adviceForService(sent, format);
  switch (refusal?.says) {
    case 'version':
      return sent.version === vendorHeaderNames.version ? { reason: 'refused' } : vendorNames;
    case 'no-token':
      return isBearer(sent) && format === 'messages' ? asApiKey : unknownCause;
    case 'token-only':
      return sent.form === 'auto' && !isBearer(sent) ? asBearer : unknownCause;
    case 'header':
      return adviceForHeaders(refusal.names, sent, format);
    case 'no-key':
      return anotherHeader(sent, format);
    case undefined:
      return unknownCause;
  }
}

const unknownCause: Advice = { reason: 'auth-unknown' };
const asBearer: Advice = { reason: 'auth', value: 'bearer' };
const asApiKey: Advice = { reason: 'auth', value: 'api-key' };
const vendorNames: Advice = { reason: 'header-names', value: 'vendors' };

/** The key is wrong: the page of the service has others, if the host is its own. */
function otherKey(sent: SentKey | undefined): Advice {
  return { reason: 'key', ...(!sent?.isElsewhere && { value: sent?.service }) };
}

/** The headers of the service are known: if the user changed them, they are wrong; otherwise the key is wrong. */
function adviceForService(sent: SentKey, format: RefusedRequest['format']): Advice {
  const { auth, headerNames } = services[sent.service];
  const { apiKey, version } = headerNames;
  if (auth === 'bearer') return isBearer(sent) ? otherKey(sent) : asBearer;
  if (isBearer(sent)) return asApiKey;
  const isOwn = format === 'messages' ? sent.version === version : sent.header === apiKey;
  return isOwn ? otherKey(sent) : vendorNames;
}

/** The gateway expects the key in one of these headers. */
function adviceForHeaders(names: readonly string[], sent: SentKey, format: RefusedRequest['format']): Advice {
  const { header = '', form } = sent;
  const name = format === 'messages' ? names.find((known) => known !== vendorHeaderNames.apiKey) : names[0];
  if (name === undefined || names.includes(header)) return unknownCause;
  if (name === bearerHeader) return form === 'auto' ? asBearer : unknownCause;
  if (format === 'messages') return asApiKey;
  if (name === vendorHeaderNames.apiKey) return isBearer(sent) ? { ...vendorNames, reason: 'key-header' } : vendorNames;
  // This header is already a vendor's own, perhaps after an earlier hint: the other header would repeat the first error.
  if (header === vendorHeaderNames.apiKey) return unknownCause;
  return { reason: isBearer(sent) ? 'key-header' : 'header-names', value: `${name},` };
}

/** The gateway found no key and does not say which header it reads: another header, unless the user chose `auth`. */
function anotherHeader(sent: SentKey, format: RefusedRequest['format']): Advice {
  const { header, form } = sent;
  if (isBearer(sent)) return form === 'auto' ? asApiKey : unknownCause;
  if (format === 'content' && header !== vendorHeaderNames.apiKey) return vendorNames;
  return form === 'auto' ? asBearer : unknownCause;
}

const bearerHeader = 'authorization';

function isBearer({ header }: SentKey): boolean {
  return header === bearerHeader;
}
