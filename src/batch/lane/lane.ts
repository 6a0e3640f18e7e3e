import { endSignals, GatewayError } from '../../errors.ts';
import { hasDue } from '../run/links.ts';
import { countOutcomes } from '../run/tally.ts';
import type { Stop } from '../run/runner.ts';
import { type LaneRun, giveUpProviderBatch } from './lane-run.ts';
import { countPaid, endOffline, listOpenProviderBatches, waitingRows } from './provider-batches.ts';
import { lookForBatch } from './look-for-batch.ts';
import { submitJobs } from './submit.ts';
import { waitForProviderBatches } from './waiting.ts';

/** Creates batches of the jobs that are due, waits for all that are at the service, and collects their results. */
export async function sendByBatches(
  options: Pick<LaneRun, 'batch' | 'budgets' | 'clients' | 'recorder' | 'hooks'>,
): Promise<Stop | undefined> {
  const { batch, recorder, hooks } = options;
  const { host, state } = batch;
  const ends = countOutcomes(batch);
  return runLane({
    ...options,
    step: hooks.step,
    sentAgain: { rows: new Set(), due: [] },
    now: () => host.now(),
    async recordOutcome(entry, outcome) {
      ends.count(entry, outcome);
      try {
        await recorder.ended(entry, outcome);
        if (outcome.state !== 'unsent')
          countPaid({ ...outcome, type: outcome.state, part: entry.part }, state, entry.bound);
        state.index.setFlag(state.index.find(entry.job.id), 'atService', false);
      } catch (error) {
        if (outcome.state === 'unsent') throw error;
        const { failure } = (await outcome.saveReply?.(error)) ?? { failure: error };
        ends.lose(entry.job, failure);
        throw failure;
      }
    },
  });
}

async function runLane(run: LaneRun): Promise<Stop | undefined> {
  const { batch } = run;
  const { host, policy, state, plan } = batch;
  try {
    await adoptProviderBatches(run);
    for (;;) {
      if (plan.parents.size > 0) await batch.jobs.refreshResults();
      const stop = await submitJobs(run);
      if (stop !== 'signal') await waitForProviderBatches(run);
      const due = run.sentAgain.due.splice(0);
      if (stop !== undefined || (due.length === 0 && !hasDue(run.batch))) return stop;
      for (const row of due) state.index.setFlag(row, 'toSend');
      if (due.length > 0) plan.toSend = due.length;
    }
  } catch (error) {
    if (error instanceof GatewayError && endSignals.has(error.class)) return 'signal';
    throw error;
  } finally {
    endOffline(state);
    for (const isCreated of [true, false]) {
      const providerBatches = listOpenProviderBatches(state).filter(
        (providerBatch) => (providerBatch.batch !== undefined) === isCreated,
      );
      const jobs = providerBatches.reduce(
        (sum, providerBatch) => sum + waitingRows(providerBatch, state.index).length,
        0,
      );
      if (jobs > 0) await host.on({ type: 'left-at-service', jobs, isCreated, isWaitedFor: policy.waits !== false });
    }
  }
}

/**
 * Looks for provider batches whose creation was not answered. Those that the service does not list are given up at the user's word, who may pay
 * for their jobs again: this run sends them.
 */
async function adoptProviderBatches(run: LaneRun): Promise<void> {
  const { host, policy, state, plan } = run.batch;
  const { index } = state;
  for (const providerBatch of listOpenProviderBatches(state)) {
    if (providerBatch.batch !== undefined) continue;
    const found = await lookForBatch(providerBatch, run);
    if (found !== 'none' || !policy.retryUnknown) continue;
    const waiting = waitingRows(providerBatch, index);
    await giveUpProviderBatch(
      providerBatch,
      'the service does not list its batch, whose creation was not answered',
      run,
    );
    const again = waiting.filter((row) => index.has(row, 'inFile'));
    for (const row of again) index.setFlag(row, 'toSend');
    plan.toSend += again.length;
    plan.again += again.length;
    await host.on({ type: 'sent-again', jobs: again.length });
  }
}
