import { hrtime } from 'node:process';

/** A monotonic clock, in ms. Node loads `performance` at its first use, which costs a millisecond. */
export function monotonic(): number {
  return Number(hrtime.bigint()) / 1e6;
}

/** Time of a whole call, retries and waits included, where nobody says otherwise. */
export const defaultTimeoutMs = 600_000;
