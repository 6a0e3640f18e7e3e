import { getMessageBlocks, describeFile, type SessionMessage } from '../../chat/message.ts';
import type { JsonObject } from '../../../library/index.ts';
import { escapeForTerminal } from '../../terminal/escape.ts';
import { isReadByCi } from '../../terminal/ci-guard.ts';
import { bold, wantsColor } from '../../terminal/style.ts';
import type { Context } from '../../context.ts';

/** A conversation to read: who said it, the text, and files by name and size. On a terminal, the Markdown of answers is formatted. */
export async function formatConversation(
  messages: readonly SessionMessage[],
  { io: { stdout, env }, root }: Pick<Context, 'io' | 'root'>,
): Promise<string> {
  const isFormatted = stdout.isTTY && env['TERM'] !== 'dumb' && !isReadByCi(env, stdout);
  const colored = isFormatted && wantsColor({ env, isTTY: true, color: root.color });
  const render = isFormatted ? (await import('../../terminal/markdown.ts')).renderMarkdown : undefined;
  const place = { width: stdout.columns, colored, breaks: true };
  const escape = stdout.isTTY ? escapeForTerminal : (text: string): string => text;
  const shown = messages.map((message) => {
    const author = bold(`${escape(message.role === 'user' ? 'you' : (message.model ?? 'model'))}:`, colored);
    const text = getMessageBlocks(message).map(formatBlock).join('\n');
    return `${author}\n${render && message.role === 'assistant' ? render(text, place) : `${escape(text)}\n`}`;
  });
  return shown.join('\n');
}

function formatBlock(block: JsonObject): string {
  const { type } = block;
  if (type === 'text') return String(block['text']).trimEnd();
  if (type === 'tool_use') return `[calls ${String(block['name'])} ${JSON.stringify(block['input'])}]`;
  if (type === 'tool_result') return `[result ${JSON.stringify(block['content'] ?? '')}]`;
  return type === 'image' || type === 'document' ? `[${describeFile(block)}]` : `[${String(type)}]`;
}
