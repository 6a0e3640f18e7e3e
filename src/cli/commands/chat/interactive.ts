import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lastTurnStart } from '../../chat/message.ts';
import { historyFile, makeSessionsFolder } from '../../chat/session-path.ts';
import { GatewayError, shellWord, untilAborted } from '../../../library/index.ts';
import type { AnswerContext, CommandEnd } from '../../context.ts';
import { emptyOutcome } from '../../output/outcome.ts';
import { readTemplateValues, warnOfUnused } from '../../input/template-variables.ts';
import { readSystem } from '../../request/build-request.ts';
import { formatConversation } from '../sessions/conversation.ts';
import { checkAddress, openClient } from '../../run/client.ts';
import { openCostLimit, warnOfPrice } from '../../run/costs.ts';
import type { Settings } from '../../settings/types.ts';
import type { ChatFlags, Resumed } from './session.ts';
import { completeSlash, takeEntry } from './slash.ts';
import { logFailure, type Talk } from './talk.ts';

/** The interactive mode: prompts until the person leaves; every finished turn is on disk at once. */
export async function runInteractive(
  typed: ChatFlags,
  { context, settings, resumed }: { context: AnswerContext; settings: Settings; resumed: Resumed | undefined },
): Promise<CommandEnd> {
  const { io, ui } = context;
  if (!io.openEditor) throw new GatewayError('internal', 'no line editor');
  const { flags, system } = await withoutBlanks(typed, context);
  await checkAddress(settings, context);
  const limit = flags.maxCost === undefined ? undefined : openCostLimit(flags.maxCost, settings);
  const client = await openClient(settings, flags, context, { limit });
  context.atEnd(() => client.close());
  await warnOfPrice(settings, ui);
  const history = flags.save === false ? noHistory : await openHistory();
  const editor = await io.openEditor({ history: history.entries, complete: completeSlash });
  context.atEnd(async () => editor.close());
  const talk: Talk = {
    context,
    settings,
    flags,
    client,
    editor,
    system,
    images: flags.image ?? [],
    attach: flags.attach ?? [],
    messages: resumed?.earlier ?? [],
    session: resumed,
    outcome: emptyOutcome,
  };
  const turns = talk.messages.filter(({ role }) => role === 'assistant').length;
  const before = turns > 0 ? ` · ${turns} answer${turns === 1 ? '' : 's'} before` : '';
  const kept = flags.save === false ? 'not kept' : 'kept as a session';
  await ui.note(`${settings.model}${before} · ${kept} · /help · /exit or Ctrl-D leaves`);
  const last = talk.messages.slice(lastTurnStart(talk.messages));
  if (last.length > 0) await io.stdout.write(Buffer.from(`${await formatConversation(last, context)}\n`));
  try {
    await takeEntries(talk, history);
    await noteSession(talk);
    return { outcome: talk.outcome };
  } catch (error) {
    return { outcome: talk.outcome, error };
  }
}

/** Takes the entries of the person until they leave. */
async function takeEntries(talk: Talk, history: History): Promise<void> {
  const { context, editor } = talk;
  const { io, ui, signal } = context;
  for (;;) {
    const read = await untilAborted(editor.read('> '), signal);
    if (read.kind === 'end') await io.stdout.write('\n');
    if (read.kind === 'end' || (read.kind === 'interrupt' && read.again)) break;
    if (read.kind === 'interrupt') await ui.note('Ctrl-C again leaves');
    else {
      if (read.text.trim() !== '') await history.add(read.text);
      try {
        if (!(await takeEntry(read.text, talk))) break;
      } catch (error) {
        await logFailure(error, context);
      }
    }
  }
}

/** The flags and the system instruction with their template variables filled: entries that are typed later have no variables. */
async function withoutBlanks(typed: ChatFlags, context: AnswerContext): Promise<Pick<Talk, 'flags' | 'system'>> {
  const templateValues = await readTemplateValues(typed, context);
  const system = await readSystem(typed, templateValues, context);
  await warnOfUnused(typed.var ?? [], templateValues, context);
  const { system: _system, systemFile: _file, var: _var, ...flags } = typed;
  return { flags: { ...flags, vars: false }, system };
}

/** The hint that says how to continue the saved conversation. */
async function noteSession({ session, context, flags, settings }: Talk): Promise<void> {
  if (!session?.file || session.file.messages.length === 0) return;
  const offline = flags.offline ? ' --offline' : '';
  const command = `gateway-cli chat${offline}${settings.typedFlags} --session ${shellWord(session.label)}`;
  await context.ui.note(`saved; continue with: ${command}`);
}

/** Entries that readline offers. */
const maxEntries = 1000;
const longestEntry = 4000;

/** The typed entries, the oldest first. */
interface History {
  entries: readonly string[];
  add(entry: string): Promise<void>;
}

const noHistory: History = { entries: [], add: async () => undefined };

/**
 * The inputs of the interactive mode, the oldest first, and the function that saves a further one for the next start: a JSON
 * string on each line (mode 0600). The history is a convenience: errors of reading and writing are ignored.
 */
async function openHistory(): Promise<History> {
  const folder = await makeSessionsFolder().catch(() => undefined);
  if (folder === undefined) return noHistory;
  const path = join(folder, historyFile);
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.split('\n');
  const entries = lines.flatMap(parseEntry).slice(-maxEntries);
  const lineOf = (entry: string): string => `${JSON.stringify(entry.slice(0, longestEntry))}\n`;
  // The file is rewritten when it is twice as long as needed, so that it does not grow forever.
  if (text.length > 2 * maxEntries * longestEntry || lines.length > 2 * maxEntries)
    await writeFile(path, entries.map(lineOf).join('')).catch(() => undefined);
  return {
    entries,
    add: (entry) => appendFile(path, lineOf(entry), { mode: 0o600 }).catch(() => undefined),
  };
}

function parseEntry(line: string): string[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'string' && value !== '' ? [value] : [];
  } catch {
    return [];
  }
}
