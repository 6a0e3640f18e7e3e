import type { BodyValue } from '../../body.ts';
import { isObject } from '../../json.ts';
import type { AnyApiRequest } from '../format.ts';

/**
 * Groq's models without thinking refuse the thinking of earlier turns: `messages.2.reasoning: reasoning is not supported with
 * this model`.
 */
export function refusesThinkingField({ format }: AnyApiRequest, message: string): boolean {
  if (format !== 'completions' || !/\bmessages[.[]\d/.test(message)) return false;
  return /\breasoning(?:_\w{1,10})?\b[^.]{0,80}\b(?:un|not )supported\b/i.test(message);
}

/** The request without the fields of thinking in its earlier turns. */
export function withoutThinkingFields<Request extends AnyApiRequest>(request: Request): Request {
  const { format, body } = request;
  const messages = body?.['messages'];
  if (format !== 'completions' || !Array.isArray(messages) || !messages.some(hasThinking)) return request;
  const plain = messages.map((message) => {
    if (!isObject(message)) return message;
    const { reasoning: _, reasoning_content: __, reasoning_details: ___, ...rest } = message;
    return rest;
  });
  return { ...request, body: { ...body, messages: plain } };
}

function hasThinking(message: BodyValue): boolean {
  return isObject(message) && ['reasoning', 'reasoning_content', 'reasoning_details'].some((name) => name in message);
}
