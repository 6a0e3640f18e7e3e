import type { GatewayError } from '../errors.ts';

/** Told before every wait for another attempt. */
export interface RetryNotice {
  /** Number of the attempt that failed, from 1. */
  attempt: number;
  /** How many further attempts the policy allows in all. */
  retries: number;
  waitMs: number;
  error: GatewayError;
}
