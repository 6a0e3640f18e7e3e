import { usageError } from '../../../library/index.ts';
import {
  type FlagTable,
  type FlagValues,
  keepJsonOrPath,
  keepPath,
  notAFlag,
  oneOfWords,
  whole,
} from '../../flags/flag.ts';
import { imageFlags, maxTurns } from '../../flags/format.ts';
import { connectionFlags, maxCost, outputFlags } from '../../flags/shared.ts';
import type { Context } from '../../context.ts';
import type { ConnectionFlags } from '../../run/settings.ts';
import { type RetryWord, retryWords } from '../../../batch/index.ts';
import { isBudgetPath } from '../../settings/values.ts';
import { parseVary, writeVary } from './jobs/vary.ts';

/** Formats of `--data`. */
export const dataFormats = ['csv', 'tsv', 'json', 'jsonl'] as const;
export type DataFormat = (typeof dataFormats)[number];

/** Flags that only `batch run` has. */
export const batchFlags = {
  output: {
    flags: '-o, --output <dir>',
    text: 'folder for results, images and the journal',
    parse: notAFlag,
    kept: 'never',
  },
  prompts: {
    flags: '--prompts <path|->',
    text: 'file with one prompt per line, instead of a job file; - is stdin',
    parse: (word, name) => notAFlag(word, name, 'gateway-cli batch --prompts prompts.txt -o out'),
    kept: keepPath,
  },
  data: {
    flags: '--data <path|->',
    text: 'file of rows, one job per row: CSV, TSV, JSON or JSON Lines; - is stdin',
    parse: (word, name) => notAFlag(word, name, 'gateway-cli batch --data rows.csv --template prompt.md -o out'),
    kept: keepPath,
  },
  template: {
    flags: '--template <path>',
    text: 'file with the prompt for the rows of --data: {{name}} is the column of that name',
    parse: notAFlag,
    kept: keepPath,
  },
  dataFormat: {
    flags: '--data-format <format>',
    text: `format of --data, if its name does not tell it: ${dataFormats.join(', ')}`,
    parse: oneOfWords(dataFormats),
    values: dataFormats,
    advanced: true,
  },
  delimiter: {
    flags: '--delimiter <character>',
    text: 'what parts the cells of CSV, if it is not clear: a character, or tab',
    parse: parseDelimiter,
    advanced: true,
  },
  idColumn: {
    flags: '--id-column <name>',
    text: 'column that holds the id of each row (default: its number in the file)',
  },
  defaults: {
    flags: '--defaults <json|path>',
    text: 'default values for jobs: a JSON object, or a file with one',
    kept: keepJsonOrPath,
  },
  vars: { flags: '--no-vars', text: 'send {{name}} unchanged, and texts that use no column', advanced: true },
  vary: {
    flags: '--vary <key=values>',
    text: 'make a job of each row with each of these values of a key: --vary model=a,b; the product of several',
    parse: parseVary,
    write: writeVary,
    repeat: true,
  },
  concurrency: {
    flags: '--concurrency <n>',
    text: 'number of parallel requests, 1 to 512 (default: 4)',
    parse: whole(1, 512),
  },
  rate: {
    flags: '--rate <n/unit>',
    text: 'maximum request rate: 5/s, 100/m, 2000/h',
    parse: parseRate,
    write: writeRate,
  },
  rateGroup: {
    flags: '--rate-group <name|path>',
    text: 'share --rate, and the waits that the service asks for, with all processes that name this group',
    parse: notAFlag,
    advanced: true,
    kept: (word, move) => (isBudgetPath(word) ? move(word) : word),
  },
  shard: {
    flags: '--shard <i/n>',
    text: 'run part i of n, from 1/n, parted by what jobs ask; auto reads it from the CI job, auto/n for n parts',
    advanced: true,
  },
  retry: {
    flags: '--retry <words>',
    text: 'send again what is failed, unknown (may be billed twice) or incomplete (a limit cut its answer): --retry failed,unknown',
    parse: parseRetry,
    values: retryWords,
    kept: 'never',
  },
  redo: {
    flags: '--redo <id,…>',
    text: 'send these jobs again, even if they are done; their earlier pictures stay',
    parse: notAFlag,
    repeat: true,
    kept: 'never',
  },
  limit: {
    flags: '--limit <n>',
    text: 'send at most this many jobs in this run; the others stay unsent',
    parse: whole(1),
    kept: 'never',
  },
  maxTurns: {
    ...maxTurns,
    text: 'maximum number of requests for one answer, where the service pauses in it (default: 10)',
  },
  acceptChanges: {
    flags: '--accept-changes',
    text: 'send again the jobs that were edited, and those that use a result which was made again',
    kept: 'never',
  },
  wait: {
    flags: '--no-wait',
    text: 'with --lane batch: exit once the jobs are submitted; batch again collects the results later',
    kept: 'never',
  },
  fetch: imageFlags.fetch,
  maxFailures: {
    flags: '--max-failures <n>',
    text: 'start no more jobs after this many failures',
    parse: whole(1),
  },
  maxCost: {
    ...maxCost,
    text: 'send no request that could push the cost of all runs of this batch above this; batch again keeps it',
  },
  stream: {
    flags: '--stream',
    text: 'take jobs from stdin one by one, and print each result as soon as it is there',
  },
  maxImages: imageFlags.maxImages,
  strict: {
    ...imageFlags.strict,
    text: 'a job fails if its image is more than 4 % off the aspect ratio, or 10 % off the size (4 % off WxH)',
  },
  requireComplete: {
    ...outputFlags.requireComplete,
    text: 'a job fails if a limit cut its answer, or it may be incomplete',
  },
  requireModel: { ...outputFlags.requireModel, text: 'a job fails if another model answers it' },
  requireAlive: outputFlags.requireAlive,
  estimate: {
    flags: '--estimate',
    text: 'count the tokens of all jobs, print what they can cost, and send none; -o is optional',
    kept: 'never',
  },
  dryRun: {
    ...outputFlags.dryRun,
    text: 'check all jobs, print how many would be sent and the first request, and send nothing',
  },
} as const satisfies FlagTable;

/** Flags of `batch run`, as they were typed. */
export type BatchFlags = ConnectionFlags &
  Omit<FlagValues<typeof batchFlags>, 'wait' | 'fetch' | 'vars'> & {
    /** False by `--no-vars`. */
    vars?: boolean;
    /** False by `--no-wait`. */
    wait?: boolean;
    /** False by `--no-fetch`. */
    fetch?: boolean;
    /** The command is `batch redo` or `batch retry`: it sends only what it names. No flag says that. */
    onlyNamed?: boolean;
  };

/** Flags that name the jobs, and the model of all of them. */
export type SourceFlags = Pick<
  BatchFlags,
  | 'output'
  | 'prompts'
  | 'data'
  | 'template'
  | 'dataFormat'
  | 'delimiter'
  | 'idColumn'
  | 'defaults'
  | 'model'
  | 'vary'
  | 'vars'
>;

/** Connection flags of `batch run`: the limits hold for each job. */
export const batchConnectionFlags = {
  ...connectionFlags,
  timeout: { ...connectionFlags.timeout, text: 'time limit of each job (default: 10m)' },
  retryMaxTime: {
    ...connectionFlags.retryMaxTime,
    text: 'maximum total wait of a job between its retries (default: 5m)',
  },
} satisfies FlagTable;

/** Formats of `batch export`. */
export const exportFormats = ['csv', 'tsv', 'jsonl', 'md', 'junit', 'promptfoo'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Flags that only `batch export` has. */
export const exportFlags = {
  format: {
    flags: '--format <format>',
    text: 'csv, tsv, jsonl, md (GitHub step summary), junit or promptfoo (default: by the name of the file, else csv)',
    parse: oneOfWords(exportFormats),
    values: exportFormats,
  },
  output: { flags: '-o, --output <path|->', text: 'file for the report; - is stdout (default: -)', parse: notAFlag },
  delimiter: {
    ...batchFlags.delimiter,
    text: 'what parts the cells of CSV (default: a comma)',
  },
  bom: { flags: '--bom', text: 'begin CSV or TSV with a byte order mark, so that Excel reads it as UTF-8' },
  force: { flags: '-f, --force', text: 'overwrite an existing file' },
  by: {
    flags: '--by <key>',
    text: 'with --vary: sums of cost, time, tokens and failures for each value of a key; job: one line for each job',
    repeat: true,
  },
  all: { flags: '--all', text: 'also answers that no job asks for now, and earlier ones of jobs that were made again' },
} as const satisfies FlagTable;

/** Flags that only `batch gallery` has. */
export const galleryFlags = {
  output: {
    flags: '-o, --output <path>',
    text: 'file for the page, which links to the pictures where they are (default: index.html in the folder)',
    parse: notAFlag,
  },
} as const satisfies FlagTable;

/** Reads `--delimiter`. Throws GatewayError usage. */
function parseDelimiter(word: string, name: string): string {
  if (word === 'tab' || word === String.raw`\t`) return '\t';
  if (/^[^\s"\p{L}\p{N}]$/u.test(word) || word === '\t') return word;
  throw usageError(`${name} takes one character, or tab, not '${word.slice(0, 40)}'`, `for example: ${name} ';'`);
}

const parseRetryWord = oneOfWords(retryWords);

/** Reads `--retry`: its words, parted by commas. Throws GatewayError usage. */
export function parseRetry(words: string, name: string): RetryWord[] {
  return words.split(',').map((word) => parseRetryWord(word.trim(), name));
}

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, min: 60_000, h: 3_600_000 };

/** Reads `--rate`: `5/s`, `100/m`, `2000/h`. Returns the ms between two requests. Throws GatewayError usage. */
export function parseRate(word: string): number {
  const match = /^(\d{1,9}(?:\.\d{1,6})?)\/(s|m|min|h)$/.exec(word.trim());
  const count = Number(match?.[1]);
  const unitMs = units[match?.[2] ?? ''];
  if (unitMs !== undefined && count > 0) return unitMs / count;
  throw usageError(`--rate takes <n>/<s|m|h>, not '${word.slice(0, 40)}'`, 'for example: --rate 60/m');
}

/** Writes a rate in the form that `parseRate` reads. */
function writeRate(everyMs: number): string {
  return `${Number((units['h']! / everyMs).toFixed(6))}/h`;
}

/** Throws GatewayError usage for flags that `--stream` does not take, as they need all jobs at once, or a folder. */
export function requireStream(words: readonly string[], flags: BatchFlags, { root }: Pick<Context, 'root'>): void {
  const example = 'for example: gateway-cli batch - --stream < jobs.jsonl';
  if (words.length !== 1 || words[0] !== '-') throw usageError('--stream takes its jobs from stdin', example);
  const whole = findWhole(flags);
  if (whole !== undefined)
    throw usageError(`--stream cannot be combined with --${whole}`, 'it sends jobs before the last one is known');
  if (root.json) throw usageError('--stream prints JSON Lines already', 'leave out --json');
  if ((flags.retry ?? flags.acceptChanges) && flags.output === undefined)
    throw usageError('without a folder, --stream knows of no earlier run', 'name its folder: -o out');
}

/** The name of a flag that needs all jobs at once; undefined if there is none. */
export function findWhole(flags: BatchFlags): string | undefined {
  const { prompts, data, template, vary, shard, dryRun, estimate, redo, limit } = flags;
  const wholes = { prompts, data, template, vary, shard, estimate, redo, limit, 'dry-run': dryRun };
  return Object.entries(wholes).find(([, value]) => value !== undefined)?.[0];
}

/** Throws GatewayError usage if only some jobs go in the lane `batch`, or if a flag does not fit the lane. */
export function requireOneLane(lanes: ReadonlySet<string>, flags: BatchFlags): void {
  if (lanes.has('batch') && lanes.size > 1)
    throw usageError(`the profiles of the jobs name several lanes: ${[...lanes].join(', ')}`, 'name one: --lane batch');
  if (flags.wait === false && !lanes.has('batch'))
    throw usageError('--no-wait is for the lane batch', 'add --lane batch');
  const recording = flags.record === undefined ? flags.replay && '--replay' : '--record';
  if (recording !== undefined && lanes.has('batch'))
    throw usageError(`${recording} cannot be combined with --lane batch`, 'leave one of them out');
}
