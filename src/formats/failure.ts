import { GatewayError, type Certainty, type ErrorClass, type Advice } from '../errors.ts';
import { findErrorInReply, parseOrNothing, readErrorBody, type ErrorBody } from './error-body.ts';
import { quote } from './quote.ts';

/** A reply that is no success, its body as far as it was read. */
export interface FailedReply {
  status: number;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
  format: 'content' | 'messages';
  /** How the key was sent; the hint of 401 and 403 then names the other form. */
  authForm?: AuthForm | undefined;
  /** A stream of the content format was asked for: a gateway need not have that operation. */
  streamsContent?: true | undefined;
}

/**
 * The failure that a reply stands for, its class by the HTTP status, or, for an error inside a 200,
 * by the error's own name. A 200 without an error in it is a bad reply. `retryable` is false where the quota is spent.
 */
export function failureOf(reply: FailedReply): GatewayError {
  const { status, headers } = reply;
  const requestId = headers['request-id'] ?? headers['x-request-id'];
  if (status >= 300 && status < 400) return redirect(reply, requestId);
  if (status < 400 || status > 599) return failureInside(reply, requestId);
  const error = readErrorBody(reply.body) ?? { message: '' };
  return build(error, { ...reply, requestId, told: `the gateway answered ${status}` });
}

/** The failure of an error that came in an event or a reply of status 200. Unknown names are a failing gateway. */
export function failureOfError(error: ErrorBody, known: { billed?: Certainty | undefined } = {}): GatewayError {
  return build(error, { ...known, status: statusOf(error), told: 'the gateway reported an error', isInside: true });
}

interface Known {
  status: number | undefined;
  /** How the message begins. */
  told: string;
  /** The HTTP status promised a reply, and the error stood in it: such a one is not retried. */
  isInside?: true;
  requestId?: string | undefined;
  billed?: Certainty | undefined;
  authForm?: AuthForm | undefined;
  streamsContent?: true | undefined;
  headers?: Readonly<Record<string, string | undefined>> | undefined;
}

function build(error: ErrorBody, known: Known): GatewayError {
  const { status, told } = known;
  const errorClass = classOf(status, error);
  const name = error.type ?? error.status ?? (typeof error.code === 'string' ? error.code : undefined);
  const label = name === undefined ? '' : ` (${quote(name, 60)})`;
  const said = error.message === '' || error.message === name ? '' : `: ${quote(error.message)}`;
  return new GatewayError(errorClass, `${told}${label}${said}`, {
    ...adviceFor(error, { ...known, errorClass }),
    status,
    requestId: known.requestId ?? error.requestId,
    retryable: isRetryable(errorClass, error, known),
    retryAfterMs: error.retryDelayMs,
    sent: 'yes',
    billed: known.billed ?? (errorClass === 'gateway' && (status === 503 || status === 529) ? 'no' : undefined),
  });
}

function classOf(status: number | undefined, error: ErrorBody): ErrorClass {
  if (status === undefined) return error.quotaSpent ? 'quota' : 'gateway';
  if (error.quotaSpent && status < 500) return 'quota';
  if (status === 401 || status === 403 || isBadKey(error)) return 'auth';
  if (status === 402 || status === 429) return 'quota';
  return status < 500 && status !== 408 ? 'rejected' : 'gateway';
}

/** The content format answers 400 for a bad key (formats 2). */
function isBadKey({ reason, code, type }: ErrorBody): boolean {
  return [reason, code, type].some((name) => name === 'API_KEY_INVALID' || name === 'invalid_api_key');
}

function isRetryable(errorClass: ErrorClass, error: ErrorBody, { status, headers }: Known): boolean {
  if (error.quotaSpent) return false;
  const wish = headers?.['x-should-retry'];
  if (wish === 'true' || wish === 'false') return wish === 'true';
  if (errorClass === 'quota') return status === 429;
  return errorClass === 'gateway' && status !== undefined && status !== 501 && status !== 505;
}

function statusOf({ code, type, status }: ErrorBody): number | undefined {
  const number = Number(code);
  if (Number.isInteger(number) && number >= 400 && number <= 599) return number;
  for (const name of [code, type, status]) {
    const known = typeof name === 'string' ? statusOfName(name) : undefined;
    if (known !== undefined) return known;
  }
  return undefined;
}

function redirect({ status, headers }: FailedReply, requestId: string | undefined): GatewayError {
  const to = originOf(headers['location']);
  return new GatewayError('bad-reply', `the gateway answered ${status}, a redirect${to}`, {
    hint: "redirects are never followed: set the base URL to the gateway's own address",
    status,
    requestId,
    sent: 'yes',
    retryable: false,
  });
}

/** Only the origin of a redirect's target is shown: the rest may hold secrets. */
function originOf(location: string | undefined): string {
  const url = location !== undefined && URL.canParse(location) ? new URL(location) : undefined;
  return url && url.origin !== 'null' ? ` to ${url.origin}` : '';
}

function failureInside({ status, body, authForm }: FailedReply, requestId: string | undefined): GatewayError {
  const error = findErrorInReply(parseOrNothing(body));
  if (error) {
    const told = `the gateway answered ${status} with an error`;
    return build(error, { status: statusOf(error), told, requestId, authForm, isInside: true });
  }
  const said =
    body.trim() === '' ? ' without a body' : ` with what is no reply: ${quote(readErrorBody(body)?.message ?? '')}`;
  return new GatewayError('bad-reply', `the gateway answered ${status}${said}`, {
    hint: 'check the base URL and the model',
    reason: 'address',
    status,
    requestId,
    sent: 'yes',
    retryable: false,
  });
}

/** How a key is sent (formats 1). */
type AuthForm = 'api-key' | 'bearer';

const morePatience: Advice = { hint: 'wait, or allow more retries', reason: 'retries' };
const noStream = {
  hint: 'this gateway does not stream the content format: ask for one reply',
  reason: 'no-stream',
} as const;
const laterAgain: Advice = { hint: 'run the same command again later: a reply that has begun is not retried' };

/** What can be done after a failure that the gateway reported. */
function adviceFor(
  error: ErrorBody,
  { errorClass, status, authForm, isInside, streamsContent }: Known & { errorClass: ErrorClass },
): Advice {
  const patience = isInside ? laterAgain : morePatience;
  if (errorClass === 'auth') return authAdvice(authForm);
  if (errorClass === 'quota') {
    const isSpent = error.quotaSpent || status === 402;
    return isSpent ? { hint: "the quota or credit is spent: look at the account's plan" } : patience;
  }
  if (streamsContent && (status === 405 || status === 501)) return noStream;
  if (saysNoModel(status, error)) return { hint: 'the gateway does not offer the model', reason: 'model' };
  if (errorClass === 'gateway') return patience;
  if (streamsContent && status === 404)
    return { ...noStream, hint: `check the model and the base URL; where they are right,\n${noStream.hint}` };
  if (status === 404) return { hint: 'check the model and the base URL', reason: 'no-such-path' };
  if (status === 413) return { hint: 'send smaller or fewer images and files' };
  return fieldAdvice(error) ?? (errorClass === 'rejected' ? { reason: 'refused' } : {});
}

function authAdvice(form: AuthForm | undefined): Advice {
  const other = form && (form === 'api-key' ? 'bearer' : 'api-key');
  const hint = `check the key, or send it in the other form: ${other ?? 'bearer or api-key'}`;
  return { hint, reason: 'auth', value: other };
}

/** Relays answer 503 for a model that they have no channel for (deviation 21). */
function saysNoModel(status: number | undefined, { code, type, message }: ErrorBody): boolean {
  if (status !== 503) return false;
  return code === 'model_not_found' || type === 'model_not_found' || message.includes('无可用渠道');
}

function fieldAdvice(error: ErrorBody): Advice | undefined {
  const field = unknownField(error);
  if (field === undefined) return undefined;
  const value = quote(field, 60);
  return { hint: `the gateway refuses the field '${value}': leave it out`, reason: 'field', value };
}

/** `Unknown name "x" at 'y': Cannot find field.`, `x: Extra inputs are not permitted`, or a field violation (formats 1). */
function unknownField({ message, fields }: ErrorBody): string | undefined {
  const lead = 'Unknown name "';
  const start = message.indexOf(lead);
  const end = start < 0 ? -1 : message.indexOf('"', start + lead.length);
  if (end >= 0) return message.slice(start + lead.length, end);
  const extra = message.indexOf(': Extra inputs are not permitted');
  return extra < 0 ? fields?.[0] : message.slice(0, extra).split(/\s/).at(-1);
}

/** The HTTP status that an error's name stands for, where the name is known (formats 2 and 3). */
export function statusOfName(name: string): number | undefined {
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
