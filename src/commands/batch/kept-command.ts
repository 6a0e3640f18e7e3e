import { realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { type KeptCommand, type ManifestHeader, readManifestHeader, type Shard } from '../../batch/index.ts';
import type { Context } from '../../cli/context.ts';
import { type FlagTable, keepPath } from '../../cli/flags/flag.ts';
import { priceFlags } from '../../cli/flags/shared.ts';
import { readSettingsInput } from '../../cli/run/settings.ts';
import { usageError } from '../../errors.ts';
import { isFolder } from '../../files/temp-file.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { keyForAnyOrigin } from '../../settings/key.ts';
import { resolvePartialSettings } from '../../settings/resolve.ts';
import { shellWord } from '../../shell-word.ts';
import { batchConnectionFlags, type BatchFlags, batchFlags } from './flags.ts';
import { promptIn } from './jobs/source.ts';
import { nextCommand } from './next-command.ts';

/** A command of `batch`: its words, and its flags as they were typed. */
interface TypedCommand {
  words: readonly string[];
  flags: BatchFlags;
}

/** Everything that a command can say: its words, which are a file of jobs or the prompt for the rows of a table, and its flags. */
const table: FlagTable = {
  jobs: { flags: '<jobs>', text: 'file of jobs', kept: keepPath },
  prompt: { flags: '<prompt>', text: 'prompt for the rows of a table' },
  ...batchFlags,
  ...batchConnectionFlags,
  ...priceFlags,
};

/** The command of a run for the next ones in its folder: all but the flags of one run, and no secret. */
export async function keepCommand(
  { words, flags, shard }: TypedCommand & { shard: Shard | undefined },
  { folder, io, root }: Pick<Context, 'io' | 'root'> & { folder: string },
): Promise<KeptCommand> {
  const move = await openMove(io.cwd, folder);
  // `auto` is of the machine where it was typed.
  const typed = { ...flags, ...nameWords(words, flags.data), shard: shard && `${shard.index}/${shard.total}` };
  const kept = mapFlags(typed, (value, row) => moveValue(value, row, move));
  return { profile: root.profile, flags: kept };
}

/** The words of a command: a file of jobs, or the prompt for the rows of a table. */
function nameWords(words: readonly string[], data: string | undefined): { jobs?: string; prompt?: string } {
  const prompt = promptIn(words, { data });
  if (prompt !== undefined) return { prompt };
  return words[0] === undefined ? {} : { jobs: words[0] };
}

/** What makes a path that begins at one folder begin at another one. */
async function openMove(from: string, to: string): Promise<(path: string) => string> {
  const [start, end] = [await findReal(from), await findReal(to)];
  return (path) => (isAbsolute(path) ? path : relative(end, resolve(start, path)) || '.');
}

/** The folder itself: one that is to be made has a parent that is there. */
async function findReal(folder: string): Promise<string> {
  return realpath(folder).catch(async () => join(await realpath(dirname(folder)), basename(folder)));
}

type FlagRow = FlagTable[string];

/** Maps each value that was typed; one that becomes undefined is left out. */
function mapFlags(
  flags: Readonly<Record<string, unknown>>,
  map: (value: JsonValue, row: FlagRow) => JsonValue | undefined = (value) => value,
): JsonObject {
  const entries = Object.entries(table).map(([name, row]) => {
    // Commander sets what `--no-wait` switches off.
    const isTyped = flags[name] !== undefined && !(flags[name] === true && row.flags.startsWith('--no-'));
    return [name, isTyped ? map(flags[name] as JsonValue, row) : undefined] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as JsonObject;
}

/** Undefined for a flag of one run, which a folder cannot give either: it can be the word to pay again. */
function moveValue(value: JsonValue, { kept }: FlagRow, move: (path: string) => string): JsonValue | undefined {
  if (kept === 'never') return undefined;
  if (typeof kept !== 'function') return value;
  return Array.isArray(value) ? value.map((word) => kept(String(word), move)) : kept(String(value), move);
}

const otherRows = ['dataFormat', 'delimiter', 'idColumn'];

/** What else a word or flag takes the place of: a command has one table, and one prompt for its rows. */
const replaced: Readonly<Record<string, readonly string[]>> = {
  jobs: ['prompt', 'prompts', 'data', 'template', ...otherRows],
  prompts: ['jobs', 'prompt', 'data', 'template', ...otherRows],
  data: ['jobs', 'prompts'],
  prompt: ['template'],
  template: ['prompt'],
};

/**
 * The command that made a folder, with what is typed now in place of what was typed then. Throws GatewayError usage for a folder of no batch,
 * for what cannot be asked for again, and for a receiver of the key that only the folder names.
 */
export async function recallCommand(
  outdir: string,
  { words, flags }: TypedCommand,
  context: Context,
): Promise<TypedCommand & Pick<Context, 'root'>> {
  const { io } = context;
  const { folder, header } = await readBatchHeader(outdir, io);
  const kept = header.command;
  if (kept === undefined)
    throw usageError(
      `the jobs of ${outdir} came one by one: no command made them`,
      `send more: gateway-cli batch - --stream -o ${shellWord(outdir)}`,
    );
  const move = await openMove(folder, io.cwd);
  const known = mapFlags(kept.flags, (value, row) => moveValue(value, row, move));
  const typed = mapFlags({ ...flags, ...nameWords(words, flags.data ?? (known['data'] as string | undefined)) });
  const gone = new Set(Object.keys(typed).flatMap((name) => [name, ...(replaced[name] ?? [])]));
  const left = Object.fromEntries(Object.entries(known).filter(([name]) => !gone.has(name)));
  const start = nameTyped(outdir, flags);
  requireAskable(left, { outdir, start });
  const { profile } = kept;
  const asker = { ...context, root: { ...(profile !== undefined && { profile }), ...context.root } };
  await requireOwnReceiver(left, { outdir, start, typed: flags, asker });
  const { jobs, prompt, ...all } = { ...left, ...typed };
  const word = [jobs, prompt].find((one) => typeof one === 'string');
  const isWord = words.length === 0 && word !== undefined;
  return { words: isWord ? [word] : words, flags: all, root: asker.root };
}

/** The folder of a batch, and what holds for its whole table. Throws GatewayError usage for one that holds none. */
export async function readBatchHeader(
  outdir: string,
  { cwd }: Context['io'],
): Promise<{ folder: string; header: ManifestHeader }> {
  const folder = resolve(cwd, outdir);
  const hasFolder = await isFolder(folder);
  const header = hasFolder ? await readManifestHeader(folder) : undefined;
  if (header !== undefined) return { folder, header };
  throw usageError(
    hasFolder ? `${outdir} holds no batch` : `there is no folder ${outdir}`,
    'name the folder that you gave to gateway-cli batch -o',
  );
}

/** The command that was typed, for a hint that adds to it. */
function nameTyped(outdir: string, { redo, retry }: BatchFlags): string {
  if (redo !== undefined) return nextCommand(outdir, 'redo', redo.map(shellWord).join(','));
  return retry === undefined ? nextCommand(outdir, 'again') : nextCommand(outdir, 'retry', retry.join(','));
}

const sources = { jobs: 'jobs.jsonl', prompts: '--prompts prompts.txt', data: '--data rows.csv' };

/** Throws GatewayError usage for a table that came on stdin, and for a header whose value is not kept. */
function requireAskable(left: JsonObject, { outdir, start }: { outdir: string; start: string }): void {
  const piped = Object.entries(sources).find(([name]) => left[name] === '-');
  if (piped)
    throw usageError(
      `the ${piped[0] === 'data' ? 'rows' : piped[0]} of ${outdir} came on stdin, and cannot be read again`,
      `give the file: ${start} ${piped[1]}`,
    );
  const headers = (left['header'] ?? []) as readonly string[];
  const hidden = headers.find((word) => !word.startsWith('@') && !word.includes(':'));
  if (hidden !== undefined)
    throw usageError(
      `${outdir} does not keep the value of header ${hidden}, which may be a secret`,
      `type it again: ${start} --header '${hidden}: …'; or put it into a file: --header @headers.txt`,
    );
}

/** Flags that decide who receives the key, or can read it on its way. */
const receivers = ['baseUrl', 'service', 'proxy', 'cacert'] as const;

/**
 * Throws GatewayError usage for a receiver of the key that only the folder names: it may come from somebody else. Flags that are typed
 * now, variables, the config file and a key that goes to its own service alone are the user's word.
 */
async function requireOwnReceiver(
  left: JsonObject,
  { outdir, start, typed, asker }: { outdir: string; start: string; typed: BatchFlags; asker: Context },
): Promise<void> {
  const kept = receivers.filter((name) => left[name] !== undefined);
  if (kept.length === 0) return;
  const input = { ...(await readSettingsInput(typed, asker)), use: 'text' } as const;
  const own = resolvePartialSettings(input);
  const service = left['service'] as string | undefined;
  const asked = resolvePartialSettings({ ...input, flags: { ...input.flags, service } });
  const isElsewhere = asked.baseUrl !== own.baseUrl && keyForAnyOrigin(asked.key) !== undefined;
  const foreign = kept.filter((name) =>
    name === 'service' ? isElsewhere : name === 'cacert' || own[name] !== left[name],
  );
  if (foreign.length === 0) return;
  const flags = foreign.map((name) => `${getLongName(name)} ${shellWord(String(left[name]))}`).join(' ');
  throw usageError(
    `only the folder ${outdir} names where your key would go: ${flags}`,
    `if you trust that, type it again: ${start} ${flags}`,
  );
}

function getLongName(name: (typeof receivers)[number]): string {
  return /--[\w-]+/.exec(batchConnectionFlags[name].flags)?.[0] ?? name;
}
