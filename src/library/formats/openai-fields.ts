import type { Body, BodyValue } from '../body.ts';
import { usageError } from '../errors.ts';
import { isObject, type JsonObject } from '../json.ts';
import type { PlainRequest } from './plain-request.ts';
import { toSchemaFields } from './strict-schema.ts';
import type { FormatName } from './types.ts';

/* Fields that both formats of OpenAI have, in the same words but for their form. */

/** Whether a message has instructions, which some call those of a developer. */
export function isSystemMessage(message: unknown): message is JsonObject {
  return isObject(message) && (message['role'] === 'system' || message['role'] === 'developer');
}

/** The choice of a tool; `toCall` names one tool in the words of the format. */
export function encodeToolChoice(
  choice: PlainRequest['toolChoice'],
  toCall: (name: string) => Body,
): BodyValue | undefined {
  if (typeof choice !== 'string') return choice;
  if (choice.startsWith('tool:')) return toCall(choice.slice('tool:'.length));
  return choice === 'any' ? 'required' : choice;
}

/**
 * A body to which further turns are added. A choice that forces a call is left out: it would force one after each result, for ever.
 */
export function withoutForcedCall({ tool_choice: choice, ...rest }: Body): Body {
  return choice === 'auto' || choice === 'none' ? { ...rest, tool_choice: choice } : rest;
}

/** The type of the answer; `toForm` puts a schema in the form of the format. Throws GatewayError usage for a type that OpenAI lacks. */
export function encodeAnswerType(
  { schema, responseMime }: Pick<PlainRequest, 'schema' | 'responseMime'>,
  format: FormatName,
  toForm: (schema: Body) => Body,
): Body | undefined {
  if (schema !== undefined) return { type: 'json_schema', ...toForm({ name: 'reply', ...toSchemaFields(schema) }) };
  if (responseMime === undefined) return undefined;
  if (responseMime === 'application/json') return { type: 'json_object' };
  if (responseMime === 'text/plain') return { type: 'text' };
  throw usageError(
    `the ${format} format has no answer of type '${responseMime}'`,
    'it has application/json and text/plain',
  );
}
