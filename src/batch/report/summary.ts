import { describeCosts } from '../../cost/price.ts';
import type { Spending } from '../../cost/types.ts';
import type { Usage } from '../../formats/events.ts';
import { outcomes } from '../../errors.ts';
import type { JobIndex } from '../folder/job-index.ts';
import type { Counts, JobError } from '../types.ts';

/** What a summary is made of. */
export interface SummaryFacts {
  counts: Counts;
  /** Jobs that this run left as an earlier one ended them. */
  skipped: number;
  usage: Usage;
  spending: Spending;
  durationMs: number;
  outdir: string;
  failures: ReadonlyMap<string, JobError>;
  /** The code that the process will end with, where it is not that of the counts. */
  exitCode?: number | undefined;
}

/** Counts jobs by their state; with `inFile`, those of the job file. */
export function countJobs(index: JobIndex, { jobs, inFile = false }: { jobs: number; inFile?: boolean }): Counts {
  const counts: Counts = { jobs, done: 0, incomplete: 0, failed: 0, unknown: 0, pending: 0 };
  for (let row = 0; row < index.size; row++) {
    if (inFile && !index.has(row, 'inFile')) continue;
    const state = index.stateOf(row);
    if (state === 'done' || state === 'failed') counts[state]++;
    else if (state !== 'new') counts.unknown++;
    if (state === 'done' && index.has(row, 'incomplete')) counts.incomplete++;
  }
  counts.pending = Math.max(0, jobs - counts.done - counts.failed - counts.unknown);
  return counts;
}

/** 0 when every job is done, else 13. */
export function exitCodeOf({ failed, unknown, pending }: Counts): number {
  return failed + unknown + pending === 0 ? outcomes.ok.code : outcomes['batch-failed'].code;
}

/** The document of `batch --json` and of summary.json. */
export function summaryDocument(facts: SummaryFacts): object {
  const { counts, skipped, usage, spending, durationMs, outdir, failures } = facts;
  const exitCode = facts.exitCode ?? exitCodeOf(counts);
  return {
    schema: 'gateway-cli/batch@1',
    ok: exitCode === outcomes.ok.code,
    exitCode,
    ...counts,
    skipped,
    usage,
    ...(spending.costs.length > 0 && { cost: spending.costs, costUnknown: spending.unknown }),
    durationMs: Math.round(durationMs),
    outdir,
    failures: [...failures].map(([id, error]) => ({ id, error })),
  };
}

/** Why jobs failed, one line each, so many at most; then how many more there are: not every reason is kept. */
export function describeFailures(
  failures: SummaryFacts['failures'],
  { counts, most, results }: { counts: Counts; most: number; results: string },
): string[] {
  const lines = [...failures].slice(0, most).map(([id, error]) => `${id}: ${error.class}: ${error.message}`);
  const more = Math.max(failures.size, counts.failed) - lines.length;
  return more > 0 ? [...lines, `and ${more} more; see ${results}`] : lines;
}

/** What is known of the cost, and of how many jobs it is not known. Empty where no cost is known and no job has a price. */
export function describeSpending({ costs, unknown }: Spending, hasPrices = false): string {
  if (costs.length === 0 && !hasPrices) return '';
  const parts = costs.length === 0 ? [] : [`cost: ${describeCosts(costs)}`];
  if (unknown > 0) parts.push(`the cost of ${countOf(unknown, 'job')} is unknown`);
  return parts.join('; ');
}

/** `1 job`, `2 jobs` */
export function countOf(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

/** `12 done (1 incomplete), 2 failed, 1 unknown` */
export function describeCounts({ done, incomplete, failed, unknown, pending }: Counts): string {
  const parts = [incomplete > 0 ? `${done} done (${incomplete} incomplete)` : `${done} done`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (unknown > 0) parts.push(`${unknown} unknown (may have been billed)`);
  if (pending > 0) parts.push(`${pending} not sent yet`);
  return parts.join(', ');
}
