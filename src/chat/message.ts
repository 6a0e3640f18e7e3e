import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import type { BodyValue } from '../upload.ts';
import type { ToolOutcome } from './tool-run.ts';

/** One line of a session: a message of the messages format, and what is remembered beside it. */
export interface SessionMessage {
  role: 'user' | 'assistant';
  content: string | JsonValue[];
  /** The system instruction that a user's message was sent with. */
  system?: string | undefined;
  /** The model that answered. */
  model?: string | undefined;
  /** When it was kept: ISO 8601, UTC. */
  at?: string | undefined;
}

/** Reads one line; undefined when it holds no message. */
export function parseMessage(line: string): SessionMessage | undefined {
  const value = parse(line);
  if (!isObject(value)) return undefined;
  const { role, content, system, model, at } = value;
  if (role !== 'user' && role !== 'assistant') return undefined;
  if (typeof content !== 'string' && !Array.isArray(content)) return undefined;
  return {
    role,
    content,
    ...(typeof system === 'string' && { system }),
    ...(typeof model === 'string' && { model }),
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

/** The message as a request takes it: without what is only remembered. */
export function wireMessage({ role, content }: SessionMessage): JsonObject {
  return { role, content };
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
 * The turn of the user after an answer whose calls nobody answered: the wire demands a result for each, so the model is
 * told that they were not run. Changes nothing where there are none.
 */
export function withOpenCalls(content: BodyValue, before: SessionMessage | undefined): BodyValue {
  const open = before?.role === 'assistant' ? callIds(before) : [];
  const missing = open.filter((id) => !answeredIn(content).includes(id));
  if (missing.length === 0) return content;
  const results = missing.map((id) => toolResult(id, { content: 'the call was not run', isError: true }));
  return [...results, ...(Array.isArray(content) ? content : [{ type: 'text', text: content }])];
}

function answeredIn(content: BodyValue): unknown[] {
  if (!Array.isArray(content)) return [];
  return content.map((block) => (block as { tool_use_id?: JsonValue } | null)?.tool_use_id);
}
