import type { BodyValue } from '../../body.ts';
import { isObject } from '../../json.ts';
import type { AnyApiRequest } from '../format.ts';

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
