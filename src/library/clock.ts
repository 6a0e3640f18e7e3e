import { hrtime } from 'node:process';

/** The longest time of a Node timer, ms; a longer one fires at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** A monotonic clock, in ms. Node loads `performance` at its first use, which costs a millisecond. */
export function monotonic(): number {
  return Number(hrtime.bigint()) / 1e6;
}

/** A time (ms since 1970) in ISO 8601, UTC; undefined if it is outside of the calendar. */
export function isoTime(at: number): string | undefined {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** A time (ms since 1970) in the user's time zone: `2026-11-20 15:03`; `unknown` if it is outside of the calendar. */
export function localTime(at: number): string {
  return isoTime(at) === undefined ? 'unknown' : new Date(at).toLocaleString('sv').slice(0, 16);
}

/** The default time limit of a whole call, with its retries and waits. */
export const defaultTimeoutMs = 600_000;

/** The default time limit in the flex lane: an answer can take 15 minutes. */
export const flexTimeoutMs = 1_800_000;

/** A duration for people: `0.5 s`, `34 s`, `2 min 5 s`, `1 h 10 min`. */
export function timeText(ms: number): string {
  if (ms < 950) return `${Math.max(0.1, Math.round(ms / 100) / 10)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** An age for people: `34 s`, `5 min`, `3 h`, `12 days`. */
export function ageText(ms: number): string {
  const minutes = Math.floor(Math.max(0, ms) / 60_000);
  if (minutes < 1) return `${Math.floor(Math.max(0, ms) / 1000)} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}

/** Runs a function later; returns its cancellation. */
export type After = (ms: number, act: () => void) => () => void;

/** Waits by the real clock. Its timers do not keep the process alive. */
export const afterOnClock: After = (ms, act) => {
  const timer = setTimeout(act, ms).unref();
  return () => clearTimeout(timer);
};

/** A promise that an abort rejects at once. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject);
  });
}
