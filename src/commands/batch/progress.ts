import { formatCount, describeTimes, type ProviderBatch, type RunProgress, totalTokens } from '../../batch/index.ts';
import type { Context } from '../../cli/context.ts';
import { formatSize } from '../../cli/input/prompt.ts';
import { timeText } from '../../clock.ts';
import type { BatchInfo } from '../../formats/batch-format.ts';
import { isAnimated } from '../../terminal/progress.ts';
import { describeSpending } from './summary.ts';

const liveMs = 250;

const lineMs = 10_000;

/** A line that is drawn while a run goes on. */
export interface LiveLine {
  stop(): void;
}

/** Shows how far a run is: a live line on a terminal, else a line every ten seconds. */
export function showProgress(
  { toSend, startedAt }: { toSend: number; startedAt: number },
  progress: () => RunProgress,
  { io, root, ui }: Context,
): LiveLine {
  const live = isAnimated({ io, quiet: root.quiet === true || root.verbose === true });
  const spinner = live ? ui.progress('sending') : undefined;
  const show = (): void => {
    const { usage, spending, ...facts } = progress();
    const text = progressText({
      toSend,
      ...facts,
      tokens: totalTokens(usage),
      cost: describeSpending({ ...spending, unknown: 0 }),
      elapsedMs: io.elapsed() - startedAt,
    });
    if (spinner) spinner.update(text);
    else void ui.note(text);
  };
  const timer = setInterval(show, live ? liveMs : lineMs).unref();
  return {
    stop() {
      clearInterval(timer);
      spinner?.stop();
    },
  };
}

/** What is shown while results are waited for that the service makes. */
export interface WaitingLine extends LiveLine {
  see(mark: string, info: BatchInfo): void;
  show(): Promise<void>;
}

/** On a terminal a live line, else a line when the count changes. */
export function showWaiting(parts: () => readonly ProviderBatch[], { io, root, ui }: Context): WaitingLine {
  const live = isAnimated({ io, quiet: root.quiet === true || root.verbose === true });
  const spinner = live ? ui.progress('waiting for the service') : undefined;
  const infos = new Map<string, BatchInfo>();
  let shown = '';

  function describe(): { count: string; times: string } {
    const open = parts();
    const jobs = open.reduce((sum, providerBatch) => sum + providerBatch.rows.length, 0);
    const done = open.reduce((sum, { mark }) => sum + (infos.get(mark)?.done ?? 0), 0);
    return { count: `at the service: ${done} of ${jobs} done`, times: `, ${describeTimes(open, io.now())}` };
  }

  const draw = (): void => {
    if (parts().length === 0) return;
    const { count, times } = describe();
    spinner?.update(count + times);
  };
  const timer = spinner && setInterval(draw, 1000).unref();
  return {
    see: (mark, info) => void infos.set(mark, info),
    async show() {
      if (spinner) return draw();
      const { count, times } = describe();
      if (count === shown) return;
      shown = count;
      await ui.note(count + times);
    },
    stop() {
      clearInterval(timer);
      spinner?.stop();
    },
  };
}

/** Shows how many jobs are checked, and what is hashed for them: a file may have gigabytes. */
export function trackChecking(context: Context) {
  const progress = context.ui.progress('checking the jobs');
  context.atEnd(async () => progress.stop());
  const counts = { jobs: 0, bytes: 0 };
  const show = (): void => {
    const hashed = counts.bytes < shownBytes ? '' : `, ${formatSize(counts.bytes)} hashed`;
    progress.update(`${formatCount(counts.jobs, 'job')}${hashed}`);
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
