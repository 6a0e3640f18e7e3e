import type { BodyValue } from '../../body.ts';
import { isObject } from '../../json.ts';
import type { AnyApiRequest } from '../format.ts';

const thinkingFields = ['reasoning', 'reasoning_content', 'reasoning_details'];

/** The request without the fields of thinking in its earlier turns. */
export function withoutThinkingFields<Request extends AnyApiRequest>(request: Request): Request {
  const { format, body } = request;
  const messages = body?.['messages'];
  if (format !== 'completions' || !Array.isArray(messages) || !messages.some(hasThinking)) return request;
  const plain = messages.map((message) => {
    if (!isObject(message)) return message;
    return Object.fromEntries(Object.entries(message).filter(([name]) => !thinkingFields.includes(name)));
  });
  return { ...request, body: { ...body, messages: plain } };
}

function hasThinking(message: BodyValue): boolean {
  return isObject(message) && thinkingFields.some((name) => name in message);
}
