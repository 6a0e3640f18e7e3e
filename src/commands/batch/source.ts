import { type FileHandle, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Defaults, type JobRules, readDefaults, readJobLine, readPromptLine, jobKeys } from './job-line.ts';
import { readLines } from '../../batch/read-lines.ts';
import type { Job } from '../../batch/types.ts';
import { usageError } from '../../errors.ts';
import { spool } from '../../images/input.ts';
import { isObject } from '../../json.ts';
import { closest } from '../../settings/closest.ts';
import type { Context } from '../../cli/context.ts';
import { parseJson } from '../../cli/flags/values.ts';
import { readObjectFlag, unreadable } from '../../cli/input/input-files.ts';

/** A job file, open: it can be run through as often as needed, and holds no job in memory. */
export interface JobSource {
  /** As the user named it. */
  name: string;
  /** What the file holds, in a word for hints: `one prompt a line`. */
  lineForm: string;
  /** The folder against which the jobs' files are read. */
  folder: string;
  /**
   * The jobs in their order. A line that is none goes to `onFault` as GatewayError usage that names file and line, and is
   * passed over; without `onFault` it is thrown.
   */
  jobs(onFault?: (error: unknown) => void): AsyncGenerator<Job, void>;
}

/** Opens the jobs, or the prompts of `--prompts`. Throws GatewayError usage. */
export async function openJobs(
  words: readonly string[],
  flags: { prompts?: string; defaults?: string },
  context: Context,
): Promise<JobSource> {
  const path = requireJobs(words, flags);
  const defaults = await readDefaultsFlag(flags.defaults, context);
  const label = flags.prompts === undefined ? 'jobs' : '--prompts';
  const handle = await openLines(path, label, context);
  context.atEnd(() => handle.close());
  const { cwd } = context.io;
  const rules: JobRules = { tables: jobKeys, defaults, file: path === '-' ? 'stdin' : path };
  const read = flags.prompts === undefined ? readJobLine : readPromptLine;
  return {
    name: rules.file,
    lineForm: flags.prompts === undefined ? 'one JSON object a line' : 'one prompt a line',
    folder: path === '-' ? cwd : dirname(resolve(cwd, path)),
    async *jobs(onFault = rethrow) {
      for await (const { text, number, isUtf8, isTooLong } of readLines(handle)) {
        if (isTooLong) throw usageError(`line ${number} is longer than 256 MiB`);
        let job: Job | undefined;
        try {
          if (!isUtf8) throw notUtf8(`${rules.file}:${number}`, text);
          job = read(text, number, rules);
        } catch (error) {
          onFault(error);
        }
        if (job) yield job;
      }
    },
  };
}

/** The word behind `batch` may be meant as another command of it. Throws GatewayError usage. */
export async function refuseTypo([word, ...rest]: readonly string[], { io }: Context): Promise<void> {
  const meant = word === undefined ? undefined : closest(word, ['run', 'status', 'merge', 'export', 'gallery']);
  if (word === undefined || meant === undefined) return;
  if ((await stat(resolve(io.cwd, word)).catch(() => undefined)) !== undefined) return;
  const example = ['gateway-cli batch', meant, ...rest].join(' ');
  throw usageError(`${JSON.stringify(word)} is neither a command nor a job file`, `did you mean: ${example}`);
}

/** Nothing is replaced behind the user's back. */
function notUtf8(place: string, text: string): Error {
  const from = text.includes('\0') ? 'it looks like UTF-16: iconv -f UTF-16 -t UTF-8' : 'iconv -t UTF-8';
  return usageError(`${place}: it is not UTF-8 text`, `convert the file: ${from}`);
}

function rethrow(error: unknown): never {
  throw error;
}

/** Exactly one file of jobs or of prompts; its path as it was typed. Throws GatewayError usage. */
export function requireJobs([jobs, ...rest]: readonly string[], { prompts }: { prompts?: string }): string {
  if (rest.length > 0)
    throw usageError(
      `one job file at a time: ${rest.length + 1} are named`,
      'join them: cat *.jsonl | gateway-cli batch -',
    );
  if (jobs !== undefined && prompts !== undefined)
    throw usageError('jobs and --prompts are both given', 'keep one of them');
  const path = jobs ?? prompts;
  if (path !== undefined && path !== '') return path;
  throw usageError('there are no jobs', 'for example: gateway-cli batch jobs.jsonl -o out');
}

async function readDefaultsFlag(word: string | undefined, context: Context): Promise<Defaults> {
  if (word === undefined) return { command: 'text', values: {} };
  if (!word.trimStart().startsWith('{'))
    return readDefaults(await readObjectFlag('--defaults', word, context), jobKeys);
  const value = parseJson('--defaults', word);
  return readDefaults(isObject(value) ? value : {}, jobKeys);
}

/** What comes through stdin or a pipe goes to a file first: the jobs are read twice. */
async function openLines(path: string, label: string, context: Context): Promise<FileHandle> {
  if (path === '-') return openSpooled(context.stdin.claim(label), context);
  const handle = await open(resolve(context.io.cwd, path), 'r').catch((error: unknown) => {
    throw unreadable(label, path, error);
  });
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  if (stats.isDirectory()) {
    await handle.close();
    throw usageError(
      `${label} '${path}' is a folder`,
      label === 'jobs' ? 'name a file of JSON Lines' : 'name a file with one prompt a line',
    );
  }
  return openSpooled(handle.createReadStream(), context);
}

async function openSpooled(stream: AsyncIterable<Uint8Array>, context: Context): Promise<FileHandle> {
  const spooled = await spool(stream);
  context.atEnd(spooled.cleanup);
  return open(spooled.path, 'r');
}
