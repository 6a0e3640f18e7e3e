import { GatewayError } from '../errors.ts';
import type { Picture, Reply } from './client-types.ts';

/** A reply came, but it is cut, blocked, or without what was asked for; what did come is here. */
export class ResponseError extends GatewayError {
  readonly reply: Reply<Picture>;

  constructor(error: GatewayError, reply: Reply<Picture>) {
    super(error.class, error.message, { ...error.details, cause: error });
    this.reply = reply;
  }
}
