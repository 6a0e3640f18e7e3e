import { GatewayError } from '../errors.ts';
import type { HttpReply } from '../transport/types.ts';

/** An error of reading a reply, with where its request went and its status. Failures of this machine stay as they are. */
export function located(error: GatewayError, reply: Pick<HttpReply, 'request' | 'status'>): GatewayError;
export function located(error: unknown, reply: Pick<HttpReply, 'request' | 'status'>): unknown;
export function located(error: unknown, { request, status }: Pick<HttpReply, 'request' | 'status'>): unknown {
  if (
    request === undefined ||
    !(error instanceof GatewayError) ||
    error.details.sent !== 'yes' ||
    error.class === 'not-written'
  )
    return error;
  return error.with({ request, status });
}
