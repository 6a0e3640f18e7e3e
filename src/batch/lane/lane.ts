import { requireDescriptors } from '../../cli/run/command.ts';
import { endSignals, GatewayError } from '../../errors.ts';
import { countOf } from '../report/summary.ts';
import { countOutcomes } from '../run/progress.ts';
import type { Stop } from '../run/runner.ts';
import { saveMemory } from '../run/send.ts';
import type { Batch } from '../types.ts';
import type { LaneBudgets } from './budgets.ts';
import { type LaneRun, losePart } from './lane-run.ts';
import { countPaid, openParts, waitingRows } from './parts.ts';
import { settlePart } from './settle.ts';
import { submitJobs } from './submit.ts';
import { waitForParts } from './waiting.ts';

/** Creates batches of the jobs that are due, waits for all that are at the service, and collects their results. */
export async function sendByBatches(
  options: Pick<LaneRun, 'batch' | 'connections' | 'recorder' | 'hooks'>,
): Promise<Stop | undefined> {
  const { batch, recorder, hooks } = options;
  const { context, state } = batch;
  const { io } = context;
  requireDescriptors();
  saveMemory();
  const ends = countOutcomes(batch);
  return runLane({
    ...options,
    step: hooks.step,
    now: () => io.now(),
    budgets: await openBudgets(batch),
    async recordOutcome(entry, outcome) {
      ends.count(entry, outcome);
      try {
        await recorder.ended(entry, outcome);
        if (outcome.state !== 'unsent')
          countPaid({ ...outcome, type: outcome.state, part: entry.part }, state, entry.bound);
        state.index.mark(state.index.find(entry.job.id), 'atService', false);
      } catch (error) {
        if (outcome.state === 'unsent') throw error;
        const { failure } = (await outcome.saveReply?.(error)) ?? { failure: error };
        ends.lose(entry.job, failure);
        throw failure;
      }
    },
  });
}

/** The budgets that pay for the parts of this run and of earlier runs; undefined if no part has one. */
async function openBudgets(batch: Batch): Promise<LaneBudgets | undefined> {
  const isPaid = [...batch.plan.gateways.values()].some(({ settings }) => settings.budget !== undefined);
  const wasPaid = [...batch.state.parts.values()].some(({ plan }) => plan.budget !== undefined);
  return isPaid || wasPaid ? (await import('./budgets.ts')).openLaneBudgets(batch) : undefined;
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

/**
 * Looks for parts whose creation was not answered. Those that the service does not list are given up at the user's word, who may pay
 * for their jobs again: this run sends them.
 */
async function adoptParts(run: LaneRun): Promise<void> {
  const { state, plan, flags, context } = run.batch;
  const { index } = state;
  for (const part of openParts(state)) {
    if (part.batch !== undefined || (await settlePart(part, run)) !== 'none' || !flags.retryUnknown) continue;
    const waiting = waitingRows(part, index);
    await losePart(part, 'the service does not list its batch, whose creation was not answered', run);
    const again = waiting.filter((row) => index.has(row, 'inFile'));
    for (const row of again) index.mark(row, 'toSend');
    plan.toSend += again.length;
    plan.again += again.length;
    await context.ui.note(
      `${countOf(again.length, 'job')} of a batch that the service does not list ${again.length === 1 ? 'is' : 'are'} sent again`,
    );
  }
}
