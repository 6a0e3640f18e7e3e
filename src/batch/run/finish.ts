import { relative, join } from 'node:path';
import type { Stop } from './runner.ts';
import {
  countJobs,
  countOf,
  describeCounts,
  describeFailures,
  describeSpending,
  exitCodeOf,
  summaryDocument,
} from '../report/summary.ts';
import { batchFiles, type Counts } from '../types.ts';
import { isSpent, totalTokens } from './usage.ts';
import { GatewayError, outcomes } from '../../errors.ts';
import { shellWord } from '../../shell-word.ts';
import { incompleteStep, nextStep, tellKept } from '../folder/read.ts';
import type { Batch } from './types.ts';
import { writeSummary } from '../folder/folder.ts';

/** So many failures are told one by one. */
const mostTold = 5;

/** How the sending ended: for a reason that is no failure, or with one. */
export interface BatchEnd {
  stop?: Stop | undefined;
  failure?: unknown;
}

/** Writes the summary, prints where the results are, and throws what the whole means: code 13, or the signal. */
export async function finishBatch(batch: Batch, { stop, failure }: BatchEnd): Promise<void> {
  const { context, state, plan, outdir } = batch;
  const counts = countJobs(state.index, { jobs: plan.jobs, inFile: true });
  const ending = failure ?? (stop === 'signal' ? context.signal.reason : undefined);
  const exitCode = ending instanceof GatewayError ? ending.exitCode : undefined;
  const summary = summaryDocument({
    counts,
    skipped: plan.jobs - plan.due,
    usage: state.usage,
    spending: state.spending,
    durationMs: context.io.elapsed() - batch.startedAt,
    outdir: shownPath(outdir, context.io.cwd),
    failures: state.failures,
    exitCode: ending === undefined ? undefined : (exitCode ?? outcomes.internal.code),
  });
  context.report.own = summary;
  await batch.lock.confirm();
  await writeSummary(outdir, JSON.stringify(summary));
  if (failure !== undefined) return;
  await tellEmptyShard(batch);
  await context.ui.note(describeCounts(counts));
  const cost = describeSpending(state.spending, plan.hasPrices);
  if (cost !== '') await context.ui.note(cost);
  if (!context.root.json && stop !== 'signal')
    await context.io.stdout.write(`${shownPath(join(outdir, batchFiles.results), context.io.cwd)}\n`);
  if (ending !== undefined) throw ending;
  const cut = incompleteStep(counts);
  if (cut) await context.ui.note(cut);
  await tellFailures(batch, counts);
  if (exitCodeOf(counts) !== outcomes.ok.code) {
    const kept = await tellKept(counts, state.beganAt);
    throw failed(counts, { stop, kept }, batch);
  }
}

/** Of few jobs and many shards some shards have none: nobody shall look for a mistake. */
async function tellEmptyShard({ plan, shard, source, context }: Omit<Batch, 'lock'>): Promise<void> {
  if (plan.jobs > 0 || shard === undefined) return;
  await context.ui.note(`no job of ${source.name} falls into --shard ${shard.index}/${shard.total}`);
}

/** Why the first few failed: nobody shall have to look for it. */
async function tellFailures({ state, context, outdir }: Batch, counts: Counts): Promise<void> {
  const results = shellWord(shownPath(join(outdir, batchFiles.results), context.io.cwd));
  for (const line of describeFailures(state.failures, { counts, most: mostTold, results })) await context.ui.note(line);
}

function failed(
  counts: Counts,
  { stop, kept }: { stop: Stop | undefined; kept: string | undefined },
  { flags, state }: Batch,
): GatewayError {
  const early = {
    cost: `stopped before a request that could pass --max-cost ${flags.maxCost}: `,
    tokens: `stopped after ${totalTokens(state.usage)} of ${flags.maxTokensTotal} tokens: `,
    failures: `stopped after ${countOf(counts.failed + counts.unknown, 'failure')}: `,
    signal: '',
  };
  const why = stop instanceof GatewayError ? `stopped: ${stop.message}: ` : stop && early[stop];
  const message = `${why ?? ''}${describeCounts(counts)}`;
  const tokens = isSpent(state.usage, flags.maxTokensTotal) ? '--max-tokens-total' : undefined;
  const next = nextStep(counts, stop === 'cost' ? '--max-cost' : tokens);
  const told = counts.pending > 0 ? next : `details are in ${batchFiles.summary}; ${next}`;
  const hint = [kept, told].filter((line) => line !== undefined).join('\n');
  return new GatewayError('batch-failed', message, { hint, sent: 'yes', retryable: true });
}

/** `--dry-run`: all jobs are checked, and nothing is sent or written. */
export async function showPlan(batch: Omit<Batch, 'lock'>): Promise<void> {
  const { plan, context } = batch;
  const { jobs, total, due } = plan;
  const facts = { jobs, total, due, skipped: jobs - due, origin: plan.origin };
  context.report.own = { schema: 'gateway-cli/batch-plan@1', ...facts };
  await tellEmptyShard(batch);
  if (context.root.json) return;
  await context.io.stdout.write(`${countOf(jobs, 'job')} checked, ${due} to send, ${jobs - due} sent before\n`);
}

function shownPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === '' ? '.' : short.startsWith('..') ? path : short;
}
