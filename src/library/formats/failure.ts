import type { Body } from '../body.ts';
import { badReply, GatewayError, type Certainty, type ErrorClass, type Advice, quoteForeign } from '../errors.ts';
import { parseOrNothing, readErrorBody, type ErrorBody } from './error-body.ts';
import { keyAdvice, type RefusedRequest } from './key-advice.ts';
import { getOtherTokenField } from './completions/token-field.ts';
import { findErrorInReply } from './format.ts';
import { readRefusal, type Said } from './refusal.ts';
import { resetDelayMs } from './retry-delay.ts';
import type { FormatName } from './types.ts';
import { findSuccessor } from '../vendors/model-rules.ts';
import { type Meaning, type OptionalPart, optionalParts } from '../vendors/refusals.ts';
import { findEffortRule, findEffortsIn } from '../vendors/effort.ts';
import { findOwn } from '../find-own.ts';

/** A failed reply, its body as far as it was read. */
export interface FailedReply extends RefusedRequest {
  status: number;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
  format: FormatName;
  /** The model that was asked. */
  model?: string | undefined;
  /** The body of the request: words that the reply quotes from it are not the service's own. */
  asked?: Body | undefined;
  /** The request was for a stream of the content format: a gateway need not have that operation. */
  streamsContent?: true | undefined;
}

/**
 * The failure that a reply reports. Its class depends on the HTTP status, or, for an error inside a 200, on the error's own name.
 * A 200 without an error in it is a bad reply. `retryable` is false if the quota is spent.
 */
export function readFailedReply(reply: FailedReply): GatewayError {
  const { status, headers } = reply;
  const requestId = headers['request-id'] ?? headers['x-request-id'];
  if (status < 400 || status > 599) return failureInside(reply, requestId);
  const error = readErrorBody(reply.body, reply.asked) ?? { message: '' };
  return buildFailure(error, { ...reply, requestId, summary: `the gateway answered ${status}` });
}

/** The failure of an error that came in an event or a reply of status 200. Unknown names are a failing gateway. */
export function toFailure(error: ErrorBody, known: { billed?: Certainty | undefined } = {}): GatewayError {
  return buildFailure(error, {
    ...known,
    status: chooseStatus(error),
    summary: 'the gateway reported an error',
    isInside: true,
  });
}

interface FailureFacts extends RefusedRequest {
  status: number | undefined;
  /** The beginning of the message. */
  summary: string;
  /** The error is inside a reply whose HTTP status means success: it is not retried. */
  isInside?: true;
  requestId?: string | undefined;
  billed?: Certainty | undefined;
  model?: string | undefined;
  streamsContent?: true | undefined;
  headers?: Readonly<Record<string, string | undefined>> | undefined;
}

function buildFailure(error: ErrorBody, known: FailureFacts): GatewayError {
  const { status, summary } = known;
  const says = readRefusal(status, error, known.format);
  const errorClass = chooseErrorClass(status, says[0]);
  const name = error.type ?? error.status ?? (typeof error.code === 'string' ? error.code : undefined);
  const label = name === undefined ? '' : ` (${quoteForeign(name, 60)})`;
  const { whole: words = error.message, limits: [limitName] = [] } = error;
  const said = words === '' || words === name ? '' : `: ${quoteForeign(words)}`;
  const limit = errorClass === 'quota' && limitName !== undefined ? ` (limit ${quoteForeign(limitName, 80)})` : '';
  return new GatewayError(errorClass, `${summary}${label}${said}${limit}`, {
    ...chooseFailureAdvice(says, error, { ...known, errorClass }),
    ...(says.length > 0 && { says }),
    status,
    requestId: known.requestId ?? error.requestId,
    retryable: isRetryableFailure(errorClass, says, known),
    retryAfterMs:
      error.retryDelayMs ?? (errorClass === 'quota' ? resetDelayMs(known.headers ?? {}, error.resetAt) : undefined),
    sent: 'yes',
    billed: known.billed ?? (isOwnMachine(known) ? 'no' : judgeBilled(errorClass, status)),
  });
}

/** Whether the error was billed, if more is known than the class says: OpenAI checks an image before and after it is made. */
function judgeBilled(errorClass: ErrorClass, status: number | undefined): Certainty | undefined {
  if (errorClass === 'no-result') return 'unknown';
  return errorClass === 'gateway' && (status === 503 || status === 529) ? 'no' : undefined;
}

/** The classes of meanings. For others the HTTP status decides. The content format answers 400 for a bad key (formats 2). */
const classes: Readonly<Partial<Record<Meaning, ErrorClass>>> = {
  'quota-spent': 'quota',
  'limit-too-small': 'rejected',
  moderated: 'no-result',
  'bad-key': 'auth',
  'no-key': 'auth',
  'no-token': 'auth',
  'token-only': 'auth',
};

function chooseErrorClass(status: number | undefined, first: Said | undefined): ErrorClass {
  const known = first && classes[first.means];
  // A relay answers 500 where its own quota is spent.
  if (known !== undefined && !(known === 'quota' && status !== undefined && status >= 500)) return known;
  if (status === undefined) return 'gateway';
  if (status === 401 || status === 403) return 'auth';
  if (status === 402 || status === 429) return 'quota';
  return status < 500 && status !== 408 ? 'rejected' : 'gateway';
}

/** Meanings that stay the same when the request is sent again. */
const lasting: ReadonlySet<Meaning> = new Set(['quota-spent', 'model-lacks']);

function isRetryableFailure(errorClass: ErrorClass, says: readonly Said[], { status, headers }: FailureFacts): boolean {
  if (says.some(({ means }) => lasting.has(means))) return false;
  const wish = headers?.['x-should-retry'];
  if (wish === 'true' || wish === 'false') return wish === 'true';
  if (errorClass === 'quota') return status === 429;
  return errorClass === 'gateway' && status !== undefined && status !== 501 && status !== 505;
}

function chooseStatus({ code, type, status }: ErrorBody): number | undefined {
  const number = Number(code);
  if (Number.isInteger(number) && number >= 400 && number <= 599) return number;
  for (const name of [code, type, status]) {
    const known = typeof name === 'string' ? findStatusByName(name) : undefined;
    if (known !== undefined) return known;
  }
  return undefined;
}

function failureInside(
  { status, body, format, asked, sentKey }: FailedReply,
  requestId: string | undefined,
): GatewayError {
  const error = findErrorInReply(parseOrNothing(body), asked);
  if (error) {
    const summary = `the gateway answered ${status} with an error`;
    return buildFailure(error, { status: chooseStatus(error), summary, requestId, format, sentKey, isInside: true });
  }
  const said =
    body.trim() === ''
      ? ' without a body'
      : ` with something that is not a reply: ${quoteForeign(readErrorBody(body)?.message ?? '')}`;
  return badReply(`the gateway answered ${status}${said}`, { reason: 'address', status, requestId });
}

interface AdviceFacts extends FailureFacts {
  errorClass: ErrorClass;
}

/** The advice for a failure that the gateway reported: that of the first meaning, otherwise of its class and status. */
function chooseFailureAdvice(says: readonly Said[], error: ErrorBody, facts: AdviceFacts): Advice {
  const { errorClass, status, isInside, streamsContent } = facts;
  if (streamsContent && (status === 405 || status === 501)) return { reason: 'no-stream' };
  for (const said of says) {
    const advice = adviseMeaning(said, error, facts);
    if (advice !== undefined) return advice;
  }
  if (errorClass === 'auth') return keyAdvice(undefined, error.message, facts);
  if (status === 402) return { reason: 'quota-spent' };
  if (errorClass === 'quota' || errorClass === 'gateway') return { reason: isInside ? 'not-retried' : 'retries' };
  if (status === 404) return pathAdvice(undefined, error, facts);
  if (status === 413) return { reason: 'too-large' };
  const [field] = error.fields ?? [];
  return field === undefined ? { reason: 'refused' } : fieldAdvice(field, facts);
}

/** The advice for a meaning; undefined for a part that the request can do without: it is sent again. */
function adviseMeaning(said: Said, error: ErrorBody, facts: AdviceFacts): Advice | undefined {
  const { means, value } = said;
  if (isOptionalPart(means)) return undefined;
  switch (means) {
    case 'bad-key':
    case 'no-key':
    case 'no-token':
    case 'token-only':
    case 'no-version':
      return keyAdvice(said, error.message, facts);
    case 'moderated':
      return { reason: 'prompt' };
    case 'limit-too-small':
      return { reason: 'context-window' };
    case 'model':
      return modelAdvice(value, error, facts);
    case 'no-such-path':
      return pathAdvice(value, error, facts);
    case 'token-field':
      return { reason: 'other-field', value: getOtherTokenField(value ?? '') };
    case 'effort':
      return { reason: 'effort', value: findEffortsIn(error.message).join(', ') || undefined };
    case 'field':
      return fieldAdvice(value ?? '', facts);
    default:
      return { reason: means, value };
  }
}

function isOptionalPart(means: Meaning): means is OptionalPart {
  return optionalParts.some((part) => part === means);
}

/** Ollama runs on the machine of its user, unless a key opens another host. */
function isOwnMachine(facts: FailureFacts): boolean {
  const { isElsewhere, header } = facts.sentKey ?? {};
  return isOllama(facts) && !(isElsewhere && header !== undefined);
}

function isOllama({ sentKey }: FailureFacts): boolean {
  return sentKey?.service === 'ollama';
}

/**
 * Advises the format in whose shape a 404 is, as it comes from a gateway that has only that format, or the format that gateways
 * with its words have.
 */
function pathAdvice(wordsOf: string | undefined, { shape }: ErrorBody, facts: FailureFacts): Advice {
  const { status, format, streamsContent } = facts;
  if (status !== 404) return { reason: 'no-such-path' };
  if (format !== undefined && shape !== undefined && shape !== format) return { reason: 'other-format', value: shape };
  if (streamsContent) return { reason: 'no-stream', value: 'path' };
  if (wordsOf !== undefined && wordsOf !== format) return { reason: 'other-format', value: wordsOf };
  return { reason: 'no-such-path' };
}

/** Advises the successor that the service names, otherwise to pull the model into Ollama, or the list of models. */
function modelAdvice(model: string | undefined, { message }: ErrorBody, facts: FailureFacts): Advice {
  const successor = findSuccessor(message);
  if (successor !== undefined) return { reason: 'successor', value: successor };
  return isOllama(facts) && facts.status === 404 ? { reason: 'pull-model', value: model } : { reason: 'model' };
}

function fieldAdvice(field: string, { model = '' }: FailureFacts): Advice {
  const thinksLess = findEffortRule(model)?.takes.includes('none') ?? false;
  const reason = thinksLess && samplingFields.test(field) ? 'sampling' : 'field';
  return { reason, value: quoteForeign(field, 60) };
}

/** Fields that a thinking model does not take; the models of OpenAI and Anthropic take them without thinking. */
const samplingFields = /^(?:temperature|top_?[pk]|(?:presence|frequency)_?penalty|logprobs|top_logprobs)$/i;

/** The HTTP status for the name of an error, if the name is known (formats 2 and 3). */
export function findStatusByName(name: string): number | undefined {
  return findOwn(statusByName, name.toLowerCase());
}

const statusByName: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,

  invalid_argument: 400,
  failed_precondition: 400,
  out_of_range: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  aborted: 409,
  resource_exhausted: 429,
  cancelled: 499,
  unknown: 500,
  internal: 500,
  data_loss: 500,
  unimplemented: 501,
  unavailable: 503,
  deadline_exceeded: 504,

  api_key_invalid: 401,
  invalid_api_key: 401,
  model_not_found: 404,
  context_length_exceeded: 400,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  server_error: 500,
  internal_server_error: 500,
  service_unavailable: 503,
};
