import { describeTimes, formatCount, type ProviderBatch, type RunProgress, totalTokens } from '../../../batch/index.ts';
import type { Context } from '../../context.ts';
import { append, type BatchInfo, timeText } from '../../../library/index.ts';
import { isAnimated } from '../../terminal/progress.ts';
import { describeSpending } from './summary.ts';

const liveMs = 250;

const lineMs = 10_000;

/** The time over which the rate is measured, in ms: an older rate tells nothing about the time that the rest takes. */
const recentMs = 30_000;

/** A line that is drawn while a run goes on. */
export interface LiveLine {
  stop(): void;
}

/** Shows the progress of a run: a live line on a terminal, otherwise a line every ten seconds. */
export function showProgress(
  { toSend, startedAt }: { toSend: number; startedAt: number },
  progress: () => RunProgress,
  { io, root, ui }: Context,
): LiveLine {
  const live = isAnimated({ io, quiet: root.quiet === true || root.verbose === true });
  const spinner = live ? ui.progress('sending') : undefined;
  const first = progress();
  const hasEarlier = totalTokens(first.usage) > 0 || describeCost(first) !== '';
  const seen = [{ ended: 0, elapsedMs: 0 }];
  const show = (): void => {
    const now = progress();
    const { usage, spending: _, ...facts } = now;
    const elapsedMs = io.elapsed() - startedAt;
    while (seen[1] !== undefined && elapsedMs - seen[1].elapsedMs >= recentMs) seen.shift();
    const shown = { toSend, ...facts, elapsedMs, before: seen[0], hasEarlier };
    const text = progressText({ ...shown, tokens: totalTokens(usage), cost: describeCost(now) });
    seen.push({ ended: facts.ended, elapsedMs });
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

/** The known cost; requests of unknown cost are not told here. */
function describeCost({ spending }: RunProgress): string {
  return describeSpending({ ...spending, unknown: 0 });
}

/** The line that is shown while the run waits for results of the service. */
export interface WaitingLine extends LiveLine {
  see(mark: string, info: BatchInfo): void;
  show(): Promise<void>;
}

/** Shows the wait for results: on a terminal a live line, otherwise a line when the count changes. */
export function showWaiting(listOpen: () => readonly ProviderBatch[], { io, root, ui }: Context): WaitingLine {
  const live = isAnimated({ io, quiet: root.quiet === true || root.verbose === true });
  const spinner = live ? ui.progress('waiting for the service') : undefined;
  const infos = new Map<string, BatchInfo>();
  let shown = '';

  function describe(): { count: string; times: string } {
    const open = listOpen();
    const jobs = open.reduce((sum, providerBatch) => sum + providerBatch.slots.length, 0);
    const done = open.reduce((sum, { mark }) => sum + (infos.get(mark)?.done ?? 0), 0);
    return { count: `at the service: ${done} of ${jobs} done`, times: `, ${describeTimes(open, io.now())}` };
  }

  const draw = (): void => {
    if (listOpen().length === 0) return;
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

/** Shows the number of checked jobs. */
export function trackChecking(context: Context) {
  const progress = context.ui.progress('checking the jobs');
  let isOver = false;
  context.atEnd(async () => {
    progress.stop();
    if (context.signal.aborted && !isOver) await context.ui.note('no job was sent: run the same command again');
  });
  let jobs = 0;
  return {
    progress,
    stop() {
      isOver = true;
      progress.stop();
    },
    add() {
      progress.update(formatCount(++jobs, 'job'));
    },
  };
}

/** The facts of a run while it goes on. */
interface ProgressFacts {
  /** The number of jobs that this run sends, and of those that have ended. */
  toSend: number;
  ended: number;
  failed: number;
  /** The tokens of all runs of the folder; the cost is of all runs, too. */
  tokens: number;
  /** The cost as a text; empty if it is not known. */
  cost?: string;
  /** Earlier runs have spent some of the tokens and costs. */
  hasEarlier?: boolean;
  elapsedMs: number;
  /** The progress half a minute ago, or at the start. */
  before?: { ended: number; elapsedMs: number } | undefined;
  /** ms until a pause that the gateway asked for is over. */
  pausedMs: number;
}

/** The line for people: done, failed, rate, tokens, time left. The tokens and costs of earlier runs are in a sentence of their own. */
export function progressText(facts: ProgressFacts): string {
  const { toSend, ended, failed, tokens, cost = '', elapsedMs, pausedMs } = facts;
  const { before = { ended: 0, elapsedMs: 0 }, hasEarlier = false } = facts;
  const perSecond = elapsedMs > before.elapsedMs ? ((ended - before.ended) / (elapsedMs - before.elapsedMs)) * 1000 : 0;
  const parts = [`${ended}/${toSend}`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (ended > 0) parts.push(rateText(perSecond));
  const spent = [...(tokens > 0 ? [`${short(tokens)} tokens`] : []), ...(cost === '' ? [] : [cost])];
  if (!hasEarlier) append(parts, spent);
  if (pausedMs > 0) parts.push(`paused for ${timeText(Math.ceil(pausedMs / 1000) * 1000)}`);
  else if (perSecond > 0 && ended < toSend) parts.push(`${timeText(((toSend - ended) / perSecond) * 1000)} left`);
  const text = parts.join(', ');
  return hasEarlier && spent.length > 0 ? `${text}; in all runs: ${spent.join(', ')}` : text;
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
