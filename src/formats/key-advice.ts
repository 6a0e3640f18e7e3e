import type { Advice } from '../errors.ts';
import { type ServiceName, services, vendorHeaderNames } from '../services.ts';
import type { FormatName } from './types.ts';
import type { Refusal } from './refusal-words.ts';

/** How the key of a refused request went out. */
export interface SentKey {
  service: ServiceName;
  /** As it was asked for. */
  form: 'auto' | 'api-key' | 'bearer';
  /** The header that carried the key, lower case; absent without a key. */
  header: string | undefined;
  /** The header with the version of the messages format, lower case. */
  version: string;
}

/** The request that was refused, as far as it is known. */
export interface Asked {
  format?: FormatName | undefined;
  sentKey?: SentKey | undefined;
}

/**
 * What mends a refusal: one setting, or the end of the search. It follows the words of the reply, and never names what was
 * already sent. Where the words name no header, it only goes on from a form that was not chosen, so that no two hints point at
 * each other.
 */
export function keyAdvice(refusal: Refusal | undefined, { format, sentKey: sent }: Asked): Advice {
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
      // Gateways say so of a key in the wrong header, too.
      return sent?.service === 'gateway' ? unknown : { reason: 'key', value: sent?.service };
  }
  if (sent?.header === undefined) return refusal?.says === 'version' ? { reason: 'refused' } : unknown;
  if (sent.service !== 'gateway') return adviceAt(sent, format);
  switch (refusal?.says) {
    case 'version':
      return sent.version === vendorHeaderNames.version ? { reason: 'refused' } : vendorNames;
    case 'no-token':
      return isBearer(sent) && format === 'messages' ? asApiKey : unknown;
    case 'token-only':
      return sent.form === 'auto' && !isBearer(sent) ? asBearer : unknown;
    case 'header':
      return adviceFor(refusal.names, sent, format);
    case 'no-key':
      return nextPlace(sent, format);
    case undefined:
      return unknown;
  }
}

const unknown: Advice = { reason: 'auth-unknown' };
const asBearer: Advice = { reason: 'auth', value: 'bearer' };
const asApiKey: Advice = { reason: 'auth', value: 'api-key' };
const vendorNames: Advice = { reason: 'header-names', value: 'vendors' };

/** A service whose headers are known: what the user changed of them is wrong, else the key is. */
function adviceAt(sent: SentKey, format: Asked['format']): Advice {
  const { apiKey, version } = services[sent.service].headerNames;
  if (isBearer(sent)) return asApiKey;
  const isOwn = format === 'messages' ? sent.version === version : sent.header === apiKey;
  return isOwn ? { reason: 'key', value: sent.service } : vendorNames;
}

/** The gateway wants one of these headers. */
function adviceFor(names: readonly string[], sent: SentKey, format: Asked['format']): Advice {
  const { header = '', form } = sent;
  const name = format === 'messages' ? names.find((known) => known !== vendorHeaderNames.apiKey) : names[0];
  if (name === undefined || names.includes(header)) return unknown;
  if (name === bearerHeader) return form === 'auto' ? asBearer : unknown;
  if (format === 'messages') return asApiKey;
  if (name === vendorHeaderNames.apiKey) return isBearer(sent) ? { ...vendorNames, reason: 'key-header' } : vendorNames;
  // What was named later is kept: the way back would lead here again.
  if (header === vendorHeaderNames.apiKey) return unknown;
  return { reason: isBearer(sent) ? 'key-header' : 'header-names', value: `${name},` };
}

/** No key was found, and no reply says where it is looked for: the next place, as long as the form was not chosen. */
function nextPlace(sent: SentKey, format: Asked['format']): Advice {
  const { header, form } = sent;
  if (isBearer(sent)) return form === 'auto' ? asApiKey : unknown;
  if (format === 'content' && header !== vendorHeaderNames.apiKey) return vendorNames;
  return form === 'auto' ? asBearer : unknown;
}

const bearerHeader = 'authorization';

function isBearer({ header }: SentKey): boolean {
  return header === bearerHeader;
}
