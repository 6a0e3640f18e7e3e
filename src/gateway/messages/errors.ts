import type { JsonObject } from '../../json.ts';
import { type Breach, valueText } from '../fields/violation.ts';
import { Problem } from '../problem.ts';
import type { Path } from '../types.ts';

/** `error.type` of an HTTP status. */
const types: Readonly<Record<number, string>> = {
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

/** The `error` event and the error body share this shape. */
export function messagesError({ code, message, extra }: Problem, requestId?: string): JsonObject {
  const type = extra.type ?? types[code] ?? (code < 500 ? 'invalid_request_error' : 'api_error');
  const details = extra.errorCode !== undefined && { details: { error_code: extra.errorCode } };
  const error = { type, message, ...details };
  return { type: 'error', error, ...(requestId !== undefined && { request_id: requestId }) };
}

/** The 400 reply that names the field, worded as the public service does. */
export function messagesViolation(path: Path, breach: Breach): Problem {
  const at = path.join('.');
  switch (breach.kind) {
    case 'unknown':
      return new Problem(400, `${[...path, breach.name].join('.')}: Extra inputs are not permitted`);
    case 'missing':
      return new Problem(400, `${at}: Field required`);
    case 'type':
      return new Problem(400, `${at}: Input should be a valid ${breach.expected}`);
    default:
      return new Problem(400, `${at}: ${valueText(path, breach)}`);
  }
}
