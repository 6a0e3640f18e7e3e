import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import type { ToolOutcome } from './tool-run.ts';

/** One line of a session: a message of the messages format with further facts. */
export interface SessionMessage {
  role: 'user' | 'assistant';
  content: string | JsonValue[];
  /** The system instruction sent with a user's message. */
  system?: string | undefined;
  /** The model that answered, and the service and the format in which it did. */
  model?: string | undefined;
  service?: string | undefined;
  /** When it was saved: ISO 8601, UTC. */
  at?: string | undefined;
}

/** Parses one line; undefined if it is not a message. */
export function parseMessage(line: string): SessionMessage | undefined {
  const value = parse(line);
  if (!isObject(value)) return undefined;
  const { role, content, system, model, service, at } = value;
  if (role !== 'user' && role !== 'assistant') return undefined;
  if (typeof content !== 'string' && !(Array.isArray(content) && content.every(isObject))) return undefined;
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

/** The text of a message: its text blocks, separated by blank lines. */
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

/** The number of messages in complete turns: the last of them is an answer without tool calls. */
export function wholeTurns(messages: readonly SessionMessage[]): number {
  return messages.findLastIndex((message) => message.role === 'assistant' && callIds(message).length === 0) + 1;
}

/** The number of messages up to the last answer: later ones are an incomplete turn. */
export function answeredMessages(messages: readonly SessionMessage[]): number {
  return messages.findLastIndex((message) => message.role === 'assistant') + 1;
}

/** The index of the last turn: the last user message that has more than tool results. */
export function lastTurnStart(messages: readonly SessionMessage[]): number {
  const start = messages.findLastIndex(
    (message) => message.role === 'user' && blocksOf(message).some((block) => block['type'] !== 'tool_result'),
  );
  return start < 0 ? messages.length : start;
}

/** The system instruction at the end of a conversation. */
export function lastSystem(messages: readonly SessionMessage[]): string | undefined {
  return messages.findLast((message) => message.role === 'user')?.system;
}

/** A tool result as a content block. Empty content is omitted, as some gateways refuse it. */
export function toolResult(id: string, { content, isError }: ToolOutcome): JsonObject {
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(content !== '' && { content }),
    ...(isError && { is_error: true }),
  };
}

/** Results for the calls of an answer, which say that the calls were not run: services require one for each. */
export function openCallResults(before: SessionMessage | undefined): JsonObject[] {
  const open = before?.role === 'assistant' ? callIds(before) : [];
  return open.map((id) => toolResult(id, { content: 'the call was not run', isError: true }));
}
