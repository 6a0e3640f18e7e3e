import { isObject, type JsonObject, type JsonValue, maxOf } from '../../library/index.ts';

/** One line of a session: a message of the messages format with additional facts. */
export interface SessionMessage {
  role: 'user' | 'assistant';
  content: string | JsonValue[];
  /** The system instruction sent with a user's message. */
  system?: string | undefined;
  /** The model that a user's message asked, or that answered. */
  model?: string | undefined;
  /** The service that answered, and the format in which it did. */
  service?: string | undefined;
  /** When it was saved: ISO 8601, UTC. */
  at?: string | undefined;
}

/** Parses one line; undefined if it is not a message. */
export function parseMessage(line: string): SessionMessage | undefined {
  const value = parseSessionLine(line);
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

function parseSessionLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** The content blocks of a message; a string is one text block. */
export function getMessageBlocks({ content }: Pick<SessionMessage, 'content'>): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.filter(isObject);
}

/** The text of a message: its text blocks, separated by blank lines. */
export function getMessageText(message: Pick<SessionMessage, 'content'>): string {
  return getMessageBlocks(message)
    .flatMap((block) => (block['type'] === 'text' && typeof block['text'] === 'string' ? block['text'] : []))
    .join('\n\n');
}

/** Ids of the tool calls in a message. */
function callIds(message: Pick<SessionMessage, 'content'> | undefined): string[] {
  if (!message) return [];
  return getMessageBlocks(message).flatMap((block) =>
    block['type'] === 'tool_use' && typeof block['id'] === 'string' ? block['id'] : [],
  );
}

/** Whether a turn is complete with a message: an answer without tool calls. */
export function endsTurn(message: SessionMessage): boolean {
  return message.role === 'assistant' && callIds(message).length === 0;
}

/** The index of the last turn: the last user message that has more than tool results. */
export function lastTurnStart(messages: readonly SessionMessage[]): number {
  const start = messages.findLastIndex(
    (message) => message.role === 'user' && getMessageBlocks(message).some((block) => block['type'] !== 'tool_result'),
  );
  return start < 0 ? messages.length : start;
}

/** The system instruction at the end of a conversation. */
export function lastSystem(messages: readonly SessionMessage[]): string | undefined {
  return messages.findLast((message) => message.role === 'user')?.system;
}

/** The model that was asked last, and of which service. */
export function lastModel(messages: readonly SessionMessage[]): Pick<SessionMessage, 'model' | 'service'> {
  const asked = messages.findLast(({ role, model }) => role === 'user' && model !== undefined);
  const answer = messages.findLast(({ service }) => service !== undefined);
  return { model: asked?.model, service: answer?.service };
}

/** The result of a tool call for the model. */
export interface ToolResult {
  content: string;
  isError: boolean;
}

/** A tool result as a content block. Empty content is omitted, as some gateways refuse it. */
export function toolResultBlock(id: string, { content, isError }: ToolResult): JsonObject {
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
  return open.map((id) => toolResultBlock(id, { content: 'the call was not run', isError: true }));
}

/** A conversation as Markdown: a heading for each message, texts unchanged, calls and results as code, files by name and size. */
export function exportMarkdown(title: string, messages: readonly SessionMessage[]): string {
  const parts = messages.map((message, index) => {
    const { system } = message;
    const isNew = system !== undefined && system !== lastSystem(messages.slice(0, index));
    return [
      ...(isNew ? [`> System: ${system.trim().replaceAll(/\s+/g, ' ')}`] : []),
      `## ${describeAuthor(message)}`,
      ...getMessageBlocks(message).map(blockToMarkdown),
    ];
  });
  return `${[`# ${title}`, ...parts.flat()].filter((part) => part !== '').join('\n\n')}\n`;
}

function describeAuthor(message: SessionMessage): string {
  const { role, model } = message;
  if (role === 'assistant') return model === undefined ? 'Answer' : `Answer (${model})`;
  return getMessageBlocks(message).every((block) => block['type'] === 'tool_result') ? 'Tools' : 'You';
}

function blockToMarkdown(block: JsonObject): string {
  const { type } = block;
  if (type === 'text') return toTextOrEmpty(block['text']).trim();
  if (type === 'thinking' || type === 'redacted_thinking') return '';
  if (type === 'tool_use')
    return `Call of \`${toTextOrEmpty(block['name'])}\`:\n\n${fence(JSON.stringify(block['input'], null, 2), 'json')}`;
  if (type === 'tool_result')
    return `${block['is_error'] === true ? 'Error' : 'Result'}:\n\n${fence(resultText(block['content']), '')}`;
  if (type === 'image' || type === 'document') return `*${describeFile(block)}*`;
  return `*${toTextOrEmpty(type)}*`;
}

/** `image image/png, 1200 bytes`, `document notes.txt, 12 bytes` */
export function describeFile(block: JsonObject): string {
  const source = isObject(block['source']) ? block['source'] : {};
  const data = toTextOrEmpty(source['data']);
  const bytes = source['type'] === 'base64' ? Buffer.byteLength(data, 'base64') : Buffer.byteLength(data);
  const name = toTextOrEmpty(block['title']) || toTextOrEmpty(source['media_type']) || toTextOrEmpty(source['url']);
  return `${toTextOrEmpty(block['type'])} ${name}${bytes > 0 ? `, ${bytes} bytes` : ''}`;
}

function resultText(content: JsonValue | undefined): string {
  return getMessageBlocks({ content: Array.isArray(content) ? content : toTextOrEmpty(content) })
    .map((block) => (block['type'] === 'text' ? toTextOrEmpty(block['text']) : toTextOrEmpty(block['type'])))
    .join('\n');
}

/** A code block whose fence is longer than any inside. */
function fence(text: string, language: string): string {
  const longest = maxOf([2, ...[...text.matchAll(/`+/g)].map((match) => match[0].length)]);
  const mark = '`'.repeat(longest + 1);
  return `${mark}${language}\n${text.trimEnd()}\n${mark}`;
}

function toTextOrEmpty(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
