import { GatewayError } from '../../errors.ts';

/** A stream that is no stream of this format; what came before is kept. */
export function badStream(message: string, cause?: unknown): GatewayError {
  return new GatewayError('bad-reply', message, { sent: 'yes', retryable: false, cause });
}
