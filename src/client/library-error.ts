import { GatewayError } from '../errors.ts';
import { ResponseError } from './response-error.ts';

/** `--max-tokens <n>`, `-n 2` */
const flag = /(?:^|[\s('"])--?[a-z]/;

/** The same failure for a program: a hint that speaks of the command line means nothing to it. */
export function withoutFlags<Thrown>(error: Thrown): Thrown | GatewayError {
  if (!(error instanceof GatewayError) || !flag.test(error.details.hint ?? '')) return error;
  const plain = new GatewayError(error.class, error.message, {
    ...error.details,
    hint: undefined,
    cause: error.cause,
  });
  const told = error instanceof ResponseError ? new ResponseError(plain, error.reply) : plain;
  if (error.stack !== undefined) told.stack = error.stack;
  return told;
}
