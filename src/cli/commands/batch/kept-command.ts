import { access, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { type KeptCommand, type ManifestHeader, readManifestHeader, type Shard } from '../../../batch/index.ts';
import type { Context } from '../../context.ts';
import { type FlagTable, keepPath } from '../../flags/flag.ts';
import { priceFlags } from '../../flags/shared.ts';
import { type ConnectionFlags, readSettingsInput } from '../../run/settings.ts';
import { getErrorCode, isFolder, shellWord, usageError } from '../../../library/index.ts';
import { keyForAnyOrigin } from '../../settings/key.ts';
import { resolvePartialSettings } from '../../settings/resolve.ts';
import { batchConnectionFlags, type BatchFlags, batchFlags } from './flags.ts';
import { promptIn, readDefaultsObject } from './jobs/source.ts';
import { nameFolder, repeatCommand, type TypedFolder } from './next-command.ts';

/** A command of `batch`: its words, and its flags as they were typed. */
export interface TypedCommand {
  words: readonly string[];
  flags: BatchFlags;
}

/** The parts of a command: its words, which are a file of jobs or the prompt for the rows of a table, and its flags. */
const table: FlagTable = {
  jobs: { flags: '<jobs>', text: 'file of jobs', kept: keepPath },
  prompt: { flags: '<prompt>', text: 'prompt for the rows of a table' },
  ...batchFlags,
  ...batchConnectionFlags,
  ...priceFlags,
};

/**
 * The parts of a command that a folder keeps. Flags of one run are not among them, and a folder cannot give them either: they can
 * be the word to pay again.
 */
const keptTable: FlagTable = Object.fromEntries(Object.entries(table).filter(([, { kept }]) => kept !== 'never'));

/** The command of a run for the next ones in its folder, as it would be typed: all but the flags of one run, and no secret. */
export async function keepCommand(
  { words, flags, shard }: TypedCommand & { shard: Shard | undefined },
  { folder, io, root }: Pick<Context, 'io' | 'root'> & { folder: string },
): Promise<KeptCommand> {
  const move = await openMove(io.cwd, folder);
  // The shard of `auto` is that of the machine on which it was typed, so its numbers are kept.
  const typed = { ...flags, ...nameWords(words, flags.data), shard: shard && `${shard.index}/${shard.total}` };
  const kept = mapFlags(typed, keptTable, (value, row) => writeWords(value, row, move));
  return { profile: root.profile, flags: kept };
}

/** The words of a command: a file of jobs, or the prompt for the rows of a table. */
function nameWords(words: readonly string[], data: string | undefined): { jobs?: string; prompt?: string } {
  const prompt = promptIn(words, { data });
  if (prompt !== undefined) return { prompt };
  return words[0] === undefined ? {} : { jobs: words[0] };
}

/** The folder of a run in commands to type; undefined without one. */
export function findTypedFolder({ words, flags }: TypedCommand, { cwd }: Context['io']): TypedFolder | undefined {
  if (flags.output === undefined) return undefined;
  const name = nameFolder(resolve(cwd, flags.output), cwd);
  return toTypedFolder(name, { ...flags, ...nameWords(words, flags.data) });
}

/** A folder in commands to type. `flags`: those of the command that it keeps, with the words that name its table. */
export function toTypedFolder(outdir: string, flags: Partial<Record<string, unknown>> = {}): TypedFolder {
  if (flags['stream'] === true) return { outdir, isStream: true };
  const name = tableNames.find((one) => flags[one] === '-');
  return { outdir, table: name && tableWords[name] };
}

/** Makes the function that turns a path that begins at one folder into one that begins at another. */
async function openMove(from: string, to: string): Promise<(path: string) => string> {
  const [start, end] = [await findReal(from), await findReal(to)];
  return (path) => (isAbsolute(path) ? path : relative(end, resolve(start, path)) || '.');
}

/** The real path of a folder; a folder that is to be made has a parent that is there. */
async function findReal(folder: string): Promise<string> {
  return realpath(folder).catch(async () => join(await realpath(dirname(folder)), basename(folder)));
}

type FlagRow = FlagTable[string];

/** The words that were typed for a flag: one word, several if it can be repeated, or whether a switch is on. */
type FlagWords = KeptCommand['flags'][string];

/** Maps each flag that has a value; a flag whose result is undefined is left out. */
function mapFlags<Value, Mapped>(
  flags: Readonly<Record<string, Value>>,
  rows: FlagTable,
  map: (value: Value & {}, row: FlagRow) => Mapped | undefined,
): Record<string, Mapped & {}> {
  const entries = Object.entries(rows).flatMap(([name, row]) => {
    const value = flags[name];
    // Commander sets the flag that `--no-wait` switches off, although it was not typed.
    const isTyped = value !== undefined && value !== null && !(value === true && row.flags.startsWith('--no-'));
    const mapped = isTyped ? map(value, row) : undefined;
    return mapped === undefined || mapped === null ? [] : [[name, mapped] as const];
  });
  return Object.fromEntries(entries);
}

/** A word with its path changed by `move`, and without a secret. */
function moveWord(word: string, { kept }: FlagRow, move: (path: string) => string): string {
  return typeof kept === 'function' ? kept(word, move) : word;
}

function writeWords(value: unknown, row: FlagRow, move: (path: string) => string): FlagWords {
  const { repeat, write = String } = row;
  const writeWord = (one: unknown): string => moveWord(write(one as never), row, move);
  if (typeof value === 'boolean') return value;
  return repeat ? (value as unknown[]).map(writeWord) : writeWord(value);
}

function readWords(words: FlagWords, row: FlagRow, move: (path: string) => string): unknown {
  const { flags, repeat, parse = (word) => word } = row;
  const readWord = (word: string): unknown => parse(moveWord(word, row, move), getLongName(flags));
  if (typeof words === 'boolean') return words;
  return repeat ? (words as readonly string[]).map(readWord) : readWord(words as string);
}

/** The flags that a word or flag replaces: a command has one table, and one prompt for its rows. */
const replaced: Readonly<Record<string, readonly string[]>> = {
  jobs: ['prompts', 'template', 'idColumn', 'stream'],
  prompts: ['jobs', 'prompt', 'data', 'template', 'dataFormat', 'delimiter', 'idColumn', 'stream'],
  data: ['jobs', 'prompts', 'stream'],
  prompt: ['template'],
  template: ['prompt'],
};

/**
 * Recalls the command that made a folder, with the flags that are typed now in place of the earlier ones. Throws GatewayError
 * usage for a folder of no batch, for a command that cannot be run again, and for a receiver of the key that only the folder names.
 */
export async function recallCommand(
  outdir: string,
  { words, flags }: TypedCommand,
  context: Context,
): Promise<TypedCommand & Pick<Context, 'root'>> {
  const known = await readBatchHeader(outdir, context.io);
  const { command } = known.header;
  if (command === undefined)
    throw usageError(
      `${outdir} keeps no command`,
      'type it once more, with its jobs: gateway-cli batch jobs.jsonl -o …',
    );
  const { data = command.flags['data'] } = flags;
  const typed = mapFlags({ ...flags, ...nameWords(words, data ? String(data) : undefined) }, table, (value) => value);
  const varied = (flags.vary ?? []).map(([key]) => key);
  const given = flags.defaults === undefined ? [] : Object.keys(await readDefaultsObject(flags.defaults, context));
  const names = Object.keys(typed).flatMap((name) => [name, ...(replaced[name] ?? [])]);
  const gone = new Set([...names, ...varied, ...given]);
  const rows = Object.fromEntries(Object.entries(keptTable).filter(([name]) => !gone.has(name)));
  const { left, root } = await recallFlags({ ...known, outdir, command, typed: flags }, rows, context);
  await requireTable(left, outdir, context);
  const { jobs, prompt, ...recalled } = { ...left, ...typed };
  const word = jobs ?? prompt;
  return { words: words.length > 0 || word === undefined ? words : [String(word)], flags: recalled, root };
}

/** Recalls the flags that lead to the service of the jobs of a folder, in the same way as `recallCommand`. */
export async function recallConnection(
  outdir: string,
  flags: ConnectionFlags,
  context: Context,
): Promise<{ flags: ConnectionFlags } & Pick<Context, 'root'>> {
  const known = await readBatchHeader(outdir, context.io);
  const { command } = known.header;
  if (command === undefined) return { flags, root: context.root };
  const rows = Object.fromEntries(
    Object.entries(keptTable).filter(([name]) => name in batchConnectionFlags && !(name in flags)),
  );
  const { left, root } = await recallFlags({ ...known, outdir, command, typed: flags }, rows, context);
  return { flags: { ...left, ...flags }, root };
}

/** The flags that the user gives to this run, and the command that a folder keeps. */
interface Recalling {
  folder: string;
  outdir: string;
  command: KeptCommand;
  typed: ConnectionFlags;
}

/** Reads flags that a folder keeps, and their profile. Throws GatewayError usage for flags that are to be typed again. */
async function recallFlags(recalling: Recalling, rows: FlagTable, context: Context) {
  const { folder, outdir, command, typed } = recalling;
  const { argv, io, root } = context;
  const move = await openMove(folder, io.cwd);
  const left = mapFlags(command.flags, rows, (words, row): unknown => readWords(words, row, move));
  const hidden = ((left['header'] ?? []) as readonly string[]).find((word) => !/^@|:/.test(word));
  if (hidden !== undefined)
    throw usageError(
      `${outdir} does not keep the value of header ${hidden}, which may be a secret`,
      `put it into a file, --header @headers.txt, or type it again: ${repeatCommand(argv, `--header '${hidden}: …'`)}`,
    );
  const { profile } = command;
  const asker = { ...context, root: { ...(profile !== undefined && { profile }), ...root } };
  await requireOwnReceiver(left, { outdir, typed, asker });
  return { left, root: asker.root };
}

/** The path of the folder of a batch, and the header of its table. Throws GatewayError usage for a folder that holds none. */
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

/** The flags that name the table of a batch, and the prompt for its rows; and the way to type each. */
const tableWords = {
  jobs: '<file>',
  prompts: '--prompts <file>',
  data: '--data <file>',
  template: '--template <file>',
};
const tableNames = Object.keys(tableWords) as (keyof typeof tableWords)[];

/** Throws GatewayError usage for a part of a table that came on stdin, or that was moved. */
async function requireTable(
  left: Partial<Record<string, unknown>>,
  outdir: string,
  { argv, io: { cwd } }: Context,
): Promise<void> {
  // Each stream has other jobs, so there is no table to find.
  if (left['stream'] === true) return;
  for (const name of tableNames) {
    const path = left[name];
    if (typeof path !== 'string') continue;
    const what = `the ${name === 'data' ? 'rows' : name} of ${outdir}`;
    const hint = `give the file: ${repeatCommand(argv, tableWords[name])}`;
    if (path === '-') throw usageError(`${what} came on stdin, and cannot be read again`, hint);
    await access(resolve(cwd, path)).catch((error: unknown) => {
      if (getErrorCode(error) !== 'ENOENT') return;
      throw usageError(`${what} ${name === 'template' ? 'is' : 'are'} not at ${path} any more`, hint);
    });
  }
}

/** Flags that decide who receives the key, or can read it on its way. */
const receivers = ['baseUrl', 'service', 'proxy', 'cacert'] as const;

/**
 * Throws GatewayError usage for a receiver of the key that only the folder names: the folder may come from somebody else. Flags
 * that are typed now, variables, the config file and a key that goes to its own service alone are the user's word.
 */
async function requireOwnReceiver(
  left: Partial<Record<string, unknown>>,
  { outdir, typed, asker }: { outdir: string; typed: ConnectionFlags; asker: Context },
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
  const flags = foreign
    .map((name) => `${getLongName(batchConnectionFlags[name].flags)} ${shellWord(String(left[name]))}`)
    .join(' ');
  throw usageError(
    `only the folder ${outdir} names where your key would go: ${flags}`,
    `if you trust that, type it again: ${repeatCommand(asker.argv, flags)}`,
  );
}

function getLongName(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}
