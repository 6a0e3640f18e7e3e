import { GatewayError } from '../errors.ts';
import type { Certainty, ErrorClass } from '../errors.ts';
import { findErrorInReply, readErrorBody } from './error-body.ts';
import type { ErrorBody } from './error-body.ts';
import { statusOfName } from './error-status.ts';
import { adviceFor } from './failure-hint.ts';
import type { AuthForm } from './failure-hint.ts';
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
  /** The HTTP status promised a reply, and the error stood in it. */
  isInside?: true;
  requestId?: string | undefined;
  billed?: Certainty | undefined;
  authForm?: AuthForm | undefined;
  headers?: Readonly<Record<string, string | undefined>> | undefined;
}

function build(error: ErrorBody, known: Known): GatewayError {
  const { status, told } = known;
  const errorClass = classOf(status, error);
  const name = error.type ?? error.status ?? (typeof error.code === 'string' ? error.code : undefined);
  const label = name === undefined ? '' : ` (${quote(name, 60)})`;
  const said = error.message === '' || error.message === name ? '' : `: ${quote(error.message)}`;
  return new GatewayError(errorClass, `${told}${label}${said}`, {
    ...adviceFor({ errorClass, status, error, authForm: known.authForm, isInside: known.isInside === true }),
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
  const error = findErrorInReply(parse(body));
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text.trim());
  } catch {
    return undefined;
  }
}
