import type { Advice } from '../errors.ts';
import { type ServiceName, services, vendorHeaderNames } from '../services.ts';
import type { FormatName } from './types.ts';
import type { Refusal } from './refusal-words.ts';

/** How the key of a refused request went out. */
export interface SentKey {
  service: ServiceName;
  /** The setting `auth`. */
  form: 'auto' | 'api-key' | 'bearer';
  /** The header that carried the key, lower case; absent without a key. */
  header: string | undefined;
  /** The header with the version of the messages format, lower case. */
  version: string;
}

/** The request that was refused, as far as it is known. */
export interface RefusedRequest {
  format?: FormatName | undefined;
  sentKey?: SentKey | undefined;
}

/**
 * What to do about a refused key: one setting to change, or `auth-unknown`. The words of the reply decide. It never advises
 * what was already sent. If the reply names no header, it suggests another form of the key only while `auth` is `auto`;
 * otherwise two hints could each advise what the other one replaced.
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
      // A gateway can also say this of a good key in the wrong header.
      return sent?.service === 'gateway' ? unknownCause : { reason: 'key', value: sent?.service };
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

/** The headers of the service are known: if the user changed them, that is wrong; otherwise the key is. */
function adviceForService(sent: SentKey, format: RefusedRequest['format']): Advice {
  const { auth, headerNames } = services[sent.service];
  const { apiKey, version } = headerNames;
  if (auth === 'bearer') return isBearer(sent) ? { reason: 'key', value: sent.service } : asBearer;
  if (isBearer(sent)) return asApiKey;
  const isOwn = format === 'messages' ? sent.version === version : sent.header === apiKey;
  return isOwn ? { reason: 'key', value: sent.service } : vendorNames;
}

/** The gateway expects the key in one of these headers. */
function adviceForHeaders(names: readonly string[], sent: SentKey, format: RefusedRequest['format']): Advice {
  const { header = '', form } = sent;
  const name = format === 'messages' ? names.find((known) => known !== vendorHeaderNames.apiKey) : names[0];
  if (name === undefined || names.includes(header)) return unknownCause;
  if (name === bearerHeader) return form === 'auto' ? asBearer : unknownCause;
  if (format === 'messages') return asApiKey;
  if (name === vendorHeaderNames.apiKey) return isBearer(sent) ? { ...vendorNames, reason: 'key-header' } : vendorNames;
  // This header is already a vendor's own, perhaps on the advice of an earlier hint: to go back would repeat the first error.
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
