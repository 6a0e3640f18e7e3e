import { type GatewayError, sleepByTimer } from '../../library/index.ts';
import { collectProviderBatch } from './collect.ts';
import { chooseMeasure } from './failures.ts';
import { giveUpProviderBatch, type LaneRun } from './lane-run.ts';
import { callService, findKeyError } from './service-calls.ts';
import { isOffline, listOpenProviderBatches, notFoundHint, type ProviderBatch } from './provider-batches.ts';
import { lookForBatch, unlistedError } from './look-for-batch.ts';

/** The waits between two looks, in ms: they grow by half, from the first to the longest. */
const firstPollMs = 100;
const longestPollMs = 60_000;
/** The time, in ms, for which a run looks for a batch that a service can list late. The next run looks again. */
const unlistedMs = 120_000;

/** Polls the provider batches at the service, slowly, and collects their results. */
export async function pollProviderBatches(run: LaneRun): Promise<void> {
  const { batch } = run;
  const { host, policy } = batch;
  const { signal } = host;
  const watch: WatchState = {
    run,
    troubles: new Map(),
    failure: undefined,
    left: new Map(),
    unlisted: new Set(),
  };
  const began = host.elapsed();
  await host.on({ type: 'polling', batches: () => listOpenProviderBatches(batch.state) });
  try {
    for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 1.5, longestPollMs)) {
      for (const providerBatch of listWatched(watch)) {
        signal.throwIfAborted();
        await lookAt(providerBatch, watch);
      }
      const left = listWatched(watch);
      const isOnce = policy.waits === false && !left.some(isOffline);
      const areUnlisted = left.every((providerBatch) => watch.unlisted.has(providerBatch));
      const isOver = host.elapsed() - began >= (run.hooks.unlistedMs ?? unlistedMs);
      if (isOnce || left.length === 0 || (areUnlisted && isOver)) {
        const [error] = watch.left.values();
        const failure = error ?? (isOnce ? watch.failure : undefined);
        if (failure !== undefined) throw failure;
        if (watch.unlisted.size > 0) throw unlistedError([...watch.unlisted], host);
        return;
      }
      await host.on({ type: 'polled-all' });
      await sleepByTimer(pollMs, signal);
    }
  } finally {
    await host.on({ type: 'polling-ended' });
  }
}

interface WatchState {
  run: LaneRun;
  /** The time since when a provider batch could not be looked at, by the measure and its mark. */
  troubles: Map<string, number>;
  /** The first error of a failed look. */
  failure: GatewayError | undefined;
  /** Provider batches whose creation was not answered, and that the service does not list. */
  unlisted: Set<ProviderBatch>;
  /** The reasons why provider batches of another API key or service are left to another run, by their marks. */
  left: Map<string, GatewayError>;
}

function listWatched({ run, left }: WatchState): ProviderBatch[] {
  return listOpenProviderBatches(run.batch.state).filter(({ mark }) => !left.has(mark));
}

async function lookAt(providerBatch: ProviderBatch, watch: WatchState): Promise<void> {
  const { run, troubles, unlisted } = watch;
  const { mark } = providerBatch;
  let wasSeen = false;
  try {
    if (providerBatch.batch === undefined && (await lookForBatch(providerBatch, run)) === 'none')
      unlisted.add(providerBatch);
    else unlisted.delete(providerBatch);
    const id = providerBatch.batch;
    if (id === undefined) return;
    const info = await callService(providerBatch.plan, run, ({ api }, deadline) => api.retrieve(id, deadline));
    run.hooks.step?.('part-polled', mark);
    await run.batch.host.on({ type: 'polled', mark, info });
    wasSeen = true;
    if (info.hasEnded) await collectProviderBatch(providerBatch, info, run);
    troubles.delete(`wait ${mark}`);
    troubles.delete(`miss ${mark}`);
  } catch (error) {
    await tolerate(error, { providerBatch, wasSeen }, watch);
  }
}

/** Trouble that lasts longer than this, in ms, ends the wait; a batch that is not found for longer is lost. */
const maxTroubleMs = 3_600_000;
/** With `--retry unknown`, a batch that is not found for longer than this, in ms, is lost. */
const maxMissingMs = 60_000;

/** Goes on after a failure that may pass, or that concerns another run, and tells it once. Throws any other failure, and one that lasts. */
async function tolerate(
  thrown: unknown,
  { providerBatch, wasSeen }: { providerBatch: ProviderBatch; wasSeen: boolean },
  watch: WatchState,
): Promise<void> {
  const { run, troubles } = watch;
  const { host, policy } = run.batch;
  const { mark } = providerBatch;
  const isMissing = chooseMeasure('look', thrown) === 'miss';
  const error = ((isMissing && (await findKeyError(providerBatch, run))) || thrown) as GatewayError;
  const measure = chooseMeasure('look', error);
  if (measure === undefined) throw error;
  if (measure === 'leave') {
    watch.left.set(mark, error);
    if (listWatched(watch).length > 0) await host.on({ type: 'poll-failed', error });
    return;
  }
  host.signal.throwIfAborted();
  const what = wasSeen ? `the results of ${providerBatch.batch} are` : `${providerBatch.batch} is`;
  watch.failure ??= measure === 'miss' ? error.withDetails({ hint: notFoundHint }) : error;
  const now = host.elapsed();
  const since = troubles.get(`${measure} ${mark}`);
  if (since === undefined) {
    if (measure === 'miss') await host.on({ type: 'not-found', what });
    else if (troubles.size === 0) await host.on({ type: 'poll-failed', error });
    troubles.set(`${measure} ${mark}`, now);
    return;
  }
  const mayMissShort = measure === 'miss' && policy.retry?.includes('unknown');
  if (now - since <= (mayMissShort ? maxMissingMs : maxTroubleMs)) return;
  if (measure === 'wait') throw error;
  await host.on({ type: 'given-up', what });
  await giveUpProviderBatch(providerBatch, `${what} not found at the service`, run);
}
