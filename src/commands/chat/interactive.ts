import { makePrivateFolder, sessionsFolder } from '../../chat/session-path.ts';
import { GatewayError } from '../../errors.ts';
import { shellWord } from '../../shell-word.ts';
import type { LineEditor } from '../../terminal/line-editor.ts';
import { untilAborted } from '../../clock.ts';
import type { ChatFlags } from './session.ts';
import { completeLine, parseEntry, runSlash } from './slash.ts';
import { askPrompt, type Talk, logFailure } from './talk.ts';
import type { Context } from '../../cli/context.ts';
import { openCostLimit, openMeter } from '../../cli/run/costs.ts';
import { readBlanks, warnOfUnused } from '../../cli/input/blanks.ts';
import { readSystem } from '../../cli/request/build-request.ts';
import { openConnection, openFetchUrls, readTarget } from '../../cli/run/connection.ts';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The interactive mode: prompts until the person leaves; every finished turn is on disk at once. */
export async function runInteractive(
  typed: ChatFlags,
  { context, settings, resumed }: Pick<Talk, 'context' | 'settings' | 'resumed'>,
): Promise<void> {
  const { io, ui, signal } = context;
  const flags = await withoutBlanks(typed, context);
  await readTarget(settings, context);
  const connection = await openConnection(settings, flags, context);
  context.atEnd(() => connection.close());
  context.report.meter = await openMeter(settings, context.ui);
  const history = await openHistory(await stateFolder());
  const editor = await openEditor(context, history.entries);
  const talk: Talk = {
    context,
    settings,
    flags,
    connection,
    openFetchUrl: openFetchUrls(flags, context),
    editor,
    limit: flags.maxCost === undefined ? undefined : await openCostLimit(flags.maxCost, settings),
    model: settings.model.value,
    system: undefined,
    images: flags.image ?? [],
    attach: flags.attach ?? [],
    messages: resumed?.earlier ?? [],
    resumed,
    last: undefined,
  };
  const turns = talk.messages.filter(({ role }) => role === 'assistant').length;
  const before = turns > 0 ? ` · ${turns} answer${turns === 1 ? '' : 's'} before` : '';
  const kept = flags.save === false ? 'not kept' : 'kept as a session';
  await ui.note(`${talk.model}${before} · ${kept} · /help · /exit or Ctrl-D leaves`);
  for (;;) {
    const read = await untilAborted(editor.read('> '), signal);
    if (read.kind === 'end') await io.stdout.write('\n');
    if (read.kind === 'end' || (read.kind === 'interrupt' && read.again)) return leave(talk);
    if (read.kind === 'interrupt') await ui.note('Ctrl-C again leaves');
    else {
      if (read.text.trim() !== '') await history.add(read.text);
      if (!(await takeEntry(read.text, talk))) return leave(talk);
    }
  }
}

/** The flags with the blanks of the system instruction filled: what is typed from here on is sent as it is. */
async function withoutBlanks(flags: ChatFlags, context: Context): Promise<ChatFlags> {
  const blanks = await readBlanks(flags, context);
  const system = await readSystem(flags, blanks, context);
  await warnOfUnused(flags, blanks, context);
  const { systemFile: _file, var: _var, ...rest } = flags;
  return { ...rest, ...(system !== undefined && { system }), vars: false };
}

async function openEditor({ io, atEnd }: Context, history: readonly string[]): Promise<LineEditor> {
  if (!io.openEditor) throw new GatewayError('internal', 'no line editor');
  const editor = await io.openEditor({ history, complete: (line) => completeLine(line, io.cwd) });
  atEnd(async () => editor.close());
  return editor;
}

/** The folder of the history; undefined without a home folder. */
async function stateFolder(): Promise<string | undefined> {
  const folder = await sessionsFolder().catch(() => undefined);
  if (folder !== undefined) await makePrivateFolder(folder).catch(() => {});
  return folder;
}

/** False: the person wants to leave. */
async function takeEntry(text: string, talk: Talk): Promise<boolean> {
  const entry = parseEntry(text);
  try {
    if (entry.kind === 'unknown') await talk.context.ui.note(`there is no /${entry.name}; /help lists what there is`);
    else if (entry.kind === 'command') return await runSlash(entry, talk);
    else if (entry.kind === 'prompt') return await askPrompt(entry.text, talk);
  } catch (error) {
    await logFailure(error, talk.context);
  }
  return true;
}

async function leave({ resumed, context, flags }: Talk): Promise<void> {
  if (!resumed?.file || resumed.file.messages.length === 0) return;
  const { profile } = context.root;
  const flag = [flags.offline && '--offline ', profile !== undefined && `--profile ${profile} `];
  const before = flag.filter((part) => typeof part === 'string').join('');
  await context.ui.note(`saved; continue with: gateway-cli chat ${before}--session ${shellWord(resumed.label)}`);
}

/** Entries that readline offers. */
const maxEntries = 1000;
const longestEntry = 4000;

/** The inputs of the interactive mode, saved for the next start (mode 0600): a convenience. */
export interface History {
  /** The oldest first. */
  readonly entries: readonly string[];
  /** Saves an entry; ignores a history that cannot be written. */
  add(entry: string): Promise<void>;
}

/** Opens the history of a folder: a JSON string on each line. Ignores other lines. */
export async function openHistory(folder: string | undefined): Promise<History> {
  if (folder === undefined) return { entries: [], add: async () => undefined };
  const path = join(folder, 'chat-history');
  const text = await readFile(path, 'utf8').catch(() => '');
  const entries = text.split('\n').flatMap(parseEntryLine).slice(-maxEntries);
  // Rewritten when it is twice as long as needed, so that it does not grow forever.
  if (text.length > 2 * maxEntries * longestEntry || text.split('\n').length > 2 * maxEntries)
    await writeFile(path, entries.map(lineOf).join('')).catch(() => undefined);
  return {
    entries,
    add: (entry) => appendFile(path, lineOf(entry), { mode: 0o600 }).catch(() => undefined),
  };
}

function parseEntryLine(line: string): string[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'string' && value !== '' ? [value] : [];
  } catch {
    return [];
  }
}

function lineOf(entry: string): string {
  return `${JSON.stringify(entry.slice(0, longestEntry))}\n`;
}
