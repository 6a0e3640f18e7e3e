import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Job, JobCommand, Variation } from '../../../../batch/index.ts';
import {
  arrivingLines,
  closest,
  GatewayError,
  isObject,
  type JsonObject,
  type Line,
  parseObject,
  readLines,
  shellWord,
  usageError,
} from '../../../../library/index.ts';
import {
  atPlace,
  type Defaults,
  type JobRules,
  readDefaults,
  requireTakers,
  readJobLine,
  readPromptLine,
} from './job-line.ts';
import { notUtf8, openLineFile } from './lines.ts';
import { isTable } from './data-rows.ts';
import { openRowJobs } from './row-jobs.ts';
import { expandJob, readVariations } from './vary.ts';
import type { SourceFlags } from '../flags.ts';
import type { Context } from '../../../context.ts';
import { parseJson } from '../../../flags/flag.ts';
import { isPromptYaml, withPromptYaml } from '../../../request/prompt-flags.ts';
import { readObjectFlag } from '../../../input/input-files.ts';

/** A job file, open: it can be read as often as needed, and holds no job in memory. */
export interface JobSource {
  /** The name of the file, as the user typed it. */
  name: string;
  /** The form of a line, in words for hints: `write one prompt per line`. */
  lineForm: string;
  /** The folder against which the jobs' files are read. */
  folder: string;
  /** Returns the hint for a template variable without a value, if it is not a key of a job. */
  adviseVariable?: (name: string) => string;
  /** The number of rows that were left out, as they have no value, or none for the prompt; of the rows that were read so far. */
  readonly emptyRows?: number | undefined;
  /**
   * The jobs in their order. A line that is not a job goes to `onFault` as GatewayError usage with file and line, and is
   * passed over.
   */
  jobs(onFault: (error: unknown) => void): AsyncGenerator<Job, void>;
}

/** The typed place of the jobs, and the prompt for rows that was typed after it. */
interface JobPlace {
  path: string;
  prompt: string | undefined;
}

/** The forms of files whose lines are jobs: the flag that names each, and words for hints. */
const jobFile = { label: 'jobs', instead: 'name a file of JSON Lines', lineForm: 'write one JSON object per line' };
const promptFile = {
  label: '--prompts',
  instead: 'name a file with one prompt per line',
  lineForm: 'write one prompt per line',
};

/** Opens the jobs, the rows of `--data`, or the prompts of `--prompts`. Throws GatewayError usage. */
export async function openJobs({ path, prompt }: JobPlace, flags: SourceFlags, context: Context): Promise<JobSource> {
  const isRows = takesRows(flags);
  const defaults = await readDefaultsFlag(flags, context, isRows);
  if (isRows) return openRowJobs({ ...flags, prompt }, defaults, context);
  const form = flags.prompts === undefined ? jobFile : promptFile;
  const { handle, name, folder } = await openLineFile(path, form, context);
  const rules = { defaults, file: name };
  const variations = flags.vary && readVariations(flags.vary);
  const reading = { rules, variations, flags, context: { ...context, io: { ...context.io, cwd: folder } } };
  return {
    name,
    lineForm: form.lineForm,
    folder,
    async *jobs(onFault) {
      const commands = new Set<JobCommand>();
      let hasFault = false;
      for await (const lines of readLines(handle))
        for (const line of lines) {
          let jobs: Job[] = [];
          try {
            const found = readLineJobs(line, reading);
            // To wait for each of a million lines takes longer than to read them.
            jobs = found instanceof Promise ? await found : found;
            for (const { command } of jobs) commands.add(command);
          } catch (error) {
            hasFault = true;
            onFault(error);
          }
          for (const job of jobs) yield job;
        }
      if (flags.defaults !== undefined && !hasFault) requireTakers(defaults, commands);
    },
  };
}

/** A line of `--stream`: a job, or an error that names its place. */
export type StreamedJob = { line: number; id: string } & ({ job: Job } | { error: GatewayError });

/** Opens the jobs of `--stream`, which come on stdin one by one; empty lines are skipped. Throws GatewayError usage. */
export async function openJobStream(flags: SourceFlags, context: Context): Promise<AsyncGenerator<StreamedJob, void>> {
  const defaults = await readDefaultsFlag(flags, context);
  const reading = { rules: { defaults, file: 'stdin' }, flags, context };
  return readJobStream(context.stdin.claim('jobs', { quiet: true }), reading);
}

async function* readJobStream(
  chunks: AsyncIterable<Uint8Array>,
  reading: LineReading,
): AsyncGenerator<StreamedJob, void> {
  for await (const line of arrivingLines(chunks)) {
    const { number, text } = line;
    try {
      for (const job of await readLineJobs(line, reading)) yield { line: number, id: job.id, job };
    } catch (error) {
      if (!(error instanceof GatewayError) || error.class !== 'usage') throw error;
      const { id } = parseObject(text);
      const isId = (typeof id === 'string' && id !== '') || Number.isSafeInteger(id);
      yield { line: number, id: isId ? String(id) : String(number), error };
    }
  }
}

/** The rules and flags by which lines are read. */
interface LineReading {
  rules: JobRules;
  variations?: readonly Variation[] | undefined;
  flags: SourceFlags;
  /** The context whose folder is that of the jobs. */
  context: Context;
}

/**
 * The jobs of a line, or of a prompt; none of an empty one. Throws GatewayError usage with file and line. Returns a promise only for
 * a prompt file.
 */
function readLineJobs({ text, number, isUtf8, isTooLong }: Line, reading: LineReading): Job[] | Promise<Job[]> {
  const { rules, flags, variations } = reading;
  const place = `${rules.file}:${number}`;
  if (isTooLong) throw usageError(`${place}: the line is longer than 256 MiB`);
  if (!isUtf8) throw notUtf8(place, text);
  const job = flags.prompts === undefined ? readJobLine(text, number, rules) : readPromptLine(text, number, rules);
  if (job === undefined) return [];
  const expand = (one: Job): Job[] => expandJob(one, rules.file, variations);
  return isPromptYaml(String(job.values['promptFile'] ?? '')) ? withPromptFile(job, reading).then(expand) : expand(job);
}

/** The job with the content of its `.prompt.yml`; a model that was typed for the whole batch wins. */
async function withPromptFile(job: Job, { rules, flags: { model }, context }: LineReading): Promise<Job> {
  const silent = { ...context, ui: { ...context.ui, detail: async () => undefined } };
  const typed = { ...(model !== undefined && { model }), ...job.values };
  const values = await withPromptYaml([], typed, silent, job.command).catch((error: unknown) => {
    throw atPlace(rules.file, job, error);
  });
  return { ...job, values: { ...values } };
}

/** Throws GatewayError usage if the word after `batch` may be meant as another command of it. */
export async function refuseTypo([word, ...rest]: readonly string[], { io }: Context): Promise<void> {
  if (word === undefined || (await stat(resolve(io.cwd, word)).catch(() => undefined))) return;
  const meant = closest(word, ['run', 'again', 'redo', 'retry', 'choose', 'status', 'cancel', 'export', 'gallery']);
  if (meant === undefined) return;
  const example = ['gateway-cli batch', meant, ...rest].join(' ');
  throw usageError(`${JSON.stringify(word)} is neither a command nor a job file`, `did you mean: ${example}`);
}

/** The place of the jobs: exactly one file of jobs, of prompts or of rows, whose prompt can be typed. Throws GatewayError usage. */
export function requireJobs(words: readonly string[], flags: SourceFlags): JobPlace {
  const prompt = promptIn(words, flags);
  const [jobs, ...rest] = prompt === undefined ? words : [];
  if (prompt !== undefined && flags.template !== undefined)
    throw usageError('the prompt is given twice: after batch and in --template', 'keep one of them');
  if (rest.length > 0)
    throw usageError(
      `a batch takes one job file, not ${rest.length + 1}`,
      "join them into one; a prompt is for the rows of a table: gateway-cli batch --data rows.csv -o out 'a slogan for {{column}}'",
    );
  if (jobs !== undefined && isTable(jobs))
    throw usageError(
      `${JSON.stringify(jobs)} is a table, not a file of jobs`,
      `its rows fill a prompt: gateway-cli batch --data ${shellWord(jobs)} -o ${shellWord(flags.output ?? 'out')} 'a slogan for {{column}}'`,
    );
  const rows = flags.data === undefined ? '--template' : '--data';
  const given = { jobs, '--prompts': flags.prompts, [rows]: flags.data ?? flags.template };
  const named = Object.entries(given).filter(([, path]) => path !== undefined);
  const names = named.map(([name]) => name);
  if (names.length > 1) throw usageError(`${names.join(' and ')} are both given`, 'keep one of them');
  const { idColumn, dataFormat, delimiter } = flags;
  const ofRows = { '--id-column': idColumn, '--data-format': dataFormat, '--delimiter': delimiter };
  for (const [flag, value] of Object.entries(ofRows))
    if (value !== undefined && !takesRows(flags))
      throw usageError(`${flag} is for rows`, 'for example: --data rows.csv --template prompt.md');
  const path = named[0]?.[1];
  if (path !== undefined && path !== '') return { path, prompt };
  throw usageError('there are no jobs', 'for example: gateway-cli batch jobs.jsonl -o out');
}

/** The prompt for the rows of `--data`: the words of its command. */
export function promptIn(words: readonly string[], { data }: { data?: string | undefined }): string | undefined {
  return data !== undefined && words.length > 0 ? words.join(' ') : undefined;
}

function takesRows({ data, template }: SourceFlags): boolean {
  return data !== undefined || template !== undefined;
}

const noDefaults: Defaults = { command: 'text', values: {} };

async function readDefaultsFlag(flags: SourceFlags, context: Context, isRows = false): Promise<Defaults> {
  const word = flags.defaults;
  const defaults = word === undefined ? noDefaults : readDefaults(await readDefaultsObject(word, context), isRows);
  requireTaken(defaults, flags, context);
  return flags.vars === false ? { ...defaults, values: { ...defaults.values, vars: false } } : defaults;
}

/** Throws GatewayError usage for a flag that no job takes, as --vary or --defaults gives each job its value: it would be left out unseen. */
function requireTaken({ values }: Defaults, { model, vars, vary = [] }: SourceFlags, { root }: Context): void {
  const flags = { model: ['-m', model], profile: ['--profile', root.profile], vars: ['--no-vars', vars === false] };
  for (const [key, [flag, value]] of Object.entries(flags)) {
    if (value === undefined || value === false) continue;
    const isVaried = vary.some(([name]) => name === key);
    if (!isVaried && (!Object.hasOwn(values, key) || values[key] === false)) continue;
    const other = isVaried ? `--vary ${key}` : `${JSON.stringify(key)} of --defaults`;
    throw usageError(`${flag} has no effect beside ${other}, which gives each job its own`, `leave ${flag} out`);
  }
}

/** Reads the value of `--defaults`: JSON, or the path of a file with it. */
export async function readDefaultsObject(word: string, context: Context): Promise<JsonObject> {
  if (!word.trimStart().startsWith('{')) return readObjectFlag('--defaults', word, context);
  const value = parseJson('--defaults', word);
  return isObject(value) ? value : {};
}
