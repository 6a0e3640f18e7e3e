import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import type { ToolOutcome } from './tool-run.ts';

/** One line of a session: a message of the messages format, and what is remembered beside it. */
export interface SessionMessage {
  role: 'user' | 'assistant';
  content: string | JsonValue[];
  /** The system instruction that a user's message was sent with. */
  system?: string | undefined;
  /** The model that answered, and the service and the format in which it did. */
  model?: string | undefined;
  service?: string | undefined;
  /** When it was kept: ISO 8601, UTC. */
  at?: string | undefined;
}

/** Reads one line; undefined when it holds no message. */
export function parseMessage(line: string): SessionMessage | undefined {
  const value = parse(line);
  if (!isObject(value)) return undefined;
  const { role, content, system, model, service, at } = value;
  if (role !== 'user' && role !== 'assistant') return undefined;
  if (typeof content !== 'string' && !Array.isArray(content)) return undefined;
  return {
    role,
    content,
    ...(typeof system === 'string' && { system }),
    ...(typeof model === 'string' && { model }),
    ...(typeof service === 'string' && { service }),
    ...(typeof at === 'string' && { at }),
  };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** The content blocks of a message; a string is one text block. */
export function blocksOf({ content }: Pick<SessionMessage, 'content'>): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.filter(isObject);
}

/** The text of a message: its text blocks, one under the other. */
export function textOf(message: Pick<SessionMessage, 'content'>): string {
  return blocksOf(message)
    .flatMap((block) => (block['type'] === 'text' && typeof block['text'] === 'string' ? block['text'] : []))
    .join('\n\n');
}

/** Ids of the tool calls in a message. */
function callIds(message: Pick<SessionMessage, 'content'> | undefined): string[] {
  if (!message) return [];
  return blocksOf(message).flatMap((block) =>
    block['type'] === 'tool_use' && typeof block['id'] === 'string' ? block['id'] : [],
  );
}

/** How many of the messages are whole turns: the last of them is an answer that waits for no tool. */
export function wholeTurns(messages: readonly SessionMessage[]): number {
  return messages.findLastIndex((message) => message.role === 'assistant' && callIds(message).length === 0) + 1;
}

/** How many of the messages are answered: what stands behind the last answer is half a turn. */
export function answeredMessages(messages: readonly SessionMessage[]): number {
  return messages.findLastIndex((message) => message.role === 'assistant') + 1;
}

/** Where the last turn begins: at the last user message that is more than results of tools. */
export function lastTurnStart(messages: readonly SessionMessage[]): number {
  const start = messages.findLastIndex(
    (message) => message.role === 'user' && blocksOf(message).some((block) => block['type'] !== 'tool_result'),
  );
  return start < 0 ? messages.length : start;
}

/** The system instruction in force at the end of a conversation. */
export function lastSystem(messages: readonly SessionMessage[]): string | undefined {
  return messages.findLast((message) => message.role === 'user')?.system;
}

/** A tool's answer as the wire wants it. Empty content is left out: some gateways refuse it. */
export function toolResult(id: string, { content, isError }: ToolOutcome): JsonObject {
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(content !== '' && { content }),
    ...(isError && { is_error: true }),
  };
}

/**
 * Results for the calls of an answer that were not run: a service demands one for each, so the model is told so. Empty where
 * there are none.
 */
export function openCallResults(before: SessionMessage | undefined): JsonObject[] {
  const open = before?.role === 'assistant' ? callIds(before) : [];
  return open.map((id) => toolResult(id, { content: 'the call was not run', isError: true }));
}
