import type { Context } from '../../cli/context.ts';
import { isAnimated } from '../../terminal/progress.ts';
import { timeText } from '../../clock.ts';
import { sizeOf } from '../../cli/input/prompt.ts';
import { hintOf } from '../../advice.ts';
import type { SharedGate } from '../../transport/gate.ts';
import { applyEnd, countCost, totalTokens } from '../folder/state.ts';
import type { Job, JobError, JobOutcome, Batch, JournalEntry } from '../types.ts';
import { countOf, describeSpending } from '../report/summary.ts';
import { GatewayError, messageOf } from '../../errors.ts';

const liveMs = 250;

const lineMs = 10_000;

/** Counts what has ended, and shows it while the batch runs: a live line on a terminal, else a line every ten seconds. */
export function trackProgress(batch: Batch, gate: SharedGate) {
  const { context, plan, state, startedAt } = batch;
  const { io, root, ui } = context;
  const tally = countOutcomes(batch);
  const live = isAnimated({ io, quiet: root.quiet === true || root.verbose === true });
  const spinner = live ? ui.progress('sending') : undefined;
  const show = (): void => {
    const text = progressText({
      toSend: plan.toSend,
      ...tally.counts,
      tokens: totalTokens(state.usage),
      cost: describeSpending({ ...state.spending, unknown: 0 }),
      elapsedMs: io.elapsed() - startedAt,
      pausedMs: gate.waitMs,
    });
    if (spinner) spinner.update(text);
    else void ui.note(text);
  };
  const timer = setInterval(show, live ? liveMs : lineMs).unref();
  return {
    ...tally,
    stop() {
      clearInterval(timer);
      spinner?.stop();
    },
  };
}

/** What has ended in a run. */
export type Tally = ReturnType<typeof countOutcomes>;

/** Counts what has ended, for the summary. */
export function countOutcomes({ context: { ui }, state }: Pick<Batch, 'context' | 'state'>) {
  let lost = 0;
  const counts = { ended: 0, failed: 0 };
  return {
    counts,
    /** It went out, and its result is not on the disk. The first such failure ends the batch, whose end reports it. */
    lose({ id }: Pick<Job, 'id'>, error: unknown) {
      state.index.setState(state.index.find(id), 'unknown');
      const failure = error instanceof GatewayError ? error : new GatewayError('internal', messageOf(error));
      state.failures.set(
        id,
        lostError(failure, (text) => ui.redact(text)),
      );
      if (lost++ > 0) void ui.warn([`${id}: ${failure.message}`, hintOf(failure)].filter(Boolean).join('; '));
    },
    count({ job: { id }, bound }: JournalEntry, outcome: JobOutcome) {
      // It is what it was.
      if (outcome.state === 'unsent') return;
      applyEnd(state.index.find(id), outcome.state, { id, ...outcome }, state);
      countCost({ ...outcome, type: outcome.state }, state, bound);
      counts.ended++;
      if (outcome.state !== 'done') counts.failed++;
    },
  };
}

/** The error of a job whose result could not be written: only if its reply came is it known to be sent. The hint names the recovery file. */
function lostError(error: GatewayError, redact: (text: string) => string): JobError {
  const { sent } = error.details;
  const hint = hintOf(error);
  return {
    class: error.class,
    message: redact(error.message),
    billed: sent === 'yes' ? error.billed : 'unknown',
    hint: hint === undefined ? undefined : redact(hint),
  };
}

/** Shows how many jobs are checked, and what is hashed for them: a file may have gigabytes. */
export function trackChecking(context: Context) {
  const progress = context.ui.progress('checking the jobs');
  context.atEnd(async () => progress.stop());
  const counts = { jobs: 0, bytes: 0 };
  const show = (): void => {
    const hashed = counts.bytes < shownBytes ? '' : `, ${sizeOf(counts.bytes)} hashed`;
    progress.update(`${countOf(counts.jobs, 'job')}${hashed}`);
  };
  return {
    progress,
    addJob() {
      counts.jobs++;
      show();
    },
    addBytes(bytes: number) {
      counts.bytes += bytes;
      show();
    },
  };
}

/** Fewer bytes are hashed in no time. */
const shownBytes = 10_000_000;

/** What is known about a run while it goes on. */
interface ProgressFacts {
  /** Jobs that this run sends, and how many of them have ended. */
  toSend: number;
  ended: number;
  failed: number;
  tokens: number;
  /** Empty if it is not known. */
  cost?: string;
  elapsedMs: number;
  /** ms until a pause that the gateway asked for is over. */
  pausedMs: number;
}

/** One line for people: done, failed, rate, tokens, time left. */
export function progressText({ toSend, ended, failed, tokens, cost = '', elapsedMs, pausedMs }: ProgressFacts): string {
  const perSecond = elapsedMs > 0 ? (ended / elapsedMs) * 1000 : 0;
  const parts = [`${ended}/${toSend}`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (ended > 0) parts.push(rateText(perSecond));
  if (tokens > 0) parts.push(`${short(tokens)} tokens`);
  if (cost !== '') parts.push(cost);
  if (pausedMs > 0) parts.push(`paused for ${timeText(Math.ceil(pausedMs / 1000) * 1000)}`);
  else if (ended > 0 && ended < toSend) parts.push(`${timeText(((toSend - ended) / perSecond) * 1000)} left`);
  return parts.join(', ');
}

function rateText(perSecond: number): string {
  if (perSecond >= 10) return `${Math.round(perSecond)}/s`;
  if (perSecond >= 1) return `${perSecond.toFixed(1)}/s`;
  return `${(perSecond * 60).toFixed(1)}/min`;
}

function short(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}
