import type { Body } from '../body.ts';
import { GatewayError, type Certainty, type ErrorClass, type Advice, quoteForeign } from '../errors.ts';
import { parseOrNothing, readErrorBody, type ErrorBody } from './error-body.ts';
import { keyAdvice, type RefusedRequest, readRefusal, type Refusal } from './key-advice.ts';
import { otherTokenField } from './completions/token-field.ts';
import { findErrorInReply } from './format.ts';
import { findNamedFormat, isOpenAiFormat } from './named-format.ts';
import { resetDelayMs } from './retry-delay.ts';
import type { FormatName } from './types.ts';
import { findSuccessor, saysRetired, saysUnknown } from '../vendors/model-rules.ts';
import { findEffortRule, findEffortsIn } from '../vendors/effort.ts';

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
  if (status >= 300 && status < 400) return redirect(reply, requestId);
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
  const refusal = readRefusal(status, error);
  const errorClass = chooseErrorClass(status, error, refusal);
  const name = error.type ?? error.status ?? (typeof error.code === 'string' ? error.code : undefined);
  const label = name === undefined ? '' : ` (${quoteForeign(name, 60)})`;
  const { whole: words = error.message } = error;
  const said = words === '' || words === name ? '' : `: ${quoteForeign(words)}`;
  const limit = errorClass === 'quota' && error.limit !== undefined ? ` (limit ${quoteForeign(error.limit, 80)})` : '';
  return new GatewayError(errorClass, `${summary}${label}${said}${limit}`, {
    ...chooseFailureAdvice(error, { ...known, errorClass, refusal }),
    status,
    requestId: known.requestId ?? error.requestId,
    retryable: isRetryableFailure(errorClass, error, known),
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

function chooseErrorClass(status: number | undefined, error: ErrorBody, refusal: Refusal | undefined): ErrorClass {
  if (status === undefined) return error.quotaSpent ? 'quota' : 'gateway';
  if (error.quotaSpent && status < 500) return 'quota';
  if (isModerated(error)) return 'no-result';
  if (status === 401 || status === 403 || isBadKey(error)) return 'auth';
  if (status === 400 && refusal !== undefined && keyRefusals.has(refusal.says)) return 'auth';
  // OpenAI and Groq answer this to a request with more tokens than the limit of a minute: waiting does not help.
  if (status === 402 || (status === 429 && !/^request too large for /i.test(error.message))) return 'quota';
  return status < 500 && status !== 408 ? 'rejected' : 'gateway';
}

/** The content format answers 400 for a bad key (formats 2). */
function isBadKey({ reason, code, type }: ErrorBody): boolean {
  return [reason, code, type].some((name) => name === 'API_KEY_INVALID' || name === 'invalid_api_key');
}

/** The service itself stopped the request: OpenAI, and OpenAI at Azure, say so with 400, OpenRouter with 403. */
function isModerated({ code, message }: ErrorBody): boolean {
  if (/^\S+ requires moderation on /.test(message)) return true;
  return code === 'moderation_blocked' || code === 'content_policy_violation' || code === 'content_filter';
}

/** Refusals that make a 400 a failed authentication: the gateway found no key, or refused the key. */
const keyRefusals = new Set<Refusal['says']>(['bad-key', 'header', 'no-key', 'no-token', 'token-only']);

function isRetryableFailure(errorClass: ErrorClass, error: ErrorBody, { status, headers }: FailureFacts): boolean {
  if (error.quotaSpent || unable.test(error.message)) return false;
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

function redirect({ status, headers }: FailedReply, requestId: string | undefined): GatewayError {
  const to = parseRedirectOrigin(headers['location']);
  return new GatewayError('bad-reply', `the gateway answered ${status}, a redirect${to}`, {
    reason: 'redirect',
    status,
    requestId,
    sent: 'yes',
    retryable: false,
  });
}

/** Only the origin of a redirect's target is shown: the rest of the URL may hold secrets. */
function parseRedirectOrigin(location: string | undefined): string {
  const url = location !== undefined && URL.canParse(location) ? new URL(location) : undefined;
  return url && url.origin !== 'null' ? ` to ${url.origin}` : '';
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
  return new GatewayError('bad-reply', `the gateway answered ${status}${said}`, {
    reason: 'address',
    status,
    requestId,
    sent: 'yes',
    retryable: false,
  });
}

/** The advice for a failure that the gateway reported. */
function chooseFailureAdvice(
  error: ErrorBody,
  facts: FailureFacts & { errorClass: ErrorClass; refusal: Refusal | undefined },
): Advice {
  const { errorClass, status, refusal, isInside, streamsContent } = facts;
  if (status === 503 && loads.test(error.message)) return { reason: 'loading' };
  const later: Advice = { reason: isInside ? 'not-retried' : 'retries' };
  if (status === 400 && wantsCertificate.test(error.message)) return { reason: 'client-certificate' };
  if (status === 400 && wantsTls.test(error.message)) return { reason: 'port-speaks-tls' };
  if (errorClass === 'auth' || (errorClass === 'rejected' && refusal)) return keyAdvice(refusal, facts);
  if (errorClass === 'no-result') return { reason: 'prompt' };
  if (errorClass === 'quota') return error.quotaSpent || status === 402 ? { reason: 'quota-spent' } : later;
  if (streamsContent && (status === 405 || status === 501)) return { reason: 'no-stream' };
  if (isOllama(facts) && status === 404 && namesModel(error.message.toLowerCase()))
    return { reason: 'pull-model', value: /model ['"]?([^'"\s]{1,200}?)['"]? not found/.exec(error.message)?.[1] };
  if (saysNoModel(status, error)) return modelAdvice(error);
  const lacking = unable.exec(error.message);
  if (lacking) return { reason: 'model-lacks', value: lacking[1] };
  if (errorClass === 'gateway') return later;
  if (status === 404) return notFoundAdvice(error, facts);
  if (tooManyPixels.test(`${error.reason} ${error.code} ${error.message}`)) return { reason: 'too-many-pixels' };
  if (status === 413 && !tooLong.test(error.message)) return { reason: 'too-large' };
  const named = status === 400 ? findOtherFormat(error.message, facts.format) : undefined;
  if (named !== undefined && !effortNone.test(error.message)) return { reason: 'named-format', value: named };
  return fieldAdvice(error, facts.model) ?? { reason: tooLong.test(error.message) ? 'context-window' : 'refused' };
}

/** The words of llama.cpp while it starts. */
const loads = /^loading model/i;

/** Ollama runs on the machine of its user, unless a key opens another host. */
function isOwnMachine(facts: FailureFacts): boolean {
  const { isElsewhere, header } = facts.sentKey ?? {};
  return isOllama(facts) && !(isElsewhere && header !== undefined);
}

function isOllama({ sentKey }: FailureFacts): boolean {
  return sentKey?.service === 'ollama';
}

/** The words of OpenAI, OpenRouter and Groq, Anthropic, llama.cpp and Google. */
const tooLong =
  /context (?:length|limit|size|window)|prompt is too long|input token.{0,40} exceed|^request too large for /i;

/** The code and the words of Anthropic (npm @anthropic-ai/sdk 1.14.0; anthropics/claude-code#4778). */
const tooManyPixels = /image_dimensions_too_large|image dimensions exceed/i;

/** The words of nginx, Apache, HAProxy, Go and Envoy; each answers in plain HTTP. */
const wantsCertificate = /no required ssl certificate|the ssl certificate error|client certificate (?:is )?required/i;
const wantsTls =
  /plain http request was sent to https port|plain http to an ssl-enabled|http request to an https server/i;

/** A 404 in the shape of another format comes from a gateway that has only that format. */
function notFoundAdvice({ message, code, shape }: ErrorBody, { format, streamsContent }: FailureFacts): Advice {
  const named = findOtherFormat(message, format);
  if (named !== undefined) return { reason: 'named-format', value: named };
  if (routing.test(message)) return { reason: 'key-project' };
  if (code === 'model_not_found' || namesModel(message.slice(0, 1000).toLowerCase())) return modelAdvice({ message });
  if (format !== undefined && shape !== undefined && shape !== format) return { reason: 'other-format', value: shape };
  const isOther = streamsContent ? /^invalid url \(/i.test(message) : otherFormats.test(message);
  if (format !== 'completions' && isOther) return { reason: 'other-format', value: 'completions' };
  return streamsContent ? { reason: 'no-stream', value: 'path' } : { reason: 'no-such-path' };
}

/** OpenAI's other format, if the service wants it. */
function findOtherFormat(message: string, format: FormatName | undefined): FormatName | undefined {
  const named = format !== undefined && isOpenAiFormat(format) ? findNamedFormat(message) : undefined;
  return named === format ? undefined : named;
}

/** Words of OpenRouter, OpenAI, Google and Ollama for input or output that the model does not have, or a model that they cannot load. */
const unable =
  /^No endpoints found that (?:support|can handle) (?:the requested output )?(\w+)|image_url is only supported|input modality is not enabled|does not support (?:chat$|image)|^model requires more system memory|required for image input/;

/** OpenRouter's words when the settings of an account leave no provider of the model. */
const routing = /\bdata policy|\bguardrail restrictions|^no allowed providers/i;

/** Words of OpenAI, vLLM, LiteLLM and Ollama for a path that they do not have. */
const otherFormats = /^(?:invalid url \(|not found$|404 page not found)/i;

/** Whether a text says that a model is missing. The word `models` in a path does not count. */
function namesModel(text: string): boolean {
  if (text.startsWith('model:') || text.includes('is not found for api version')) return true;
  // OpenRouter, of a model that none of its providers has.
  if (text.startsWith('no endpoints found')) return true;
  return /\bmodels?\b.*\b(?:not found|not exist)\b/s.test(text) && !text.includes('/v1');
}

/** Advises the successor that the service names, otherwise the list of models. */
function modelAdvice({ message }: Pick<ErrorBody, 'message'>): Advice {
  const value = findSuccessor(message);
  return value === undefined ? { reason: 'model' } : { reason: 'successor', value };
}

/**
 * OpenRouter answers 400 for a name that is not a model's, and relays answer 503 for a model that they have no channel for
 * (deviation 21).
 */
function saysNoModel(status: number | undefined, { code, type, message }: ErrorBody): boolean {
  if (status === 400 && message.endsWith(' is not a valid model ID')) return true;
  if (status === 400 && saysUnknown({ code, message })) return true;
  if (status === 400 || status === 404 || status === 410)
    return code === 'model_decommissioned' || saysRetired(message);
  if (status !== 503) return false;
  return code === 'model_not_found' || type === 'model_not_found' || message.includes('无可用渠道');
}

function fieldAdvice(error: ErrorBody, model: string | undefined): Advice | undefined {
  const other = otherTokenField(error) ?? otherField.exec(error.message)?.[1];
  if (other !== undefined) return { reason: 'other-field', value: other };
  if (limitReached.test(error.message)) return { reason: 'max-tokens' };
  if (effortNone.test(error.message)) return { reason: 'effort-none' };
  if (refusesEffort.test(error.message) || error.fields?.some((name) => refusesEffort.test(name)))
    return { reason: 'effort', value: findEffortsIn(error.message).join(', ') || undefined };
  const field = unknownField(error) ?? findUnsupportedField(error.message);
  if (field === undefined) return undefined;
  const thinksLess = findEffortRule(model ?? '')?.takes.includes('none') ?? false;
  const reason = thinksLess && samplingFields.test(field) ? 'sampling' : 'field';
  return { reason, value: quoteForeign(field, 60) };
}

/** Names for the effort in refusals of OpenAI, Anthropic and Google. */
const refusesEffort =
  /reasoning[_.]effort|output_config\.effort|\bthinking[ _]?level|the effort parameter|^thinking\.type\b|only works in thinking mode/i;
/** Fields that a thinking model does not take; the models of OpenAI and Anthropic take them without thinking. */
const samplingFields = /^(?:temperature|top_?[pk]|(?:presence|frequency)_?penalty|logprobs|top_logprobs)$/i;

/** OpenAI's words for a field that older models take, with the field that this model takes. */
const otherField = /'\w+' is not supported with this model\. Use '(\w+)' instead/;
/** OpenAI's words where thinking alone used up the limit of tokens: it is a 400, not a reply that is cut. */
const limitReached = /^Could not finish the message because max_tokens or model output limit was reached/;
/** OpenAI's words for tools beside thinking, also if the request does not mention thinking. */
const effortNone = /\bset reasoning_effort to 'none'/;

/** `Unknown name "x" at 'y': Cannot find field.`, `x: Extra inputs are not permitted`, or a field violation (formats 1). */
function unknownField({ message, fields }: ErrorBody): string | undefined {
  const lead = 'Unknown name "';
  const start = message.indexOf(lead);
  const end = start < 0 ? -1 : message.indexOf('"', start + lead.length);
  if (end >= 0) return message.slice(start + lead.length, end);
  const extra = message.indexOf(': Extra inputs are not permitted');
  return extra < 0 ? fields?.[0] : message.slice(0, extra).split(/\s/).at(-1);
}

/** A field that the gateway knows and the model does not take. */
function findUnsupportedField(message: string): string | undefined {
  for (const [words, field] of wordsOfUnsupported) {
    const found = words.exec(message);
    if (found) return field ?? found[1];
  }
  return undefined;
}

/** Words of all services for an unsupported field. The field is the one in the words, unless the row gives its usual name. */
const wordsOfUnsupported: readonly (readonly [RegExp, string?])[] = [
  [/^`?(\w+)`? (?:is deprecated|and `?\w+`? cannot both be specified) for this model/],
  [/^'?(max_tokens)(?:: \d+ > |\b.* is too large)/],
  [/ has a (maxOutputTokens) value of /],
  [/ does not support (tools)$/],
  [/^Developer instruction is not enabled for /, 'systemInstruction'],
  [/^Function calling is not enabled for /, 'tools'],
  [/^JSON mode is not enabled for /, 'responseJsonSchema'],
];

/** The HTTP status for the name of an error, if the name is known (formats 2 and 3). */
export function findStatusByName(name: string): number | undefined {
  const key = name.toLowerCase();
  return Object.hasOwn(statusByName, key) ? statusByName[key] : undefined;
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
