import type { ErrorObject, ValidateFunction } from 'ajv';
import { GatewayError, messageOf, usageError } from '../../errors.ts';
import { isObject, type JsonValue, parseFlat } from '../../json.ts';
import { jsonFaultWords } from '../../json-position.ts';

/** Checks an answer against a JSON Schema; returns its JSON. */
export type SchemaCheck = (answer: string) => JsonValue;

/** Number of faults to report: often the first causes the rest. */
const maxFaults = 5;

/** Compiles a JSON Schema of the user. Throws GatewayError usage if it is not valid. ajv is loaded only here. */
export async function compileSchema(schema: JsonValue): Promise<SchemaCheck> {
  if (!isObject(schema)) throw usageError('--schema: a JSON Schema is an object', 'it begins with { and ends with }');
  // A bundled CommonJS package has only the default export.
  const { default: ajv } = await import('ajv/dist/2020.js');
  const checker = new ajv.Ajv2020({ strict: false, allErrors: true, validateFormats: false, logger: false });
  try {
    // ajv fails on unknown dialects; only the keywords matter.
    const { $schema: _, ...keywords } = schema;
    const check = checker.compile(keywords);
    // Throws a RangeError for a schema that refers to itself without end: any value does, and no answer is paid for yet.
    check({});
    return (answer) => checkAnswer(check, answer);
  } catch (error) {
    const reason = compileFault(error, checker.errors?.[0]);
    throw usageError(`--schema: ${reason}`, 'check it against https://json-schema.org', error);
  }
}

function checkAnswer(check: ValidateFunction, answer: string): JsonValue {
  const value = parseAnswer(answer);
  if (check(value)) return value;
  const errors = check.errors ?? [];
  const faults = errors.slice(0, maxFaults).map(describeFault);
  if (errors.length > maxFaults) faults.push(`and ${errors.length - maxFaults} more`);
  throw new GatewayError('incomplete', `the answer does not fit the schema: ${faults.join('; ')}`, {
    hint: 'say the shape in the prompt too, or try another --model',
    sent: 'yes',
    retryable: true,
  });
}

/** Why ajv cannot compile a schema. */
function compileFault(error: unknown, fault: ErrorObject | undefined): string {
  const [, reference] = /^can't resolve reference (\S+)/.exec(messageOf(error)) ?? [];
  if (reference !== undefined) return `the reference "${reference}" leads to nothing in the schema`;
  const [, pattern] = /^Invalid regular expression: (\/[\s\S]*\/u?):/.exec(messageOf(error)) ?? [];
  if (pattern !== undefined) return `the pattern ${pattern} is not a valid regular expression`;
  if (error instanceof RangeError) return 'it refers to itself without end, or is too deep';
  return fault === undefined ? 'it is not a valid JSON Schema' : `it is not valid: ${describeFault(fault)}`;
}

type Params = Readonly<Record<string, unknown>>;

/** What a value must be, by the keyword of the schema. */
const rules: Readonly<Record<string, (params: Params) => string>> = {
  additionalProperties: ({ additionalProperty }) => `must not have the property ${JSON.stringify(additionalProperty)}`,
  const: ({ allowedValue }) => `must be ${JSON.stringify(allowedValue)}`,
  enum: ({ allowedValues }) =>
    `must be one of: ${(allowedValues as unknown[]).map((one) => JSON.stringify(one)).join(', ')}`,
  exclusiveMaximum: ({ limit }) => `must be less than ${String(limit)}`,
  exclusiveMinimum: ({ limit }) => `must be more than ${String(limit)}`,
  maxItems: ({ limit }) => `must have ${String(limit)} items or fewer`,
  maxLength: ({ limit }) => `must have ${String(limit)} characters or fewer`,
  maximum: ({ limit }) => `must be ${String(limit)} or less`,
  minItems: ({ limit }) => `must have ${String(limit)} items or more`,
  minLength: ({ limit }) => `must have ${String(limit)} characters or more`,
  minimum: ({ limit }) => `must be ${String(limit)} or more`,
  multipleOf: ({ multipleOf }) => `must be a multiple of ${String(multipleOf)}`,
  pattern: ({ pattern }) => `must match the pattern ${String(pattern)}`,
  required: ({ missingProperty }) => `must have the property ${JSON.stringify(missingProperty)}`,
  type: ({ type }) => `must be ${[type].flat().join(' or ')}`,
  uniqueItems: () => 'must not have the same item twice',
};

/** `/born must be integer` */
function describeFault({ instancePath, keyword, params }: ErrorObject): string {
  const rule = rules[keyword];
  return `${instancePath || 'the document'} ${rule?.(params as Params) ?? `does not fit the keyword "${keyword}"`}`;
}

function parseAnswer(answer: string): JsonValue {
  try {
    return parseFlat(withoutFence(answer)) as JsonValue;
  } catch (error) {
    throw new GatewayError('incomplete', `the answer is not JSON: ${jsonFaultWords(answer)}`, {
      sent: 'yes',
      retryable: true,
      cause: error,
    });
  }
}

/** Many models put JSON into a code block. */
function withoutFence(answer: string): string {
  return /^\s*(`{3,})[a-z]*[ \t]*\r?\n([\s\S]*)\r?\n\1\s*$/i.exec(answer)?.[2] ?? answer;
}
