import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import { describeFile, exportMarkdown } from '../../chat/markdown.ts';
import { blocksOf, type SessionMessage, wireMessage } from '../../chat/message.ts';
import { cutTurn, readSession } from '../../chat/session-file.ts';
import { checkSessionName, isSessionPath, listSessions, sessionsFolder } from '../../chat/session-path.ts';
import { usageError } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import { escapeForTerminal } from '../../terminal/escape.ts';
import type { Action, Context } from '../../cli/context.ts';
import { setExamples } from '../../cli/help/help.ts';
import { findSession } from './sessions.ts';

/** `sessions show <name|file>`: the conversation to read, pictures and files by name and size. */
export function sessionsShowCommand(command: Command): Action {
  command.argument('<name|file>', 'a session of the list, or its file').usage('<name|file> [flags]');
  setExamples(command, ['gateway-cli sessions show trip', 'gateway-cli sessions show trip --json | jq .messages']);
  return (context, [typed = '']) => runShow(typed, context);
}

/** `sessions export <name|file>`: Markdown; with `--json` the messages, as `--messages` takes them. */
export function sessionsExportCommand(command: Command): Action {
  command.argument('<name|file>', 'a session of the list, or its file').usage('<name|file> [flags]');
  setExamples(command, [
    'gateway-cli sessions export trip > trip.md',
    'gateway-cli sessions export trip --json > earlier.json && gateway-cli chat --messages earlier.json "go on"',
  ]);
  return (context, [typed = '']) => runExport(typed, context);
}

async function runShow(typed: string, context: Context): Promise<void> {
  const { name, path, messages } = await load(typed, context);
  if (context.root.json) {
    const shown = messages.map((message) => ({ ...message, content: blocksOf(message).map(shortened) }));
    context.report.own = { schema: 'gateway-cli/session@1', name, path, messages: shown };
    return;
  }
  await print(
    messages.map((message) => `${whoOf(message)}:\n${blocksOf(message).map(lineOf).join('\n')}\n`).join('\n'),
    context,
  );
}

async function runExport(typed: string, context: Context): Promise<void> {
  const { name, path, messages } = await load(typed, context);
  if (context.root.json)
    context.report.own = { schema: 'gateway-cli/session@1', name, path, messages: messages.map(wireMessage) };
  else await print(exportMarkdown(name, messages), context);
}

interface Loaded {
  name: string;
  path: string;
  messages: SessionMessage[];
}

async function load(typed: string, { io, ui }: Context): Promise<Loaded> {
  const path = isSessionPath(typed)
    ? await existing(resolve(io.cwd, typed), typed)
    : findSession(checkSessionName(typed), await listSessions(await sessionsFolder())).path;
  const { messages, end, size } = await readSession(path);
  if (end < size) await ui.warn(cutTurn(path));
  return { name: basename(path, '.jsonl'), path, messages };
}

async function existing(path: string, typed: string): Promise<string> {
  await stat(path).catch((error: unknown) => {
    throw usageError(`there is no session ${JSON.stringify(typed)}`, 'see: gateway-cli sessions list', error);
  });
  return path;
}

async function print(text: string, { io }: Context): Promise<void> {
  await io.stdout.write(io.stdout.isTTY ? escapeForTerminal(text) : text);
}

function whoOf({ role, model }: SessionMessage): string {
  if (role === 'user') return 'you';
  return model ?? 'model';
}

function lineOf(block: JsonObject): string {
  const { type } = block;
  if (type === 'text') return String(block['text']).trimEnd();
  if (type === 'tool_use') return `[calls ${String(block['name'])} ${JSON.stringify(block['input'])}]`;
  if (type === 'tool_result') return `[result ${JSON.stringify(block['content'] ?? '')}]`;
  return type === 'image' || type === 'document' ? `[${describeFile(block)}]` : `[${String(type)}]`;
}

/** A picture by its size: nobody reads Base64. */
function shortened(block: JsonObject): JsonObject {
  const { type } = block;
  if (type !== 'image' && type !== 'document') return block;
  return { type, file: describeFile(block) };
}
