import { GatewayError } from '../errors.ts';
import { countValues, isObject, parseFlat, valueCost } from '../json.ts';
import { closeCutJson } from './cut-json.ts';
import { formatFacts } from './format.ts';
import { quote } from './quote.ts';
import type { FormatName } from './types.ts';

/** Values of one event: parsed, it takes no more memory than the largest text of an event. */
const maxValues = (64 * 1024 * 1024) / valueCost;

/** Parses the data of an event. Throws GatewayError bad-reply where it is not JSON, or holds too many values. */
export function parseEventData(text: string): unknown {
  // A short text cannot hold so many values.
  if (text.length > maxValues && countValues(text) > maxValues)
    throw badStream(`an event of the stream holds more than ${maxValues} values`);
  try {
    return parseFlat(text);
  } catch (error) {
    throw badStream(`an event of the stream is not JSON: ${quote(text)}`, error);
  }
}

/** Whether the data of an event lacks nothing but its end: the body ended in it (deviation 33). */
export function isCutData(data: string): boolean {
  return '[DONE]'.startsWith(data) || closeCutJson(data)?.isWrong === false;
}

/** A stream that is not one of its format; what came before is kept. */
export function badStream(message: string, cause?: unknown): GatewayError {
  return new GatewayError('bad-reply', message, { sent: 'yes', retryable: false, cause });
}

/** JSON that is not a reply of a format. */
export function foreignReply(json: unknown, format: FormatName): GatewayError {
  const piece: unknown = Array.isArray(json) ? json[0] : json;
  const keys = isObject(piece) ? Object.keys(piece).slice(0, 8).join(', ') : '';
  const found = keys === '' ? '' : `: it holds ${quote(keys)}`;
  return new GatewayError('bad-reply', `the reply is JSON, but not a reply of ${formatFacts[format].title}${found}`, {
    reason: 'address',
    sent: 'yes',
    retryable: false,
  });
}
