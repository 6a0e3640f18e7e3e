import type { JsonObject } from '../json.ts';
import type { Format, Reply } from './types.ts';

/** What beside status and message an error reply tells. */
export interface ProblemDetails {
  /** Names the status of the content format where it is not the usual one of the HTTP status. */
  status?: string;
  /** error.type of the messages format where it is not the usual one. */
  type?: string;
  /** `details` of the content format. */
  details?: JsonObject[];
  /** `details.error_code` of the messages format. */
  errorCode?: string;
  headers?: Record<string, string>;
  /** HTML in the place of the JSON. */
  page?: string;
}

/** A request that gets an error reply: HTTP status and a message that names what is wrong. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: number;
  readonly extra: ProblemDetails;

  constructor(code: number, message: string, extra: ProblemDetails = {}) {
    super(message);
    this.code = code;
    this.extra = extra;
  }
}

/** RPC name of an HTTP status in the content format. */
const contentStatus: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  413: 'Request Entity Too Large',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  529: 'UNAVAILABLE',
};

/** error.type of an HTTP status in the messages format. */
const messagesType: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** The error reply of a problem, in the shape of the format it was asked in. */
export function problemReply(problem: Problem, format: Format, requestId: string): Reply {
  const { page } = problem.extra;
  if (page !== undefined) {
    return { status: problem.code, headers: { 'content-type': 'text/html; charset=UTF-8' }, body: page };
  }
  return {
    status: problem.code,
    headers: { 'content-type': 'application/json; charset=utf-8', ...problem.extra.headers },
    body: JSON.stringify(format === 'content' ? contentError(problem) : messagesError(problem, requestId)),
  };
}

/** The error body of the content format; a stream that breaks off ends with it. */
export function contentError({ code, message, extra }: Problem): JsonObject {
  const status = extra.status ?? contentStatus[code] ?? (code < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
  return { error: { code, message, status, ...(extra.details && { details: extra.details }) } };
}

/** The `error` event and the error body share this shape. */
export function messagesError({ code, message, extra }: Problem, requestId?: string): JsonObject {
  const type = extra.type ?? messagesType[code] ?? (code < 500 ? 'invalid_request_error' : 'api_error');
  const details = extra.errorCode !== undefined && { details: { error_code: extra.errorCode } };
  const error = { type, message, ...details };
  return { type: 'error', error, ...(requestId !== undefined && { request_id: requestId }) };
}
