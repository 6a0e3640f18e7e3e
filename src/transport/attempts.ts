import { setTimeout as wait } from 'node:timers/promises';
import { GatewayError } from '../errors.ts';
import { longestTimerMs } from '../clock.ts';
import { decideRetry, type Outcome, type RetryDecision, type RetryPolicy } from './retry.ts';
import type { RetryNotice } from './retry-types.ts';
import type { Exchange, HttpReply, HttpRequest } from './types.ts';

const errorBodyBytes = 1024 * 1024;
const errorBodyMs = 5000;

/** A reply whose status is not 2xx, its body read as far as it matters. */
export interface FailedReply {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** The same as it came. */
  bytes: Uint8Array;
}

/** Shared by the calls of a batch: one 429 makes all of them wait, and a storm of failures ends the retries. */
export interface Gate {
  /** Resolves when a request may go out. Rejects with the signal's reason. */
  enter(signal: AbortSignal): Promise<void>;
  /** Nobody else enters for so many ms: a 429 came. */
  close(waitMs: number): void;
  /** Asked before each retry; false ends the retries. */
  allowRetry?(): boolean;
}

/** What sending with retries needs beside the request. */
export interface SendOptions {
  exchange: Exchange;
  /** The user's signal together with the total deadline, waits included. */
  signal: AbortSignal;
  policy: RetryPolicy;
  /**
   * Reads an error reply. `retryAfterMs` in its details is taken for the body's RetryInfo;
   * `retryable: false` means that repeating is no use: money or the day's quota is spent.
   */
  classify: (failed: FailedReply) => GatewayError | Promise<GatewayError>;
  onSent?: (() => void) | undefined;
  onRetry?: ((notice: RetryNotice) => void) | undefined;
  gate?: Gate | undefined;
  /** Waits; rejects when the signal aborts. */
  sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  /** Wall clock in ms. */
  now?: (() => number) | undefined;
  random?: (() => number) | undefined;
}

interface Failure {
  error: GatewayError;
  outcome: Outcome;
}

/**
 * Sends a request until a 2xx head comes or repeating is pointless; every attempt sends the same bytes.
 * Throws GatewayError, or the signal's reason.
 */
export async function sendWithRetries(
  request: HttpRequest,
  options: SendOptions,
): Promise<{ reply: HttpReply; attempts: number }> {
  const { policy, gate, signal, sleep = sleepFor, now = Date.now, random = Math.random } = options;
  let spentMs = 0;
  let last: GatewayError | undefined;
  for (let attempt = 1; ; attempt++) {
    await gate?.enter(signal).catch((reason: unknown) => endWait(signal, last ?? reason));
    const result = await tryOnce(request, options);
    if ('status' in result) return { reply: result, attempts: attempt };
    const { error, outcome } = result;
    const decision = decideRetry({ attempt, spentMs, outcome, policy, now: now(), random: random() });
    closeGate(gate, { outcome, decision, policy });
    if (!decision.retry) throw lastError(error, decision, policy);
    if (gate?.allowRetry?.() === false) throw error;
    options.onRetry?.({ attempt, retries: policy.retries, waitMs: decision.waitMs, error });
    await sleep(decision.waitMs, signal).catch(() => endWait(signal, error));
    spentMs += decision.waitMs;
    last = error;
  }
}

/** A wait was broken off: when time is up, what the gateway said last tells more than that. */
function endWait(signal: AbortSignal, error: unknown): never {
  throw signal.aborted && !isTimeout(signal) ? signal.reason : error;
}

async function tryOnce(request: HttpRequest, options: SendOptions): Promise<HttpReply | Failure> {
  const { exchange, signal, onSent, classify } = options;
  try {
    const reply = await exchange(request, { signal, onSent });
    if (reply.status >= 200 && reply.status < 300) return reply;
    return await readFailure(reply, { request, signal, classify });
  } catch (error) {
    if (!(error instanceof GatewayError) || signal.aborted) throw error;
    const retryable = error.details.retryable !== false;
    return { error, outcome: error.class === 'not-sent' ? { kind: 'not-sent', retryable } : { kind: 'final' } };
  }
}

async function readFailure(
  { status, headers, body }: HttpReply,
  { request, signal, classify }: Pick<SendOptions, 'signal' | 'classify'> & { request: HttpRequest },
): Promise<Failure> {
  const bytes = await readSome(body, { maxBytes: errorBodyBytes, maxMs: errorBodyMs });
  if (!isTimeout(signal)) signal.throwIfAborted();
  const { method = 'POST', url } = request;
  const classified = await classify({ status, headers, body: bytes.toString(), bytes });
  const error = classified.with({
    status,
    sent: 'yes',
    request: `${method} ${url.origin}${url.pathname}`,
  });
  const { retryAfterMs, retryable } = error.details;
  return {
    error,
    outcome: { kind: 'reply', status, headers, bodyHintMs: retryAfterMs, quotaSpent: retryable === false },
  };
}

/** A wait that one request may not have holds up no other. */
function closeGate(
  gate: Gate | undefined,
  { outcome, decision, policy }: { outcome: Outcome; decision: RetryDecision; policy: RetryPolicy },
): void {
  if (outcome.kind !== 'reply' || outcome.status !== 429) return;
  const ms = decision.retry ? decision.waitMs : decision.retryAfterMs;
  if (ms !== undefined && ms <= policy.maxWaitMs) gate?.close(ms);
}

/** A gateway that wants more time than there is counts as a limit, whatever its status. */
function lastError(
  error: GatewayError,
  decision: RetryDecision & { retry: false },
  { retries }: RetryPolicy,
): GatewayError {
  const { retryAfterMs, overBudget = false } = decision;
  if (!overBudget) return error.with({ retryAfterMs, value: error.details.reason === 'retries' ? retries : undefined });
  const seconds = Math.ceil((retryAfterMs ?? 0) / 1000);
  return new GatewayError('quota', `${error.message.replace(/\.$/, '')}; it asks to come back after ${seconds} s`, {
    ...error.details,
    hint: `run it again after ${seconds} s, or allow longer waits`,
    reason: 'retry-time',
    value: seconds,
    billed: error.billed,
    retryable: true,
    retryAfterMs,
    cause: error,
  });
}

function isTimeout(signal: AbortSignal): boolean {
  const reason: unknown = signal.reason;
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}

async function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  await wait(Math.min(ms, longestTimerMs), undefined, { signal });
}

/** Reads what comes of an error's body: at most `maxBytes`, at most `maxMs`. It never throws for a body that is cut or slow. */
export async function readSome(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes, maxMs }: { maxBytes: number; maxMs: number },
): Promise<Buffer> {
  const iterator = chunks[Symbol.asyncIterator]();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), maxMs)));
  try {
    while (bytes < maxBytes) {
      const next = await Promise.race([iterator.next(), over]);
      if (next === undefined || next.done) break;
      parts.push(next.value);
      bytes += next.value.byteLength;
    }
  } catch {
    // A cut body is no second failure: what came of it still tells about the first.
  } finally {
    clearTimeout(timer);
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
  return Buffer.concat(parts, Math.min(bytes, maxBytes));
}
