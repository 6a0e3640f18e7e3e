import type { Signal } from './client-types.ts';
import { setMaxListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { defaultTimeoutMs, longestTimerMs, monotonic } from '../clock.ts';
import { GatewayError, usageError } from '../errors.ts';

/** The progress of an exchange; decides the meaning of a timeout. */
export type Phase = 'unsent' | 'sent' | 'reading';

/** Limits the whole time of a command, from its first reading to its last wait. */
export interface Deadline {
  /** Aborts by the caller's signal or when the time is over. */
  readonly signal: Signal;
  /** The error of an abort by the timer at this phase; returns any other error unchanged. */
  explain(error: unknown, phase: Phase): unknown;
  /** Ends the limited work before its time. */
  abort(reason: unknown): void;
  /** Stops the clock: a batch has thousands of deadlines, and none must outlive its job. */
  end(): void;
}

/** The recommended minimum for images: a hint that names less would cause a warning. */
const minHintMinutes = 2;

/** Starts the time now. The timer never keeps the process alive. */
export function startDeadline(ms: number, caller?: Signal): Deadline {
  if (typeof ms !== 'number' || Number.isNaN(ms))
    throw usageError(`timeoutMs is not a number: ${JSON.stringify(ms)}`, 'for example: timeoutMs: 60000');
  const controller = new AbortController();
  let timeout: DOMException | undefined;
  const ring = (): void => {
    timeout = new DOMException('the time is over', 'TimeoutError');
    controller.abort(timeout);
  };
  const timer = setTimeout(ring, Math.min(Math.ceil(ms), longestTimerMs)).unref();
  const followCaller = (): void => controller.abort(caller?.reason);
  if (caller?.aborted) followCaller();
  else if (caller) {
    // Many calls can share a signal: Node would warn of a leak from the eleventh on. A signal of jsdom has no such limit.
    if (caller instanceof AbortSignal) setMaxListeners(0, caller);
    caller.addEventListener('abort', followCaller, { once: true });
  }
  return {
    signal: controller.signal,
    explain: (error, phase) => (timeout !== undefined && error === timeout ? timeoutError(ms, phase) : error),
    abort: (reason) => controller.abort(reason),
    end() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', followCaller);
    },
  };
}

/** The deadline of a call: the one that it is given, or a new one. */
export function chooseDeadline(
  { deadline, signal, timeoutMs }: { deadline?: Deadline | undefined; signal?: Signal | undefined } & TimeLimit,
  { timeoutMs: usual = defaultTimeoutMs }: TimeLimit,
): Deadline {
  return deadline ?? startDeadline(timeoutMs ?? usual, signal);
}

interface TimeLimit {
  timeoutMs?: number | undefined;
}

/** Time that work which listens to the signal itself, such as a fetch, has to report a better error, in ms. */
const lastWordMs = 50;

/**
 * Applies the command's deadline to work before the first request, such as reading a file. Rejects at once with the reason that
 * ends the command.
 */
export async function within<T>({ signal, explain }: Deadline, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let end: (() => void) | undefined;
  const over = new Promise<never>((_, reject) => {
    end = () => void (timer = setTimeout(() => reject(signal.reason), lastWordMs));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
  try {
    return await Promise.race([work, over]);
  } catch (error) {
    throw explain(error, 'unsent');
  } finally {
    clearTimeout(timer);
    if (end) signal.removeEventListener('abort', end);
  }
}

/** The single deadline of a command: its time begins when something first needs it. */
export function deadlineOnce(ms: number, caller: AbortSignal): () => Deadline {
  let deadline: Deadline | undefined;
  return () => (deadline ??= startDeadline(ms, caller));
}

/** Called between the steps of work on a reply that came: returns the error if the time is over. Throws for any other end. */
export type CheckEnd = () => GatewayError | undefined;

/** The error if the time is over. */
export function getTimeoutError({ signal, explain }: Deadline): GatewayError | undefined {
  const end = signal.aborted ? explain(signal.reason, 'reading') : undefined;
  return end === signal.reason ? undefined : (end as GatewayError);
}

/** The error if the time is over; throws the reason of the caller's abort. */
export function checkEnd(deadline: Deadline): GatewayError | undefined {
  const end = getTimeoutError(deadline);
  if (end === undefined) deadline.signal.throwIfAborted();
  return end;
}

/** Work that takes longer, in ms, lets the event loop turn: without it no signal and no timer is noticed. */
const longWorkMs = 20;

/** Asks `endOf`; if the work takes long, in a later turn. */
export type Watch = () => Promise<GatewayError | undefined>;

export function createWatch(endOf: CheckEnd | undefined): Watch {
  let since = monotonic();
  return async () => {
    if (endOf === undefined) return undefined;
    if (monotonic() - since > longWorkMs) {
      // The first turn comes before the loop looks at signals again, if it was requested by code that runs on arriving data.
      await turn();
      await turn();
      since = monotonic();
    }
    return endOf();
  };
}

function timeoutError(ms: number, phase: Phase): GatewayError {
  const value = Math.max(minHintMinutes, Math.ceil((2 * ms) / 60_000));
  const advice = { reason: 'timeout', value } as const;
  const within = `within ${ms / 1000} s`;
  if (phase === 'unsent')
    return new GatewayError('not-sent', `not sent ${within}`, { ...advice, sent: 'no', retryable: true });
  if (phase === 'sent') {
    return new GatewayError('no-reply', `no reply ${within}`, { ...advice, sent: 'yes', retryable: false });
  }
  return new GatewayError('incomplete', `the reply did not end ${within}`, {
    ...advice,
    sent: 'yes',
    retryable: false,
  });
}

/**
 * Time in ms for which the rest of a body is awaited; undefined: without limit. The time begins again when `heard`, the count of
 * events, grows. Called before each chunk.
 */
type Patience = () => { ms: number | undefined; heard: number };

/**
 * Reads a body that may not end though its reply has (deviation 24: only pings and comments follow). When the time is over, so
 * is the body.
 */
export async function* readWhilePatient(
  chunks: AsyncIterable<Uint8Array>,
  patience: Patience,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  let before: ReturnType<Patience> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let over: Promise<undefined> | undefined;
  try {
    for (;;) {
      const now = patience();
      const { ms } = now;
      if (ms !== undefined && (ms !== before?.ms || now.heard !== before.heard)) {
        clearTimeout(timer);
        over = new Promise((resolve) => (timer = setTimeout(() => resolve(undefined), ms)));
      }
      before = now;
      const next = await (over ? Promise.race([iterator.next(), over]) : iterator.next());
      if (next === undefined || next.done) return;
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    // The return is not awaited: it would wait for the chunk that never comes.
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}
