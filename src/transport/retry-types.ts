import type { GatewayError } from '../errors.ts';

/** Passed to `onRetry` before every wait for another attempt. Apart from types.ts: users of the library need no types of HTTP. */
export interface RetryNotice {
  /** Number of the attempt that failed, from 1. */
  attempt: number;
  /** How many retries the policy allows. */
  retries: number;
  waitMs: number;
  error: GatewayError;
}
