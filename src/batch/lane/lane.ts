import type { Answered } from '../../client/send.ts';
import { startDeadline } from '../../client/deadline.ts';
import { GatewayError } from '../../errors.ts';
import { createGate, sleepByTimer } from '../../transport/gate.ts';
import type { Recorder } from '../folder/recorder.ts';
import { countOf } from '../report/summary.ts';
import { countOutcomes } from '../run/progress.ts';
import { checkAgain } from '../run/queue.ts';
import type { Stop } from '../run/runner.ts';
import type { openCosts } from '../run/send.ts';
import { createJobSender } from '../run/sender.ts';
import type { Batch } from '../run/types.ts';
import { collectPart } from './collect.ts';
import { apiOf, type LaneRun } from './lane-run.ts';
import { openParts, waitingRows } from './parts.ts';
import { settlePart } from './settle.ts';
import { recordCreated, submitJobs } from './submit.ts';
import type { Part, PartPlan } from './types.ts';
import { showWaiting } from './waiting.ts';

/** A look at the service takes at most so many ms. */
const lookMs = 120_000;

interface LaneOptions extends Pick<LaneRun, 'batch' | 'connections' | 'hooks'> {
  recorder: Recorder;
  costs: Awaited<ReturnType<typeof openCosts>>;
}

/** Creates batches of the jobs that are due, waits for all that are at the service, and collects their results. */
export async function sendByBatches(options: LaneOptions): Promise<Stop | undefined> {
  const { batch, recorder, costs, hooks } = options;
  const { context, state, plan, builder } = batch;
  const { io, signal } = context;
  const ends = countOutcomes(batch, costs);
  const answers: LaneRun['answers'] = { next: undefined };
  const common = {
    batch,
    connectionTo: () => ({ send: () => answerWith(answers) }),
    gate: createGate({ elapsed: () => io.elapsed(), sleep: sleepByTimer, jobs: state.index.size }),
    pace: async () => undefined,
    abortOn: new AbortController().signal,
    costs,
  };
  return runLane({
    ...options,
    answers,
    sender: createJobSender({ ...common, check: (job) => checkAgain(job, batch) }),
    collector: createJobSender({ ...common, check: (job) => builder.check(job, plan.origin) }),
    step: hooks.step,
    now: () => io.now(),
    startDeadline: () => startDeadline(lookMs, signal),
    async recordOutcome(attempt, outcome) {
      ends.count(attempt, outcome);
      try {
        await recorder.ended(attempt, outcome);
        state.index.mark(state.index.find(attempt.job.id), 'atService', false);
      } catch (error) {
        if (outcome.state === 'unsent') throw error;
        const { failure } = (await outcome.saveReply?.(error)) ?? { failure: error };
        ends.lose(attempt.job, failure);
        throw failure;
      }
    },
  });
}

/** A result is read as the reply that it would have been. */
async function answerWith(answers: LaneRun['answers']): Promise<Answered> {
  const { next } = answers;
  answers.next = undefined;
  if (next === undefined) throw new GatewayError('internal', 'a job of a batch was sent alone', { sent: 'no' });
  if (next instanceof GatewayError) throw next;
  return next;
}

async function runLane(run: LaneRun): Promise<Stop | undefined> {
  const { batch } = run;
  const { context, state, flags } = batch;
  try {
    await adoptParts(run);
    const stop = await submitJobs(run);
    if (stop === 'signal') return stop;
    return (await waitForParts(run)) ?? stop;
  } catch (error) {
    if (context.signal.aborted && error === context.signal.reason) return 'signal';
    throw error;
  } finally {
    const parts = openParts(state);
    const jobs = parts.reduce((sum, part) => sum + waitingRows(part, state.index).length, 0);
    if (jobs > 0) await noteOpen(jobs, { ...batch, isQuiet: flags.wait === false });
  }
}

async function noteOpen(
  jobs: number,
  { context, isQuiet }: Pick<Batch, 'context'> & { isQuiet: boolean },
): Promise<void> {
  const what = `${countOf(jobs, 'job')} ${jobs === 1 ? 'goes' : 'go'} on at the service, and will be billed`;
  const collect = 'the same command collects the results';
  await context.ui.note(isQuiet ? `${what}; ${collect}` : `${what}; ${collect}, gateway-cli batch cancel ends them`);
}

/** Parts whose creation was not answered: their jobs are sent in this run where nothing was created. */
async function adoptParts(run: LaneRun): Promise<void> {
  const { state, plan } = run.batch;
  const { index } = state;
  for (const part of openParts(state)) {
    if (part.batch !== undefined) continue;
    const submitted = waitingRows(part, index).map((row) => [row, index.requestOf(row)] as const);
    const info = await settlePart(part, run);
    if (info !== undefined) await recordCreated(info, part, run);
    if (!wasDropped(part)) continue;
    for (const [row, request] of submitted.filter(([one]) => index.has(one, 'inFile'))) {
      index.mark(row, 'toSend');
      index.setRequest(row, request);
      plan.toSend++;
    }
  }
}

/** What became of a part while it was looked for. */
function wasDropped({ step }: Part): boolean {
  return step === 'dropped';
}

const usualPollMs = 60_000;
const firstPollMs = 5000;

/** Polls slowly. Resolves with `signal` where that ended it. */
async function waitForParts(run: LaneRun): Promise<Stop | undefined> {
  const { batch } = run;
  const { signal } = batch.context;
  const most = batch.flags.poll ?? usualPollMs;
  const waiting = showWaiting(run);
  const trouble = { since: undefined as number | undefined };
  try {
    for (let pollMs = Math.min(firstPollMs, most); ; pollMs = Math.min(pollMs * 1.5, most)) {
      for (const part of openParts(batch.state)) {
        signal.throwIfAborted();
        await lookAfter(part, { run, waiting, trouble });
      }
      if (openParts(batch.state).length === 0 || batch.flags.wait === false) return undefined;
      await waiting.tell();
      await sleepByTimer(pollMs, signal);
    }
  } catch (error) {
    if (signal.aborted) return 'signal';
    throw error;
  } finally {
    waiting.stop();
  }
}

interface Watch {
  run: LaneRun;
  waiting: ReturnType<typeof showWaiting>;
  trouble: { since: number | undefined };
}

/** A service that cannot be reached for so many ms ends the wait. */
const mostTroubleMs = 3_600_000;

async function lookAfter(part: Part, { run, waiting, trouble }: Watch): Promise<void> {
  const { context } = run.batch;
  try {
    if (part.batch === undefined) {
      const found = await settlePart(part, run);
      if (found === undefined) return;
      await recordCreated(found, part, run);
    }
    const { api } = await apiOf(part.plan as PartPlan, run);
    const deadline = run.startDeadline();
    const info = await api.retrieve(part.batch as string, deadline).finally(() => deadline.end());
    run.step?.('part-polled', part.mark);
    trouble.since = undefined;
    waiting.see(part, info);
    if (info.hasEnded) await collectPart(part, info, run);
  } catch (error) {
    if (context.signal.aborted || !isPassing(error)) throw error;
    const now = context.io.elapsed();
    if (trouble.since === undefined) await context.ui.note(`${(error as GatewayError).message}; polling goes on`);
    trouble.since ??= now;
    if (now - trouble.since > mostTroubleMs || run.batch.flags.wait === false) throw error;
  }
}

/** A batch is not found right after its creation, and a network or a service can be down for a while. */
function isPassing(error: unknown): error is GatewayError {
  if (!(error instanceof GatewayError)) return false;
  if (error.details.status === 404) return true;
  return ['quota', 'gateway', 'not-sent', 'no-reply', 'incomplete', 'bad-reply'].includes(error.class);
}
