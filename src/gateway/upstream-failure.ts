import { GatewayError, messageOf } from '../errors.ts';
import { Problem } from './problem.ts';

interface FailureFacts {
  timedOut: boolean;
  usageStatus: number;
}

/**
 * An exchange without a reply, as the caller is told of it: 504 where time ran out, 503 where nothing was sent and so
 * nothing billed, else 502. What may have been billed says that it must not simply be sent again. Anything that is no GatewayError is a bug of ours, and comes back as it is.
 */
export function failureProblem(error: unknown, { timedOut, usageStatus }: FailureFacts): unknown {
  if (timedOut) return new Problem(504, 'the upstream gateway did not answer in time', notAgain);
  if (!(error instanceof GatewayError)) return error;
  if (error.class === 'usage') return new Problem(usageStatus, messageOf(error), notAgain);
  const again = error.class === 'not-sent' && error.details.retryable !== false;
  const status = error.class === 'not-sent' ? 503 : 502;
  return new Problem(status, `the upstream gateway gave no reply: ${messageOf(error)}`, again ? {} : notAgain);
}

/** Clients of both formats repeat a 502 or 504 by themselves unless they are told not to (faults.md 3). */
const notAgain = { headers: { 'x-should-retry': 'false' } };
