import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { batchFiles, type Counts, formatCount, type JobError } from '../../../batch/index.ts';
import {
  asideFile,
  describeCosts,
  exitCodes,
  type JsonObject,
  parseObject,
  type Spending,
  type Usage,
} from '../../../library/index.ts';
import type { Context, OwnDocument } from '../../context.ts';
import { exportCommand, joinIds, nextCommand, type TypedFolder } from './next-command.ts';
import { hasJobReplies } from '../../run/recovery.ts';
import type { StateRows } from './states.ts';

/** The facts that a summary is made of. */
interface SummaryFacts {
  counts: Counts;
  states: readonly StateRows[];
  /** The number of jobs that this run left, as an earlier one ended them. */
  skipped: number;
  usage: Usage;
  spending: Spending;
  /** The flag whose limit stopped the run, with a place for a greater one. */
  spent?: string | undefined;
  /** The user wants costs: unknown ones are told, too. */
  hasPrices?: boolean;
  durationMs: number;
  outdir: string;
  failures: ReadonlyMap<string, JobError>;
  exitCode: number;
  /** The error of the batch, if it has one. */
  error?: object | undefined;
}

/** The document of `batch --json` and of summary.json. */
export function summaryDocument(facts: SummaryFacts): OwnDocument {
  const { counts, states, skipped, usage, spending, hasPrices = false, durationMs, outdir, failures, exitCode } = facts;
  return {
    schema: 'gateway-cli/batch@1',
    ok: exitCode === exitCodes.ok.code,
    exitCode,
    ...counts,
    states,
    skipped,
    usage,
    ...(spending.costs.length > 0 && { cost: spending.costs }),
    ...((spending.costs.length > 0 || (hasPrices && spending.unknown > 0)) && { costUnknown: spending.unknown }),
    durationMs: Math.round(durationMs),
    outdir,
    failures: [...failures].map(([id, error]) => ({ id, error })),
    ...(facts.spent !== undefined && { spent: facts.spent }),
    ...(facts.error && { error: facts.error }),
  };
}

/** Reads the summary of the last run; empty if it wrote none, or if jobs have ended since. */
export async function readSummary(folder: string, counts: Counts): Promise<JsonObject> {
  const text = await readFile(join(folder, batchFiles.summary), 'utf8').catch(() => '');
  const summary = parseObject(text);
  const names = ['done', 'failed', 'unknown', 'pending'] as const;
  return names.every((name) => summary[name] === counts[name]) ? summary : {};
}

/**
 * The reasons why jobs failed: at most `most` lines, one for each job, then the number of the others and the command that lists all.
 * Not every reason is kept, and a job whose state is unknown has no line in the results.
 */
export function describeFailures(
  failures: SummaryFacts['failures'],
  { failed, most, outdirs }: { failed: number; most: number; outdirs: readonly string[] },
): string[] {
  const lines = [...failures].slice(0, most).map(([id, error]) => `${id}: ${error.class}: ${error.message}`);
  const more = Math.max(failures.size, failed) - lines.length;
  return more > 0 ? [...lines, `and ${more} more: ${exportCommand(outdirs)}`] : lines;
}

/** The known cost, and the number of jobs with an unknown one. Empty if no cost is known and no job has a price. */
export function describeSpending({ costs, unknown }: Spending, hasPrices = false): string {
  if (costs.length === 0 && !hasPrices) return '';
  const parts = costs.length === 0 ? [] : [`cost: ${describeCosts(costs)}`];
  if (unknown > 0) parts.push(`the cost of ${formatCount(unknown, 'request')} is unknown`);
  return parts.join('; ');
}

/**
 * Warns about lines of a batch's own files that a crash or another program left. The next run moves the end of a torn file; any other line stays
 * where it is.
 */
export async function warnUnread(
  { unreadable, torn = [] }: { unreadable: number; torn?: readonly string[] },
  { ui }: Context,
): Promise<void> {
  for (const name of torn) await ui.warn(`the last line of ${name} is torn; a run keeps it in ${asideFile(name)}`);
  if (unreadable === 0) return;
  const left = unreadable === 1 ? 'and is left out' : 'and are left out';
  await ui.warn(
    `${formatCount(unreadable, 'line')} of ${batchFiles.results} cannot be read as results of this batch, ${left}`,
  );
}

/** Tells of answers that were paid for and are in no row: `count` that no row wants, and `earlier` ones beside those that count. */
export function describeAside(count: number, outdirs: readonly string[], earlier = 0): string {
  const parts = [
    ...(count > 0 ? [`${formatCount(count, 'answer')} that no job asks for now`] : []),
    ...(earlier > 0 ? [`${formatCount(earlier, 'earlier answer')} of jobs that were made again`] : []),
  ];
  return `${parts.join(', ')}: ${exportCommand(outdirs)} --all`;
}

/** The command to type for removed images of finished jobs; undefined if none were removed. */
export function missingImageStep(ids: readonly string[], folder: TypedFolder | undefined): string | undefined {
  if (ids.length === 0) return undefined;
  const { word, count } = joinIds(ids);
  const them = ids.length === 1 ? 'it' : count < ids.length ? `${count} of them` : 'them';
  const what = `a picture of ${formatCount(ids.length, 'job')} is not in ${batchFiles.images} any more`;
  return `${what}; to make ${them} again: ${nextCommand(folder, 'redo', { operand: word })}`;
}

/** The hint before the user pays again for an unknown job: its reply may be in a recovery file. */
export async function keptHint(
  { unknown }: Counts,
  beganAt: number | undefined,
  folders: readonly string[],
): Promise<string | undefined> {
  if (unknown === 0 || beganAt === undefined) return undefined;
  const kept = await Promise.all(folders.map((folder) => hasJobReplies(beganAt, folder)));
  if (!kept.includes(true)) return undefined;
  return 'replies that could not be written were kept since this batch began: gateway-cli recover lists them';
}
