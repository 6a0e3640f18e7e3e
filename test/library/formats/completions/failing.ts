import type { GatewayError } from '../../../../src/library/errors.ts';
import { readFailedReply } from '../../../../src/library/formats/failure.ts';

/** A reply that refuses a request. */
export interface Reply {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

export function fail({ status, body, headers = {} }: Reply): GatewayError {
  return readFailedReply({ status, headers, body: JSON.stringify(body), format: 'completions' });
}

/** The body of an error of OpenAI. */
export const openai = (error: object): object => ({ error: { param: null, ...error } });
