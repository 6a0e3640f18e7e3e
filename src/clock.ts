import { hrtime } from 'node:process';

/** The longest that a timer of Node waits, ms; a longer one ends at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** A monotonic clock, in ms. Node loads `performance` at its first use, which costs a millisecond. */
export function monotonic(): number {
  return Number(hrtime.bigint()) / 1e6;
}

/** A time in ms since 1970 as programs read it, in UTC; undefined where no calendar has it. */
export function isoTime(at: number): string | undefined {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** The same by the clock on the user's wall: `2026-11-20 15:03`; `unknown` where no calendar has it. */
export function localTime(at: number): string {
  return isoTime(at) === undefined ? 'unknown' : new Date(at).toLocaleString('sv').slice(0, 16);
}

/** Time of a whole call, retries and waits included, where nobody says otherwise. */
export const defaultTimeoutMs = 600_000;
