import { longestTimerMs } from '../clock.ts';
import { describeRequest, endSignals, GatewayError, type RetryNotice } from '../errors.ts';
import { type Gate, type Sleep, sleepByTimer } from './gate.ts';
import type { Answered, Fetch, FetchCall, HttpReply, HttpRequest, RetryPolicy } from './types.ts';

export const defaultRetryPolicy: Readonly<RetryPolicy> = { retries: 2, maxWaitMs: 60_000, safeOnly: false };

/** A reply with an error status, its body read up to a limit. */
export interface ErrorReply {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** The body before it was decoded. */
  bytes: Uint8Array;
}

/** The options for sending with retries. */
export interface RetryOptions {
  fetch: Fetch;
  /** The user's signal together with the total deadline, waits included. */
  signal: AbortSignal;
  policy: RetryPolicy;
  /**
   * Turns an error reply into an error. `retryAfterMs` in its details is the body's RetryInfo; `retryable: false` means that a
   * retry cannot succeed: the money or the quota of the day is used up.
   */
  classify: (reply: ErrorReply) => GatewayError | Promise<GatewayError>;
  /** The error for an abort by the deadline, or for any other end, by whether the last attempt was sent. */
  explain?: ((thrown: unknown, isSent: boolean) => unknown) | undefined;
  /** Pays for an attempt, right before it is sent. An attempt that is not paid for does not count. */
  reserve?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** The first bytes of an attempt are sent: its number, from 1. */
  onSent?: ((attempts: number) => void) | undefined;
  /** Awaited before each wait for another attempt. */
  onRetry?: ((notice: RetryNotice) => unknown) | undefined;
  gate?: Gate | undefined;
  sleep?: Sleep | undefined;
  /** Wall clock in ms. */
  now?: (() => number) | undefined;
  random?: (() => number) | undefined;
}

/**
 * Sends a request until a 2xx head arrives or a retry cannot help; every attempt sends the same bytes. Attempts are counted here,
 * and nowhere else: replies and errors have their number, and say whether an attempt may have been billed. Throws GatewayError,
 * or the signal's reason.
 */
export async function sendWithRetries(request: HttpRequest, options: RetryOptions): Promise<Answered> {
  const { policy, gate, signal, reserve, sleep = sleepByTimer, now = Date.now, random = Math.random } = options;
  let attempts = 0;
  let isSent = false;
  let waitedMs = 0;
  let last: GatewayError | undefined;
  try {
    for (let attempt = 1; ; attempt++) {
      await gate?.enter(signal).catch((reason: unknown) => endWait(signal, last ?? reason));
      attempts++;
      isSent = false;
      const call: FetchCall = {
        signal,
        beforeSend:
          reserve &&
          (() =>
            reserve(signal).catch((error: unknown) => {
              // An attempt that is not paid for is not sent.
              attempts--;
              throw error;
            })),
        onSent() {
          isSent = true;
          options.onSent?.(attempts);
        },
      };
      const result = await sendOnce(request, call, options);
      // A recording answered, so nothing was sent.
      if (result.recordedAt !== undefined) attempts--;
      if ('status' in result) return { reply: result, attempts };

      const { error, failure } = result;
      const decision = decideRetry({ attempt, waitedMs, failure, policy, now: now(), random: random() });
      const pauseMs = decision.retry ? decision.waitMs : decision.retryAfterMs;
      const isRateLimit = failure.kind === 'reply' && failure.status === 429;
      // A request that gives up instead of waiting does not hold back the others.
      if (isRateLimit && pauseMs !== undefined && pauseMs <= policy.maxWaitMs) gate?.close(pauseMs);
      if (!decision.retry) throw finalError(error, decision, policy);
      if (gate?.allowRetry?.() === false) throw error;
      await options.onRetry?.({ attempt, retries: retriesFor(failure, policy), waitMs: decision.waitMs, error });
      last = error.after(last);
      isSent = false;
      await sleep(decision.waitMs, signal).catch(() => endWait(signal, error));
      waitedMs += decision.waitMs;
    }
  } catch (thrown) {
    const error = options.explain?.(thrown, isSent) ?? thrown;
    if (!(error instanceof GatewayError)) throw error;
    // A signal can come at any time, so its own error does not know whether something is sent.
    const isUnsent = !isSent && endSignals.has(error.class);
    const known = isUnsent ? error.withDetails({ sent: 'no', billed: 'no' }) : error;
    throw known.after(last).withDefaults({ attempts });
  }
}

interface FailedAttempt extends Pick<HttpReply, 'recordedAt'> {
  error: GatewayError;
  failure: AttemptFailure;
}

/** Sends one attempt. Throws only exceptions that are not its failure: a bug, or the end of the call. */
async function sendOnce(
  request: HttpRequest,
  call: FetchCall,
  options: RetryOptions,
): Promise<HttpReply | FailedAttempt> {
  try {
    const reply = await options.fetch(request, call);
    if (reply.status >= 200 && reply.status < 300) return reply;
    return await readErrorReply(request, reply, options);
  } catch (error) {
    if (!(error instanceof GatewayError) || call.signal.aborted) throw error;
    const retryable = error.details.retryable !== false;
    return { error, failure: error.class === 'not-sent' ? { kind: 'not-sent', retryable } : { kind: 'final' } };
  }
}

const errorBodyBytes = 1024 * 1024;
const errorBodyMs = 5000;

async function readErrorReply(
  request: HttpRequest,
  { status, headers, body, recordedAt }: HttpReply,
  { signal, classify }: RetryOptions,
): Promise<FailedAttempt> {
  const bytes = await readErrorBytes(body);
  if (!isTimeout(signal)) signal.throwIfAborted();
  const classified = await classify({ status, headers, body: bytes.toString(), bytes });
  const known = classified.withDefaults({ status, sent: 'yes', request: describeRequest(request) });
  const error = recordedAt === undefined ? known : known.withDetails({ sent: 'no', billed: 'no' });
  const { retryAfterMs, retryable } = error.details;
  return {
    error,
    recordedAt,
    failure: {
      kind: 'reply',
      status,
      headers,
      bodyHintMs: retryAfterMs,
      quotaSpent: retryable === false,
      isLoading: error.details.reason === 'loading',
    },
  };
}

/** Reads the body of an error: at most 1 MiB, for at most five seconds. A body that is cut or slow is not a second error. */
export async function readErrorBytes(body: HttpReply['body']): Promise<Buffer> {
  const iterator = body[Symbol.asyncIterator]();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => (timer = setTimeout(reject, errorBodyMs)));
  try {
    while (bytes < errorBodyBytes) {
      const next = await Promise.race([iterator.next(), timeout]);
      if (next.done) break;
      parts.push(next.value);
      bytes += next.value.byteLength;
    }
  } catch {
    // The part that arrived still describes the error.
  } finally {
    clearTimeout(timer);
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
  return Buffer.concat(parts, Math.min(bytes, errorBodyBytes));
}

/** Ends a wait. After a timeout the last error of the gateway says more than the timeout. */
function endWait(signal: AbortSignal, error: unknown): never {
  throw signal.aborted && !isTimeout(signal) ? signal.reason : error;
}

function isTimeout(signal: AbortSignal): boolean {
  const reason: unknown = signal.reason;
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}

/** A gateway that asks for a longer wait than allowed is a rate limit, whatever its status. */
function finalError(
  error: GatewayError,
  { retryAfterMs, isHintTooLong }: RetryDecision & { retry: false },
  { retries }: RetryPolicy,
): GatewayError {
  if (!isHintTooLong) {
    // The wait in the header of the reply counts before the wait in its body.
    const later = retryAfterMs === undefined ? error : error.withDetails({ retryAfterMs });
    return later.withDefaults({ value: error.details.reason === 'retries' ? retries : undefined });
  }
  const seconds = Math.ceil((retryAfterMs ?? 0) / 1000);
  return new GatewayError('quota', `${error.message.replace(/\.$/, '')}; it asks to come back after ${seconds} s`, {
    ...error.details,
    reason: 'retry-time',
    value: seconds,
    billed: error.billed,
    retryable: true,
    retryAfterMs,
    cause: error,
  });
}

/** The failure of an attempt, as far as a retry depends on it. */
export type AttemptFailure =
  | { kind: 'not-sent'; retryable: boolean }
  | {
      kind: 'reply';
      status: number;
      headers: Readonly<Record<string, string>>;
      /** RetryInfo of the body in ms. */
      bodyHintMs?: number | undefined;
      /** The money or the quota of the day is used up. */
      quotaSpent?: boolean | undefined;
      /** A local server still loads its model. */
      isLoading?: boolean | undefined;
    }
  /** Sent without a reply, or a reply that was cut: never repeated. */
  | { kind: 'final' };

/** Waits and retries, or gives up; `isHintTooLong` if only the length of the gateway's hint forbids a retry. */
type RetryDecision =
  | { retry: true; waitMs: number }
  | { retry: false; retryAfterMs?: number | undefined; isHintTooLong?: true };

/** Decides whether and when a failed attempt is repeated. */
export function decideRetry(failed: {
  /** Number of the attempt that failed, from 1. */
  attempt: number;
  /** Time spent waiting so far, in ms. */
  waitedMs: number;
  failure: AttemptFailure;
  policy: RetryPolicy;
  /** Wall clock in ms. */
  now: number;
  /** 0 ≤ x < 1 */
  random: number;
}): RetryDecision {
  const { attempt, failure, policy, now } = failed;
  const hint = failure.kind === 'reply' ? retryHintMs(failure.headers, now, failure.bodyHintMs) : undefined;
  if (attempt > retriesFor(failure, policy) || !isRetryable(failure, policy))
    return { retry: false, retryAfterMs: hint };
  const left = policy.maxWaitMs - failed.waitedMs;
  if (hint !== undefined && hint > left) return { retry: false, retryAfterMs: hint, isHintTooLong: true };
  const waitMs = retryDelay(attempt, hint, failed.random);
  if (waitMs <= left) return { retry: true, waitMs };
  return hint === undefined ? { retry: false } : { retry: true, waitMs: left };
}

const loadingRetries = 100;

function retriesFor(failure: AttemptFailure, { retries, busyRetries = 0 }: RetryPolicy): number {
  if (failure.kind !== 'reply') return retries;
  // There is no limit of attempts: the time of the waits is the limit.
  if (failure.isLoading && retries > 0) return Math.max(retries, loadingRetries);
  return unbilledStatuses.has(failure.status) ? Math.max(retries, busyRetries) : retries;
}

/** ms to wait after failed attempt number `attempt`: half of the backoff is random, a hint is a minimum and up to 10 % longer. */
export function retryDelay(attempt: number, hintMs: number | undefined, random: number): number {
  const backoff = Math.min(30_000, 1000 * 2 ** (attempt - 1));
  const wait = backoff / 2 + (random * backoff) / 2;
  return Math.ceil(Math.max(wait, (hintMs ?? 0) * (1 + random / 10)));
}

const unbilledStatuses = new Set([429, 503, 529]);
/** A reply arrived, but the work may have been done and billed. */
const maybeBilledStatuses = new Set([408, 500, 502, 504]);

function isRetryable(failure: AttemptFailure, { safeOnly, undoneOnly }: RetryPolicy): boolean {
  if (failure.kind === 'final') return false;
  if (failure.kind === 'not-sent') return failure.retryable;
  const { status, headers, quotaSpent = false } = failure;
  if (quotaSpent) return false;
  if (undoneOnly && status !== 429) return false;
  if (safeOnly && !unbilledStatuses.has(status) && (status >= 500 || status === 408)) return false;
  const advice = headers['x-should-retry']?.trim().toLowerCase();
  if (advice === 'true' || advice === 'false') return advice === 'true';
  return unbilledStatuses.has(status) || maybeBilledStatuses.has(status);
}

/**
 * Time that the gateway asks to wait, in ms: retry-after-ms, retry-after, then the body's RetryInfo. Values that are not times
 * are ignored. `now` is the wall clock in ms, for a reply without a Date.
 */
export function retryHintMs(
  headers: Readonly<Record<string, string>>,
  now: number,
  bodyHintMs?: number,
): number | undefined {
  return clamp(parseDecimal(headers['retry-after-ms'])) ?? clamp(retryAfterMs(headers, now)) ?? clamp(bodyHintMs);
}

function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const text = headers['retry-after'];
  const seconds = parseDecimal(text);
  if (seconds !== undefined) return seconds * 1000;
  const until = parseHttpDate(text);
  // The clocks of both machines may differ by days, so the time counts from the reply's own Date.
  return until === undefined ? undefined : Math.max(0, until - (parseHttpDate(headers['date']) ?? now));
}

function parseDecimal(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}

/** `Date.parse` accepts almost any text; an HTTP date begins with the name of a day. */
function parseHttpDate(text: string | undefined): number | undefined {
  if (text === undefined || !/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

function clamp(ms: number | undefined): number | undefined {
  if (ms === undefined || Number.isNaN(ms) || ms < 0) return undefined;
  return Math.min(Math.ceil(ms), longestTimerMs);
}
