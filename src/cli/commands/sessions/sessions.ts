import type { Command } from 'commander';
import {
  sessionAsideFile,
  readSession,
  refuseLocked,
  describeCutTurn,
  summarizeSession,
} from '../../chat/session-file.ts';
import {
  checkSessionName,
  historyFile,
  isSessionPath,
  listSessions,
  type SessionEntry,
  sessionsFolder,
} from '../../chat/session-path.ts';
import {
  getMessageBlocks,
  describeFile,
  exportMarkdown,
  type SessionMessage,
  getMessageText,
} from '../../chat/message.ts';
import { isoTime, type JsonObject, localTime, removeFile, shellWord, usageError } from '../../../library/index.ts';
import { asColumn, cutToColumns } from '../../terminal/break-lines.ts';
import { escapeLine, writeEscaped } from '../../terminal/escape.ts';
import type { Action, Context } from '../../context.ts';
import { openPictures } from '../../input/session-pictures.ts';
import { addFlags, setExamples } from '../../flags/flag.ts';
import { formatConversation } from './conversation.ts';
import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

/** `sessions list [word]`: name, last change, messages and first prompt of each, the newest first. */
export function sessionsListCommand(command: Command): Action {
  command.argument('[word]', 'only those with this word in their name or in a message').usage('[word] [flags]');
  setExamples(command, [
    'gateway-cli sessions list',
    'gateway-cli sessions list rome',
    'gateway-cli sessions list --json | jq -r .sessions[0].name',
  ]);
  return async ({ io, ui, root }, [word = '']) => {
    const entries = await listSessions();
    const found = [];
    // Sessions are read one after the other, since a line can be large.
    for (const entry of entries)
      if (await hasWord(entry, word.toLowerCase())) found.push({ entry, listed: await describeSession(entry) });
    if (root.json) {
      return { document: { schema: 'gateway-cli/sessions@1', sessions: found.map(({ listed }) => listed) } };
    }
    const names = asColumn(found.map(({ listed }) => listed.name));
    const times = asColumn(found.map(({ entry }) => localTime(entry.changed)));
    for (const [index, { listed }] of found.entries()) {
      const { messages, prompt, error } = listed;
      const row = `${names[index]}  ${times[index]}  ${String(messages).padStart(4)}  ${error ?? prompt}`;
      await io.stdout.write(`${escapeLine(row)}\n`);
    }
    if (found.length === 0) await ui.notice(describeNone(entries));
    return undefined;
  };
}

function describeNone({ length }: readonly SessionEntry[]): string {
  if (length === 0) return 'no conversation was kept yet: gateway-cli chat --session notes "hello"';
  return `none of ${length} ${length === 1 ? 'conversation' : 'conversations'} matches`;
}

/** Whether a session has a word in its name or in a message. */
async function hasWord({ name, path }: SessionEntry, word: string): Promise<boolean> {
  if (name.toLowerCase().includes(word)) return true;
  const { messages } = await readSession(path).catch(() => ({ messages: [] }));
  return messages.some((message) => getMessageText(message).toLowerCase().includes(word));
}

interface Listed {
  name: string;
  path: string;
  changed: string | undefined;
  messages: number;
  /** The start of the first prompt. */
  prompt: string;
  /** The reason that the rest is unknown. */
  error?: string;
}

const promptColumns = 60;

/** A file that is not a session is listed too, with the reason. */
async function describeSession({ name, path, changed }: SessionEntry): Promise<Listed> {
  const facts = { name, path, changed: isoTime(changed) };
  try {
    const { messages, prompt: first } = await summarizeSession(path);
    const prompt = cutToColumns(escapeLine(first ? getMessageText(first) : ''), promptColumns);
    return { ...facts, messages, prompt };
  } catch (error) {
    return { ...facts, messages: 0, prompt: '', error: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * `sessions rm <name…>`, or `--all` with the lines that were typed into conversations. Only names are accepted: a path could be any
 * file. All are checked before the first is removed.
 */
export function sessionsRemoveCommand(command: Command): Action {
  command.argument('[name...]', 'sessions of the list').usage('<name…> [flags]');
  setExamples(command, ['gateway-cli sessions rm trip', 'gateway-cli sessions rm --all']);
  addFlags(command, 'Flags', {
    all: { flags: '--all', text: 'remove all sessions, and the history of what was typed into conversations' },
  });
  return async ({ io, root }, names, flags) => {
    const { all = false } = flags as { all?: true };
    if (all && names.length > 0) throw usageError('--all removes every session, and one is named', 'keep one of them');
    if (!all && names.length === 0)
      throw usageError('no session is named', 'name one of gateway-cli sessions list, or remove all: --all');
    const entries = await listSessions();
    const path = names.find(isSessionPath);
    if (path !== undefined)
      throw usageError(
        `sessions rm takes names of the list, not a path: ${JSON.stringify(path)}`,
        `to remove a file of your own: rm ${shellWord(path)}`,
      );
    const chosen = all ? entries : names.map((name) => findSession(name, entries));
    for (const { path } of chosen) await refuseLocked(path);
    for (const { path } of chosen) for (const file of [sessionAsideFile(path), path]) await removeFile(file);
    if (all) await removeFile(join(await sessionsFolder(), historyFile));
    const removed = chosen.map(({ name }) => name);
    if (root.json) return { document: { schema: 'gateway-cli/sessions@1', removed } };
    return io.stdout.write(removed.map((name) => `${name}\n`).join(''));
  };
}

/** The session of a name. Throws GatewayError usage, with the existing names. */
function findSession(name: string, entries: readonly SessionEntry[]): SessionEntry {
  checkSessionName(name);
  const found = entries.find((entry) => entry.name === name);
  if (found) return found;
  const names = entries.slice(0, 5).map((entry) => entry.name);
  throw usageError(
    `there is no session ${JSON.stringify(name)}`,
    names.length === 0 ? 'begin one: gateway-cli chat --session notes "hello"' : `there are: ${names.join(', ')}`,
  );
}

/** `sessions show <name|file>`: the conversation, images and files by name and size. */
export function sessionsShowCommand(command: Command): Action {
  command.argument('<name|file>', 'a session of the list, or its file').usage('<name|file> [flags]');
  setExamples(command, ['gateway-cli sessions show trip', 'gateway-cli sessions show trip --json | jq .messages']);
  return async (context, [typed = '']) => {
    const { name, path, messages } = await loadSession(typed, context);
    if (context.root.json) {
      const shown = messages.map((message) => ({ ...message, content: getMessageBlocks(message).map(shortenBlock) }));
      return { document: { schema: 'gateway-cli/session@1', name, path, messages: shown } };
    }
    return context.io.stdout.write(await formatConversation(messages, context));
  };
}

/** `sessions export <name|file>`: Markdown; with `--json` the messages for `--messages`. */
export function sessionsExportCommand(command: Command): Action {
  command.argument('<name|file>', 'a session of the list, or its file').usage('<name|file> [flags]');
  setExamples(command, [
    'gateway-cli sessions export trip > trip.md',
    'gateway-cli sessions export trip --json > earlier.json && gateway-cli chat --messages earlier.json "go on"',
  ]);
  return async (context, [typed = '']) => {
    const { name, path, messages } = await loadSession(typed, context);
    if (!context.root.json) return writeEscaped(context.io.stdout, exportMarkdown(name, messages));
    // Pictures are exported by name: only the session itself can refer to their files.
    const named = await openPictures(messages, { service: undefined, warn: (text) => context.ui.warn(text) });
    const exported = named.map(({ role, content }) => ({ role, content }));
    return { document: { schema: 'gateway-cli/session@1', name, path, messages: exported } };
  };
}

async function loadSession(
  typed: string,
  { io, ui }: Context,
): Promise<{ name: string; path: string; messages: SessionMessage[] }> {
  const path = isSessionPath(typed) ? resolve(io.cwd, typed) : findSession(typed, await listSessions()).path;
  await stat(path).catch((error: unknown) => {
    throw usageError(`there is no session ${JSON.stringify(typed)}`, 'see: gateway-cli sessions list', error);
  });
  const { messages, end, size } = await readSession(path);
  if (end < size) await ui.warn(describeCutTurn(path));
  return { name: basename(path, '.jsonl'), path, messages };
}

/** Replaces the Base64 of an image or file by its size. */
function shortenBlock(block: JsonObject): JsonObject {
  const { type } = block;
  if (type !== 'image' && type !== 'document') return block;
  return { type, file: describeFile(block) };
}
