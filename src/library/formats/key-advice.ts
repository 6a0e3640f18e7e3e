import type { Advice } from '../errors.ts';
import { type ServiceName, services, vendorHeaderNames } from '../vendors/services.ts';
import type { Said } from './refusal.ts';
import type { FormatName } from './types.ts';

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
export function keyAdvice(said: Said | undefined, message: string, { format, sentKey: sent }: RefusedRequest): Advice {
  // A gateway can also say this about a good key in the wrong header.
  if (said?.means === 'bad-key') return sent?.service === 'gateway' ? unknownCause : otherKey(sent);
  if (sent?.header === undefined) return said?.means === 'no-version' ? { reason: 'refused' } : unknownCause;
  if (sent.service !== 'gateway') return adviceForService(sent, format);
  switch (said?.means) {
    case 'no-version':
      return sent.version === vendorHeaderNames.version ? { reason: 'refused' } : vendorNames;
    case 'no-token':
      return isBearer(sent) && format === 'messages' ? asApiKey : unknownCause;
    case 'token-only':
      return sent.form === 'auto' && !isBearer(sent) ? asBearer : unknownCause;
    case 'no-key': {
      const names = said.value === undefined ? headersIn(message) : [said.value];
      return names.length > 0 ? adviceForHeaders(names, sent, format) : anotherHeader(sent, format);
    }
    default:
      return unknownCause;
  }
}

/** The headers of a key that a message names. */
function headersIn(message: string): string[] {
  const text = message.toLowerCase();
  return ['x-goog-api-key', 'x-api-key', 'authorization'].filter((name) => text.includes(name));
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
