import { usageError } from '../../errors.ts';
import type { Body, BodyValue } from '../../upload.ts';
import { objectAt, setFields } from '../fields.ts';
import type { MessageInline, MessagesInput } from './types.ts';

/**
 * The body of a messages-format request (formats 3): `input.body` first, the other fields over it. Nothing is sent that is
 * not set. Throws usage when the body's `messages` is no array.
 */
export function encodeMessagesRequest(input: MessagesInput): Body {
  const body = input.body ?? {};
  return setFields(body, {
    model: input.model,
    max_tokens: input.maxTokens,
    system: input.system,
    messages: messagesOf(input, body),
    stream: input.stream,
    temperature: input.temperature,
    top_p: input.topP,
    top_k: input.topK,
    stop_sequences: input.stop?.length ? [...input.stop] : undefined,
    tools: input.tools && [...input.tools],
    tool_choice: input.toolChoice,
    metadata: input.metadata,
    output_config: outputConfigOf(input, body),
  });
}

function messagesOf(input: MessagesInput, body: Body): BodyValue | undefined {
  const earlier: BodyValue = input.messages ? [...input.messages] : (body['messages'] ?? []);
  const content = contentOf(input);
  if (content === undefined) return input.messages && earlier;
  if (!Array.isArray(earlier))
    throw usageError("'messages' in the body is not an array, so the prompt cannot follow it");
  return [...earlier, { role: 'user', content }];
}

/** Images and documents stand before the text that speaks of them, as the format's documents advise. */
function contentOf({ prompt, inline = [] }: MessagesInput): BodyValue | undefined {
  if (inline.length === 0) return prompt;
  const text = prompt === undefined ? [] : [{ type: 'text', text: prompt }];
  return [...inline.map(inlineBlock), ...text];
}

function inlineBlock({ mimeType, data, title }: MessageInline): BodyValue {
  if (typeof data === 'string') {
    return setFields({ type: 'document', source: { type: 'text', media_type: 'text/plain', data } }, { title });
  }
  const source = { type: 'base64', media_type: mimeType, data };
  if (mimeType.toLowerCase().startsWith('image/')) return { type: 'image', source };
  return setFields({ type: 'document', source }, { title });
}

function outputConfigOf(input: MessagesInput, body: Body): Body | undefined {
  if (input.schema === undefined) return undefined;
  return setFields(objectAt(body, 'output_config'), { format: { type: 'json_schema', schema: input.schema } });
}
