import { endSignals, GatewayError } from '../../library/index.ts';
import { hasDue } from '../run/links.ts';
import { nameRows } from '../run/row-names.ts';
import { countOutcomes, recordEnd } from '../run/tally.ts';
import type { Stop } from '../run/runner.ts';
import { type LaneRun, giveUpProviderBatch } from './lane-run.ts';
import { endOffline } from '../folder/fold.ts';
import { listOpenProviderBatches, listAtService } from './provider-batches.ts';
import { lookForBatch } from './look-for-batch.ts';
import { submitJobs } from './submit.ts';
import { pollProviderBatches } from './polling.ts';

/** Creates batches of the service of the jobs that are due, waits for all provider batches, and collects their results. */
export async function sendByBatches(
  options: Pick<LaneRun, 'batch' | 'budgets' | 'clients' | 'recorder' | 'hooks'>,
): Promise<Stop | undefined> {
  const { batch, recorder } = options;
  const tally = countOutcomes(batch);
  return runLane({
    ...options,
    sentAgain: { slots: new Set(), due: [] },
    places: listPlaces(batch),
    async recordOutcome(entry, outcome) {
      tally.count(outcome);
      await recordEnd(entry, outcome, { recorder, tally });
    },
  });
}

async function runLane(run: LaneRun): Promise<Stop | undefined> {
  const { batch } = run;
  const { state, plan } = batch;
  try {
    await adoptProviderBatches(run);
    for (;;) {
      const stop = await submitJobs(run);
      if (stop !== 'signal') await pollProviderBatches(run);
      const due = run.sentAgain.due.splice(0);
      if (stop !== undefined || (due.length === 0 && !hasDue(batch))) return stop;
      for (const place of due) plan.due[place] = 1;
    }
  } catch (error) {
    if (error instanceof GatewayError && endSignals.has(error.class)) return 'signal';
    throw error;
  } finally {
    endOffline(state);
    await tellLeft(batch);
  }
}

/** Tells of jobs that the run leaves at the service, first of those in provider batches that are known to be there. */
async function tellLeft({ host, policy, state }: LaneRun['batch']): Promise<void> {
  for (const isCreated of [true, false]) {
    const providerBatches = listOpenProviderBatches(state).filter(
      (providerBatch) => (providerBatch.batch !== undefined) === isCreated,
    );
    const jobs = providerBatches.reduce((sum, providerBatch) => sum + listAtService(providerBatch, state).length, 0);
    if (jobs > 0) await host.on({ type: 'left-at-service', jobs, isCreated, isWaitedFor: policy.waits !== false });
  }
}

/**
 * Looks for provider batches whose creation was not answered. Batches that the service does not list are given up at the user's
 * word, who may pay for their jobs again: this run sends them.
 */
async function adoptProviderBatches(run: LaneRun): Promise<void> {
  const { host, policy, state, plan } = run.batch;
  for (const providerBatch of listOpenProviderBatches(state)) {
    if (providerBatch.batch !== undefined) continue;
    const found = await lookForBatch(providerBatch, run);
    if (found !== 'none' || !policy.retry?.includes('unknown')) continue;
    const slots = listAtService(providerBatch, state);
    await giveUpProviderBatch(
      providerBatch,
      'the service does not list its batch, whose creation was not answered',
      run,
    );
    // Jobs beyond the limit are unknown, and sent by another run.
    const room = Math.max(0, (policy.limit ?? Number.POSITIVE_INFINITY) - plan.toSend);
    const again = slots.flatMap((slot) => run.places.get(slot) ?? []).slice(0, room);
    for (const place of again) plan.due[place] = 1;
    plan.toSend += again.length;
    plan.again += again.length;
    if (again.length === 0) continue;
    const names = await nameRows(again, again.length, run.batch.jobs);
    await host.on({ type: 'sent-again', jobs: again.length, names });
  }
}

/** Rows of this shard, by their slots. */
function listPlaces({ plan: { table, isOwn } }: LaneRun['batch']): Map<number, number> {
  const places = new Map<number, number>();
  for (let place = 0; place < table.size; place++) if (isOwn(place)) places.set(table.slots[place] as number, place);
  return places;
}
