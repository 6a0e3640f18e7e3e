import type { ErrorObject, ValidateFunction } from 'ajv';
import { GatewayError, messageOf, usageError } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { jsonFaultWords } from '../../settings/json-position.ts';

/** A checked JSON Schema, ready to hold answers against. */
export type SchemaCheck = ValidateFunction;

/** Faults that are told; one of them is often the cause of the rest. */
const mostFaults = 5;

/** Compiles a schema of the user. Throws GatewayError usage when it is none. ajv is loaded only here. */
export async function compileSchema(schema: JsonValue): Promise<SchemaCheck> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw usageError('--schema: a JSON Schema is an object', 'it begins with { and ends with }');
  }
  // By its default: of a CommonJS package nothing else is there once it is bundled.
  const { default: ajv } = await import('ajv/dist/2020.js');
  try {
    return new ajv.Ajv2020({ strict: false, allErrors: true, validateFormats: false, logger: false }).compile(
      withoutDialect(schema),
    );
  } catch (error) {
    throw usageError(`--schema: ${messageOf(error)}`, 'check it against https://json-schema.org', error);
  }
}

/** Holds an answer against the schema. Throws GatewayError incomplete with what does not fit (exit 11). */
export function checkSchema(check: SchemaCheck, answer: string): void {
  const value = parseAnswer(answer);
  if (check(value)) return;
  const errors = check.errors ?? [];
  const faults = errors.slice(0, mostFaults).map(describeFault);
  if (errors.length > mostFaults) faults.push(`and ${errors.length - mostFaults} more`);
  throw new GatewayError('incomplete', `the answer does not fit the schema: ${faults.join('; ')}`, {
    hint: 'say the shape in the prompt too, or try another --model',
    sent: 'yes',
    retryable: true,
  });
}

/** `/born must be integer`; what is unwanted or allowed is named too. */
function describeFault({ instancePath, message = 'does not fit', params }: ErrorObject): string {
  const { additionalProperty, allowedValues } = params as { additionalProperty?: string; allowedValues?: unknown[] };
  const more = additionalProperty ?? (allowedValues && allowedValues.map((value) => JSON.stringify(value)).join(', '));
  return `${instancePath || '/'} ${message}${more === undefined ? '' : `: ${more}`}`;
}

function parseAnswer(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch (error) {
    throw new GatewayError('incomplete', `the answer is no JSON: ${jsonFaultWords(answer)}`, {
      sent: 'yes',
      retryable: true,
      cause: error,
    });
  }
}

/** ajv knows the dialects by name and fails on others; the keywords are what counts. */
function withoutDialect(schema: object): object {
  const { $schema: _, ...rest } = schema as Record<string, unknown>;
  return rest;
}
