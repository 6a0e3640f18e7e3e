import { hrtime } from 'node:process';

/** The longest that a timer of Node waits, ms; a longer one ends at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** A monotonic clock, in ms. Node loads `performance` at its first use, which costs a millisecond. */
export function monotonic(): number {
  return Number(hrtime.bigint()) / 1e6;
}

/** Time of a whole call, retries and waits included, where nobody says otherwise. */
export const defaultTimeoutMs = 600_000;
