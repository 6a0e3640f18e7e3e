import ajv, { type ErrorObject } from 'ajv/dist/2020.js';
import { getErrorMessage, isObject, type JsonValue } from '../../library/index.ts';

/** The faults of a value in words: none if it fits. */
export type FindFaults = (value: JsonValue) => string[];

/** A schema that cannot be used; the message says why. */
export class SchemaFault extends Error {}

/** Number of faults to report: often the first causes the rest. */
const maxFaults = 5;

/** Compiles a JSON Schema. Throws SchemaFault if it is not valid. */
export function compileRules(schema: JsonValue): FindFaults {
  if (!isObject(schema)) throw new SchemaFault('a JSON Schema is an object');
  // A bundled CommonJS package has only the default export.
  const checker = new ajv.Ajv2020({ strict: false, allErrors: true, validateFormats: false, logger: false });
  try {
    // ajv fails on unknown dialects; only the keywords matter.
    const { $schema: _, ...keywords } = schema;
    const check = checker.compile(keywords);
    // Throws a RangeError for a schema that refers to itself without end: any value does, and no answer is paid for yet.
    check({});
    return (value) => (check(value) ? [] : describeFaults(check.errors ?? []));
  } catch (error) {
    throw new SchemaFault(compileFault(error, checker.errors?.[0]), { cause: error });
  }
}

function describeFaults(errors: readonly ErrorObject[]): string[] {
  const faults = errors.slice(0, maxFaults).map(describeFault);
  return errors.length > maxFaults ? [...faults, `and ${errors.length - maxFaults} more`] : faults;
}

/** The reason that ajv cannot compile a schema. */
function compileFault(error: unknown, fault: ErrorObject | undefined): string {
  const [, reference] = /^can't resolve reference (\S+)/.exec(getErrorMessage(error)) ?? [];
  if (reference !== undefined) return `the reference "${reference}" leads to nothing in the schema`;
  const [, pattern] = /^Invalid regular expression: (\/[\s\S]*\/u?):/.exec(getErrorMessage(error)) ?? [];
  if (pattern !== undefined) return `the pattern ${pattern} is not a valid regular expression`;
  if (error instanceof RangeError) return 'it refers to itself without end, or is too deep';
  return fault === undefined ? 'it is not a valid JSON Schema' : `it is not valid: ${describeFault(fault)}`;
}

type Params = Readonly<Record<string, unknown>>;

/** The rule that a value breaks, in words, by the keyword of the schema. */
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
