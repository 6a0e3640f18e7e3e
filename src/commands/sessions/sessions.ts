import type { Command } from 'commander';
import { readSession } from '../../chat/session-file.ts';
import {
  checkSessionName,
  isSessionPath,
  listSessions,
  type SessionEntry,
  sessionsFolder,
} from '../../chat/session-path.ts';
import { refuseLocked } from '../../chat/session-lock.ts';
import { textOf } from '../../chat/message.ts';
import { isoTime, localTime } from '../../clock.ts';
import { usageError } from '../../errors.ts';
import { removeFile } from '../../files/temp-file.ts';
import { shellWord } from '../../shell-word.ts';
import { asColumn, cutToColumns } from '../../terminal/column-width.ts';
import { escapeLine } from '../../terminal/escape.ts';
import type { Action, Context } from '../../cli/context.ts';
import { setExamples } from '../../cli/help/help.ts';

/** `sessions list`: name, last change, messages and first prompt of each, the newest first. */
export function sessionsListCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, ['gateway-cli sessions list', 'gateway-cli sessions list --json | jq -r .sessions[0].name']);
  return (context) => runList(context);
}

/** `sessions rm <name…>`. */
export function sessionsRemoveCommand(command: Command): Action {
  command.argument('<name...>', 'sessions of the list').usage('<name…> [flags]');
  setExamples(command, ['gateway-cli sessions rm trip']);
  return (context, names) => runRemove(names, context);
}

interface Listed {
  name: string;
  path: string;
  changed: string | undefined;
  messages: number;
  /** The beginning of the first prompt. */
  prompt: string;
  /** Why the rest is not known. */
  error?: string;
}

async function runList({ io, root, report }: Context): Promise<void> {
  const entries = await listSessions(await sessionsFolder());
  const listed = await Promise.all(entries.map(describe));
  if (root.json) {
    report.own = { schema: 'gateway-cli/sessions@1', sessions: listed };
    return;
  }
  const names = asColumn(listed.map(({ name }) => name));
  const times = asColumn(entries.map(({ changed }) => localTime(changed)));
  for (const [index, { messages, prompt, error }] of listed.entries()) {
    const row = `${names[index]}  ${times[index]}  ${String(messages).padStart(4)}  ${error ?? prompt}`;
    await io.stdout.write(`${escapeLine(row)}\n`);
  }
}

const promptColumns = 60;

/** A file that is no session is listed too, with the reason. */
async function describe({ name, path, changed }: SessionEntry): Promise<Listed> {
  const facts = { name, path, changed: isoTime(changed) };
  try {
    const { messages } = await readSession(path);
    const first = messages.find(({ role }) => role === 'user');
    const prompt = cutToColumns(escapeLine(first ? textOf(first) : ''), promptColumns);
    return { ...facts, messages: messages.length, prompt };
  } catch (error) {
    return { ...facts, messages: 0, prompt: '', error: error instanceof Error ? error.message : String(error) };
  }
}

/** Only names: a path could be any file. All are looked at before the first is removed. */
async function runRemove(names: readonly string[], { io, root, report }: Context): Promise<void> {
  const entries = await listSessions(await sessionsFolder());
  const path = names.find(isSessionPath);
  if (path !== undefined)
    throw usageError(
      `sessions rm takes names of the list, not a path: ${JSON.stringify(path)}`,
      `a file of your own goes by: rm ${shellWord(path)}`,
    );
  const chosen = names.map((name) => findSession(checkSessionName(name), entries));
  for (const { path } of chosen) await refuseLocked(path);
  for (const { path } of chosen) await removeFile(path);
  const removed = chosen.map(({ name }) => name);
  if (root.json) report.own = { schema: 'gateway-cli/sessions@1', removed };
  else await io.stdout.write(removed.map((name) => `${name}\n`).join(''));
}

/** The session of a name. Throws GatewayError usage with the names that there are. */
export function findSession(name: string, entries: readonly SessionEntry[]): SessionEntry {
  const found = entries.find((entry) => entry.name === name);
  if (found) return found;
  const names = entries.slice(0, 5).map((entry) => entry.name);
  throw usageError(
    `there is no session ${JSON.stringify(name)}`,
    names.length === 0 ? 'begin one: gateway-cli chat --session notes "hello"' : `there are: ${names.join(', ')}`,
  );
}
