import {
  field,
  isObject,
  type JsonObject,
  type JsonValue,
  listField,
  objectField,
  parseFlat,
  textField,
} from '../json.ts';
import type { Body } from '../body.ts';
import { listTexts, withoutQuotes } from './heard.ts';
import type { FormatName } from './types.ts';
import { quoteForeign } from '../errors.ts';
import { proseDelayMs, durationMs } from './retry-delay.ts';

/** The facts of an error body in any of its shapes (formats 2 and 3, deviations 15 to 21 and 39). */
export interface ErrorBody extends ErrorDetailFacts {
  message: string;
  /** The message as it came, if it quotes the request: `message` has only the service's own words. */
  whole?: string | undefined;
  /** error.type: `overloaded_error`, `invalid_request_error`. */
  type?: string | undefined;
  /** RPC name: `RESOURCE_EXHAUSTED`. */
  status?: string | undefined;
  /** error.code, a word or a number. */
  code?: string | number | undefined;
  requestId?: string | undefined;
  /** The format whose errors have this shape; undefined if several formats share it. */
  shape?: FormatName | undefined;
  /** The end of the limit, in ms since 1970. */
  resetAt?: number | undefined;
}

/** Messages may hold JSON again; deeper than this they are left as they are (deviation 18). */
const maxNesting = 2;

/**
 * Reads the body of a failed reply by its content, whatever its declared type. Undefined if it has no facts. `asked`: the body of
 * the request; words that the reply quotes from it are ignored.
 */
export function readErrorBody(text: string, asked?: Body): ErrorBody | undefined {
  if (text.trim() === '') return undefined;
  for (const candidate of [text, ...eventData(text)]) {
    const error = findError(parseOrNothing(candidate), 0);
    if (error) return completeError(hearError(error, asked));
  }
  const message = extractMessage(text);
  return completeError(hearError({ message, shape: message === googlePage ? 'content' : undefined }, asked));
}

function hearError(error: ErrorBody, asked: Body | undefined): ErrorBody {
  const message = withoutQuotes(error.message, listTexts(asked));
  return message === error.message ? error : { ...error, message, whole: error.message };
}

/** The title of the page with which Google's hosts answer an unknown path. */
const googlePage = 'Error 404 (Not Found)!!1';

/** Reads the error in a JSON value, without quotes of the request. Undefined if there is none. */
export function readError(value: unknown, asked?: Body): ErrorBody | undefined {
  const error = findError(value, 0);
  return error && completeError(hearError(error, asked));
}

/** An error reply to a streamed request may itself be events: the data of each is looked at. */
function eventData(text: string): string[] {
  return text
    .split(/[\r\n]+/)
    .filter((line) => line.startsWith('data:'))
    .slice(0, 16)
    .map((line) => line.slice('data:'.length));
}

function findError(value: unknown, depth: number): ErrorBody | undefined {
  if (depth > maxNesting + 1) return undefined;
  if (typeof value === 'string') return value.trim() === '' ? undefined : withMessage({}, value, depth);
  if (Array.isArray(value)) return findError(value[0], depth + 1);
  if (!isObject(value)) return undefined;
  const inner = isObject(value['error']) ? value['error'] : value;
  const facts = readErrorFacts(value, inner);
  const message = upstreamText(inner) ?? messageIn(value, inner) ?? chooseErrorName(facts);
  return message === undefined ? undefined : withMessage(facts, message, depth);
}

function readErrorFacts(outer: JsonObject, inner: JsonObject): Omit<ErrorBody, 'message'> {
  const type = textField(inner, 'type') ?? textField(outer, 'type');
  const status = field(inner, 'status');
  return {
    type: type === 'error' ? undefined : type,
    status: typeof status === 'string' ? status : undefined,
    code: codeIn(inner) ?? (typeof status === 'number' ? status : undefined),
    requestId: textField(outer, 'requestId') ?? textField(inner, 'requestId'),
    shape: detectShape(outer, inner),
    // OpenRouter has the time here, whether or not it sends such a header.
    resetAt: Number(objectField(objectField(inner, 'metadata') ?? {}, 'headers')?.['X-RateLimit-Reset']) || undefined,
    ...refusedParameter(inner),
    ...readDetails(inner['details']),
  };
}

function detectShape(outer: JsonObject, inner: JsonObject): ErrorBody['shape'] {
  if (outer === inner) return undefined;
  if (outer['type'] === 'error' && typeof inner['type'] === 'string') return 'messages';
  return typeof inner['code'] === 'number' && typeof inner['status'] === 'string' ? 'content' : undefined;
}

function codeIn(inner: JsonObject): string | number | undefined {
  const code = inner['code'];
  return typeof code === 'number' || (typeof code === 'string' && code !== '') ? code : undefined;
}

/** The message of an error, wherever it is in an object and in the object inside it. */
export function messageIn(outer: JsonObject, inner: JsonObject): string | undefined {
  const inMessage = detailText(objectField(inner, 'message')?.['detail']);
  const found = [inner['message'], inMessage, outer['message'], detailText(outer['detail']), outer['error']];
  return found.find((text): text is string => typeof text === 'string' && text.trim() !== '');
}

/** OpenRouter's own message about an upstream's error has no facts; the upstream's message is in another field (deviation 62). */
function upstreamText(inner: JsonObject): string | undefined {
  const raw = objectField(inner, 'metadata')?.['raw'];
  const text = isObject(raw) && readError(raw) ? JSON.stringify(raw) : raw;
  return typeof text === 'string' && text.trim() !== '' ? text : undefined;
}

/** The field of the request that OpenAI's error names, if it is the field that is refused. */
function refusedParameter({ code, param }: JsonObject): Pick<ErrorBody, 'fields'> {
  const isRefused = typeof code === 'string' && /^(?:unsupported|unknown)_(?:parameter|value)$/.test(code);
  return isRefused && typeof param === 'string' && param !== '' ? { fields: [param] } : {};
}

/** `detail` is a text, or FastAPI's list of `{loc, msg}`. */
function detailText(detail: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(detail)) return isObject(detail) ? (detail['message'] ?? detail['msg']) : detail;
  return detail
    .slice(0, 8)
    .filter(isObject)
    .map(({ loc, msg }) => `${Array.isArray(loc) ? `${loc.map(String).join('.')}: ` : ''}${String(msg)}`)
    .join('; ');
}

function chooseErrorName({ type, status, code, reason }: Omit<ErrorBody, 'message'>): string | undefined {
  return type ?? status ?? reason ?? (code === undefined ? undefined : String(code));
}

/** A message that is JSON itself is unwrapped; facts of the inner error win. */
function withMessage(facts: Omit<ErrorBody, 'message'>, message: string, depth: number): ErrorBody {
  const text = message.trim();
  const nested = depth < maxNesting && /^[{["]/.test(text) ? findError(parseOrNothing(text), depth + 1) : undefined;
  if (!nested) return { ...facts, message: text };
  const known = Object.entries(nested).filter(([, value]) => value !== undefined);
  return { ...facts, ...Object.fromEntries(known), message: nested.message };
}

/** Adds facts that only the prose of the message says. */
function completeError(error: ErrorBody): ErrorBody {
  const { message, requestId = requestIdIn(message), retryDelayMs = proseDelayMs(message) } = error;
  return { ...error, requestId, retryDelayMs };
}

/** Relays end their messages with `(request id: …)` (deviation 21). */
function requestIdIn(message: string): string | undefined {
  const at = message.toLowerCase().lastIndexOf('request id:');
  if (at < 0) return undefined;
  const id = message
    .slice(at + 'request id:'.length, at + 200)
    .split(')')[0]
    ?.trim();
  return id === '' ? undefined : id;
}

/** A text's JSON; undefined if it is not JSON. */
export function parseOrNothing(text: string): unknown {
  try {
    return parseFlat(text.trim());
  } catch {
    return undefined;
  }
}

/** Facts in the `details` of an error (formats 2). */
interface ErrorDetailFacts {
  /** ErrorInfo.reason: `API_KEY_INVALID`. */
  reason?: string | undefined;
  /** RetryInfo.retryDelay in ms. */
  retryDelayMs?: number | undefined;
  /** The names of limits that were reached, as the service calls them. */
  limits?: string[] | undefined;
  /** Names of request fields that were refused. */
  fields?: string[] | undefined;
}

/** Reads the details of an error: a list of google.rpc objects, or one object of a gateway's own. */
export function readDetails(details: JsonValue | undefined): ErrorDetailFacts {
  const list = (Array.isArray(details) ? details.slice(0, 64) : [details]).filter(isObject);
  const reasons = list.map((detail) => textField(detail, 'reason') ?? textField(detail, 'errorCode'));
  const delays = list.map((detail) => durationMs(field(detail, 'retryDelay')));
  const limits = list.flatMap(quotaIds);
  const fields = list.flatMap(refusedFields);
  return {
    reason: reasons.find((reason) => reason !== undefined),
    retryDelayMs: delays.find((delay) => delay !== undefined),
    ...(limits.length > 0 && { limits }),
    ...(fields.length > 0 && { fields }),
  };
}

/** The names of the fields that a detail says were refused. */
function refusedFields(detail: JsonObject): string[] {
  const fields = violations(detail, 'fieldViolations').map((violation) => textField(violation, 'field'));
  return fields.filter((name): name is string => name !== undefined && name !== '');
}

/** A quota for a day is not back in a minute: `GenerateRequestsPerDayPerProjectPerModel-FreeTier`. */
function quotaIds(detail: JsonObject): string[] {
  const limit = textField(objectField(detail, 'metadata') ?? {}, 'quotaLimit');
  return [...violations(detail, 'violations').map((violation) => textField(violation, 'quotaId')), limit].filter(
    (name) => name !== undefined,
  );
}

function violations(detail: JsonObject, key: string): JsonObject[] {
  return (listField(detail, key) ?? []).slice(0, 64).filter(isObject);
}

/** The beginning of a page in which its text is searched. */
const longestPage = 64 * 1024;

/** The message of an error body that is not JSON: the title of an HTML page, or its first 200 characters (deviation 39). */
function extractMessage(text: string): string {
  if (!text.trimStart().startsWith('<')) return quoteForeign(text);
  return quoteForeign(findHtmlTitle(text) ?? text.slice(0, longestPage).replaceAll(/<[^>]*>?/g, ' '));
}

function findHtmlTitle(html: string): string | undefined {
  const lower = html.toLowerCase();
  const tag = lower.indexOf('<title');
  const start = tag < 0 ? -1 : lower.indexOf('>', tag);
  const end = start < 0 ? -1 : lower.indexOf('</title', start);
  const title = end < 0 ? '' : html.slice(start + 1, end).trim();
  return title === '' ? undefined : title;
}
