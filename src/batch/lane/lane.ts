import type { Answered } from '../../client/send.ts';
import { GatewayError } from '../../errors.ts';
import { createGate, sleepByTimer } from '../../transport/gate.ts';
import { endSignals } from '../folder/results.ts';
import { countOf } from '../report/summary.ts';
import { countOutcomes } from '../run/progress.ts';
import { checkAgain } from '../run/queue.ts';
import type { Stop } from '../run/runner.ts';
import { saveMemory } from '../run/send.ts';
import { createJobSender } from '../run/sender.ts';
import type { Batch } from '../types.ts';
import { collectPart } from './collect.ts';
import { askService, type LaneRun, record, requireKey } from './lane-run.ts';
import type { LaneBudgets } from './budgets.ts';
import { countPaid, openParts, waitingRows } from './parts.ts';
import { loseJobs } from './lose.ts';
import { settlePart } from './settle.ts';
import { recordCreated, submitJobs } from './submit.ts';
import type { Part } from './types.ts';
import { showWaiting } from './waiting.ts';

/** Creates batches of the jobs that are due, waits for all that are at the service, and collects their results. */
export async function sendByBatches(
  options: Pick<LaneRun, 'batch' | 'connections' | 'recorder' | 'hooks'>,
): Promise<Stop | undefined> {
  const { batch, recorder, hooks } = options;
  const { context, state, plan, builder } = batch;
  const { io } = context;
  saveMemory();
  const ends = countOutcomes(batch);
  const answers: LaneRun['answers'] = { next: undefined };
  const common = {
    batch,
    connectionTo: () => ({ send: () => answerWith(answers) }),
    gate: createGate({ elapsed: () => io.elapsed(), sleep: sleepByTimer, jobs: state.index.size }),
    pace: async () => undefined,
  };
  return runLane({
    ...options,
    answers,
    sender: createJobSender({ ...common, check: (job) => checkAgain(job, batch) }),
    collector: createJobSender({ ...common, check: (job) => builder.check(job, plan.origin) }),
    step: hooks.step,
    now: () => io.now(),
    budgets: await openBudgets(batch),
    async recordOutcome(attempt, outcome) {
      ends.count(attempt, outcome);
      try {
        await recorder.ended(attempt, outcome);
        if (outcome.state !== 'unsent')
          countPaid({ ...outcome, type: outcome.state, part: attempt.part }, state, attempt.bound);
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

/** What pays for parts of this run, and of earlier ones. */
async function openBudgets(batch: Batch): Promise<LaneBudgets | undefined> {
  const isPaid = [...batch.plan.gateways.values()].some(({ settings }) => settings.budget !== undefined);
  const wasPaid = [...batch.state.parts.values()].some(({ plan }) => plan.budget !== undefined);
  return isPaid || wasPaid ? (await import('./budgets.ts')).openLaneBudgets(batch) : undefined;
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
  const { state, flags } = batch;
  try {
    await adoptParts(run);
    const stop = await submitJobs(run);
    if (stop !== 'signal') await waitForParts(run);
    return stop;
  } catch (error) {
    if (error instanceof GatewayError && endSignals.has(error.class)) return 'signal';
    throw error;
  } finally {
    const end = flags.wait === false ? '' : ', gateway-cli batch cancel ends them';
    for (const isCreated of [true, false]) {
      const parts = openParts(state).filter((part) => (part.batch !== undefined) === isCreated);
      const jobs = parts.reduce((sum, part) => sum + waitingRows(part, state.index).length, 0);
      const verb = jobs === 1 ? 'goes' : 'go';
      const what = isCreated ? `${verb} on at the service, and will be billed` : 'may be at the service, and be billed';
      const next = isCreated ? `the same command collects the results${end}` : 'the same command finds out';
      if (jobs > 0) await batch.context.ui.note(`${countOf(jobs, 'job')} ${what}; ${next}`);
    }
  }
}

/** Parts whose creation was not answered: their jobs are sent in this run where nothing was created. */
async function adoptParts(run: LaneRun): Promise<void> {
  const { state, plan } = run.batch;
  const { index } = state;
  // What was planned alone is not at the service.
  for (const part of state.parts.values()) if (part.step === 'planned') await run.budgets?.end(part, false);
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

/** Polls slowly. */
async function waitForParts(run: LaneRun): Promise<void> {
  const { batch } = run;
  const { signal } = batch.context;
  const most = batch.flags.poll ?? usualPollMs;
  const waiting = showWaiting(run);
  const watch: Watch = { run, waiting, troubles: new Map(), failure: undefined, locked: new Map() };
  try {
    for (let pollMs = Math.min(firstPollMs, most); ; pollMs = Math.min(pollMs * 1.5, most)) {
      for (const part of watched(watch)) {
        signal.throwIfAborted();
        await lookAfter(part, watch).catch((error: unknown) => putAside(error, part, watch));
      }
      const isOnce = batch.flags.wait === false;
      if (isOnce || watched(watch).length === 0) {
        const [failure = isOnce ? watch.failure : undefined] = watch.locked.values();
        if (failure !== undefined) throw failure;
        return;
      }
      await waiting.show();
      await sleepByTimer(pollMs, signal);
    }
  } finally {
    waiting.stop();
  }
}

interface Watch {
  run: LaneRun;
  waiting: ReturnType<typeof showWaiting>;
  /** Parts that could not be looked after, by their marks: since when the service does not find their batch, or fails. */
  troubles: Map<string, { missing?: number; failing?: number }>;
  /** Why the first of them could not. */
  failure: GatewayError | undefined;
  /** Why parts of another key or service are left to another run, by their marks. */
  locked: Map<string, GatewayError>;
}

function watched({ run, locked }: Watch): Part[] {
  return openParts(run.batch.state).filter(({ mark }) => !locked.has(mark));
}

/** A part of another key or service holds up no other. Throws every other error; that of a lost lock says `sent: 'unknown'`. */
async function putAside(error: unknown, { mark }: Part, watch: Watch): Promise<void> {
  if (!(error instanceof GatewayError) || error.class !== 'batch-locked' || error.details.sent !== 'no') throw error;
  watch.locked.set(mark, error);
  if (watched(watch).length > 0) await watch.run.batch.context.ui.note(`${error.message}; polling goes on`);
}

/** So many ms of trouble end the wait; a batch that is not found for so long is lost. */
const maxTroubleMs = 3_600_000;

async function lookAfter(part: Part, watch: Watch): Promise<void> {
  const { run, waiting, troubles } = watch;
  const { context } = run.batch;
  let wasSeen = false;
  try {
    if (part.batch === undefined) {
      const found = await settlePart(part, run);
      if (found === undefined) return;
      await recordCreated(found, part, run);
    }
    const id = part.batch as string;
    const info = await askService(part.plan, run, ({ api }, deadline) => api.retrieve(id, deadline));
    run.step?.('part-polled', part.mark);
    waiting.see(part, info);
    wasSeen = true;
    if (info.hasEnded) await collectPart(part, info, run);
    troubles.delete(part.mark);
  } catch (error) {
    if (!isPassing(error)) throw error;
    context.signal.throwIfAborted();
    await bear(error, { part, wasSeen }, watch);
  }
}

/** Warns once of an error of a part whose batch was seen or not. Throws it, or gives up the part, if it lasts. */
async function bear(
  error: GatewayError,
  { part, wasSeen }: { part: Part; wasSeen: boolean },
  watch: Watch,
): Promise<void> {
  const { run, troubles } = watch;
  const { io, ui } = run.batch.context;
  const { mark } = part;
  const what = wasSeen ? `the results of ${part.batch} are` : `${part.batch} is`;
  const isMissing = error.details.status === 404;
  if (isMissing) await requireKey(part, run);
  const kind = isMissing ? 'missing' : 'failing';
  const known = troubles.get(mark) ?? {};
  const since = known[kind];
  const now = io.elapsed();
  watch.failure ??= isMissing ? error.but({ hint: `give the key with which it was submitted; ${givesUp}` }) : error;
  if (since === undefined) {
    if (isMissing) await ui.note(`${what} not found at the service; polling goes on: ${givesUp}`);
    else if (troubles.size === 0) await ui.note(`${error.message}; polling goes on`);
    troubles.set(mark, { ...known, [kind]: now });
    return;
  }
  if (now - since <= maxTroubleMs) return;
  if (!isMissing) throw error;
  await ui.warn(`${what} not found at the service; its jobs may have been billed`);
  await loseJobs(part, () => `${what} not found at the service`, run);
  await record([{ type: 'part', mark, step: 'lost', at: run.now() }], run);
}

const givesUp = 'a run that waits for it gives it up after 1 h, and its jobs are unknown';

/** A batch is not found right after its creation, and a network or a service can be down for a while. */
function isPassing(error: unknown): error is GatewayError {
  if (!(error instanceof GatewayError)) return false;
  if (error.details.status === 404) return true;
  return ['quota', 'gateway', 'not-sent', 'no-reply', 'incomplete', 'bad-reply'].includes(error.class);
}
