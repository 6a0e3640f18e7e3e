/** The HTTP status that an error's name stands for, where the name is known (formats 2 and 3). */
export function statusOfName(name: string): number | undefined {
  const key = name.toLowerCase();
  return Object.hasOwn(statusByName, key) ? statusByName[key] : undefined;
}

const statusByName: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,

  invalid_argument: 400,
  failed_precondition: 400,
  out_of_range: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  aborted: 409,
  resource_exhausted: 429,
  cancelled: 499,
  unknown: 500,
  internal: 500,
  data_loss: 500,
  unimplemented: 501,
  unavailable: 503,
  deadline_exceeded: 504,

  api_key_invalid: 401,
  invalid_api_key: 401,
  model_not_found: 404,
  context_length_exceeded: 400,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  server_error: 500,
  internal_server_error: 500,
  service_unavailable: 503,
};
