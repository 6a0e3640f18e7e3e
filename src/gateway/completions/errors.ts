import type { JsonObject, JsonValue } from '../../json.ts';
import type { Breach } from '../fields/violation.ts';
import { Problem } from '../problem.ts';
import type { Path } from '../types.ts';

/** `error.type` and `error.code` of an HTTP status; other statuses below 500 are requests that are not valid. */
const kinds: Readonly<Record<number, readonly [type: string, code: string | null]>> = {
  401: ['invalid_request_error', 'invalid_api_key'],
  402: ['insufficient_quota', 'insufficient_quota'],
  429: ['requests', 'rate_limit_exceeded'],
};

/** The error body of the completions format; a stream that breaks off ends with it. */
export function completionsError({ code: status, message, extra }: Problem): JsonObject {
  const [usualType, usualCode] = kinds[status] ?? [status < 500 ? 'invalid_request_error' : 'server_error', null];
  const { type = usualType, errorCode = usualCode, param = null } = extra;
  return { error: { message, type, param, code: errorCode } };
}

/** A 400 reply that names a parameter. */
export function badParameter(param: string, code: string | null, message: string): Problem {
  return new Problem(400, message, { param, errorCode: code });
}

/** The 404 reply to a model that is not there. */
export function unknownModel(model: string, more = ''): Problem {
  const message = `The model \`${model}\` does not exist or you do not have access to it.${more}`;
  return new Problem(404, message, { errorCode: 'model_not_found' });
}

/** The 400 reply that names the field, worded as OpenAI does. */
export function completionsViolation(path: Path, breach: Breach): Problem {
  const at = nameOf(path);
  switch (breach.kind) {
    case 'unknown': {
      const name = nameOf([...path, breach.name]);
      return badParameter(name, 'unknown_parameter', `Unknown parameter: '${name}'.`);
    }
    case 'missing':
      if (at === 'model') return new Problem(400, 'you must provide a model parameter');
      return badParameter(at, 'missing_required_parameter', `Missing required parameter: '${at}'.`);
    case 'type': {
      const found = `expected ${wanted[breach.expected] ?? breach.expected}, but got ${typeName(breach.value)} instead.`;
      return badParameter(at, 'invalid_type', `Invalid type for '${at}': ${found}`);
    }
    case 'choice':
      return badParameter(at, 'invalid_value', `Invalid value: '${breach.value}'. ${supported(breach.allowed)}`);
    case 'range': {
      const { side, limit, value, isWhole } = breach;
      const kind = isWhole ? 'integer' : 'decimal';
      const [bound, sign] = side === 'below' ? ['minimum', '>='] : ['maximum', '<='];
      const rule = `${kind} ${side} ${bound} value. Expected a value ${sign} ${limit}, but got ${value} instead.`;
      return badParameter(at, `${kind}_${side}_${bound.slice(0, 3)}_value`, `Invalid '${at}': ${rule}`);
    }
    case 'length':
      return badParameter(at, ...lengthWords(at, breach));
    case 'value':
      return badParameter(at, 'invalid_value', `Invalid '${at}': ${breach.text}`);
  }
}

/** `Supported values are: 'a', 'b', and 'c'.` */
export function supported(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  const list = quoted.length < 3 ? quoted.join(' and ') : `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`;
  return `Supported values are: ${list}.`;
}

function lengthWords(at: string, { side, limit, length }: Extract<Breach, { kind: 'length' }>): [string, string] {
  if (side === 'below') {
    const rule = `empty array. Expected an array with minimum length ${limit}, but got an empty array instead.`;
    return ['empty_array', `Invalid '${at}': ${rule}`];
  }
  const rule = `array too long. Expected an array with maximum length ${limit}, but got an array with length ${length} instead.`;
  return ['array_above_max_length', `Invalid '${at}': ${rule}`];
}

const wanted: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'a boolean',
  object: 'an object',
  number: 'a decimal',
  integer: 'an integer',
  list: 'an array of objects',
};

function typeName(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** `messages[0].content`. */
function nameOf(path: Path): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
  return steps.join('').replace(/^\./, '');
}
