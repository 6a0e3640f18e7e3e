import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { flagAt, listAt, numberAt, objectAt, textAt, textsAt, valueAt } from '../fields/read.ts';
import { Violation } from '../fields/violation.ts';
import { Problem } from '../problem.ts';
import { badParameter, supported } from './errors.ts';

/** Whether a model of OpenAI reasons before it answers: these refuse parameters that the others take. */
function reasons(model: string): boolean {
  return /^(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*chat))/.test(model);
}

/** Checks a body; to an unknown parameter, the models that do not reason have an answer of their own. */
export function inWordsOfOpenAi(body: JsonObject, check: () => JsonObject): JsonObject {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof Violation) || error.breach.kind !== 'unknown' || error.path.length > 0) throw error;
    if (reasons(textAt(body, 'model') ?? '')) throw error;
    throw unrecognized(error.breach.name);
  }
}

function unrecognized(name: string): Problem {
  return new Problem(400, `Unrecognized request argument supplied: ${name}`);
}

/** Refuses what OpenAI refuses though the format allows it. Throws Problem 400. */
export function checkForOpenAi(body: JsonObject): void {
  if (reasons(textAt(body, 'model') ?? '')) checkReasoningModel(body);
  else if (body['reasoning_effort'] !== undefined) throw unrecognized('reasoning_effort');
  const format = objectAt(body, 'response_format');
  if (textAt(format, 'type') === 'json_object' && !/json/i.test(JSON.stringify(body['messages']))) {
    const rule = "must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
    throw badParameter('messages', null, `'messages' ${rule}`);
  }
  const wanted = objectAt(format, 'json_schema');
  if (textAt(format, 'type') === 'json_schema' && wanted === undefined) {
    throw new Violation(['response_format', 'json_schema'], { kind: 'missing' });
  }
  if (flagAt(wanted, 'strict')) {
    const name = `Invalid schema for response_format '${textAt(wanted, 'name')}'`;
    checkStrictSchema(valueAt(wanted, 'schema'), (fault) => badParameter('response_format', null, `${name}: ${fault}`));
  }
  for (const [index, tool] of listAt(body, 'tools').entries()) {
    const offer = objectAt(tool, 'function');
    if (!flagAt(offer, 'strict')) continue;
    const name = `Invalid schema for function '${textAt(offer, 'name')}'`;
    const param = `tools[${index}].function.parameters`;
    const refuse = (fault: string) => badParameter(param, 'invalid_function_parameters', `${name}: ${fault}`);
    checkStrictSchema(valueAt(offer, 'parameters'), refuse);
  }
}

const never = ['stop', 'max_tokens', 'logit_bias', 'prediction'];
const notWhileReasoning = ['frequency_penalty', 'presence_penalty', 'logprobs'];
const fixedWhileReasoning = ['temperature', 'top_p'];

function checkReasoningModel(body: JsonObject): void {
  const isThinking = textAt(body, 'reasoning_effort') !== 'none';
  const unsupported = [...never, ...(isThinking ? notWhileReasoning : [])].find((name) => body[name] !== undefined);
  if (unsupported !== undefined) {
    const instead = unsupported === 'max_tokens' ? " Use 'max_completion_tokens' instead." : '';
    const message = `Unsupported parameter: '${unsupported}' is not supported with this model.${instead}`;
    throw badParameter(unsupported, 'unsupported_parameter', message);
  }
  for (const name of isThinking ? fixedWhileReasoning : []) {
    const value = numberAt(body, name) ?? 1;
    const rule = `'${name}' does not support ${value} with this model. Only the default (1) value is supported.`;
    if (value !== 1) throw badParameter(name, 'unsupported_value', `Unsupported value: ${rule}`);
  }
}

/** A strict schema forbids other properties, and requires its own, at every level. */
function checkStrictSchema(
  schema: JsonValue | undefined,
  refuse: (fault: string) => Problem,
  context: readonly string[] = [],
): void {
  if (!isObject(schema)) return;
  const at = `In context=(${context.map((step) => `'${step}'`).join(', ')}${context.length === 1 ? ',' : ''})`;
  const properties = objectAt(schema, 'properties');
  if (schema['type'] === 'object' || properties) {
    if (schema['additionalProperties'] !== false)
      throw refuse(`${at}, 'additionalProperties' is required to be supplied and to be false.`);
    const missing = Object.keys(properties ?? {}).find((name) => !textsAt(schema, 'required').includes(name));
    const rule = 'is required to be supplied and to be an array including every key in properties.';
    if (missing !== undefined) throw refuse(`${at}, 'required' ${rule} Missing '${missing}'.`);
  }
  for (const [name, inner] of Object.entries(properties ?? {}))
    checkStrictSchema(inner, refuse, [...context, 'properties', name]);
  checkStrictSchema(valueAt(schema, 'items'), refuse, [...context, 'items']);
  for (const [index, inner] of listAt(schema, 'anyOf').entries())
    checkStrictSchema(inner, refuse, [...context, 'anyOf', String(index)]);
}

const imageSizes = ['1024x1024', '1024x1536', '1536x1024', 'auto'];

/** Refuses what OpenAI's image models refuse. Throws Problem 400. */
export function checkImagesForOpenAi(body: JsonValue): void {
  const model = textAt(body, 'model') ?? '';
  if (model.startsWith('dall-e-')) return;
  if (textAt(body, 'response_format') !== undefined) {
    throw badParameter('response_format', 'unknown_parameter', "Unknown parameter: 'response_format'.");
  }
  const size = textAt(body, 'size') ?? 'auto';
  // Later models take more.
  if (/^gpt-image-1(?!\d)/.test(model) && !imageSizes.includes(size)) {
    throw badParameter('size', 'invalid_value', `Invalid value: '${size}'. ${supported(imageSizes)}`);
  }
}
