import { getErrorMessage, type JsonObject } from '../library/index.ts';
import { Violation } from './fields/rule.ts';
import type { GatewayFormat, GatewayReply } from './types.ts';

/** The parts of an error reply beside status and message. */
export interface ProblemDetails {
  /** `error.status` of the content format, if it is not the usual one of the HTTP status. */
  status?: string;
  /** `error.type` of the other formats, if it is not the usual one. */
  type?: string;
  /** `details` of the content format. */
  details?: JsonObject[];
  /** `details.error_code` of the messages format, `error.code` of the completions format. */
  errorCode?: string | null;
  /** `error.param` of the completions format. */
  param?: string;
  headers?: Record<string, string>;
}

/** A request that gets an error reply: HTTP status and a message that names the mistake. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly extra: ProblemDetails;

  constructor(status: number, message: string, extra: ProblemDetails = {}) {
    super(message);
    this.status = status;
    this.extra = extra;
  }
}

/** The error that a caller sees, whatever was thrown. */
export function toProblem(error: unknown, format: GatewayFormat): Problem {
  if (error instanceof Violation) return format.violation(error.path, error.breach);
  return error instanceof Problem ? error : new Problem(500, `the local gateway failed: ${getErrorMessage(error)}`);
}

/** The error reply of a problem, in the shape of the format of the request. */
export function problemReply(problem: Problem, format: GatewayFormat, requestId: string): GatewayReply {
  return {
    status: problem.status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...problem.extra.headers },
    body: JSON.stringify(format.error(problem, requestId)),
  };
}
