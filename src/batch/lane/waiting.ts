import { GatewayError } from '../../errors.ts';
import { sleepByTimer } from '../../transport/gate.ts';
import { collectProviderBatch } from './collect.ts';
import { callService, type LaneRun, giveUpProviderBatch, requireSameKey } from './lane-run.ts';
import { isOffline, listOpenProviderBatches, notFoundHint, type ProviderBatch } from './provider-batches.ts';
import { lookForBatch, unlistedError } from './look-for-batch.ts';

/** The waits between two looks grow by half, from the first to the longest. */
const firstPollMs = 100;
const longestPollMs = 60_000;
/** How long a run looks for a batch that a service can list late. The next run looks again. */
const unlistedMs = 120_000;

/** Polls the provider batches that are at the service, slowly, and collects their results. */
export async function waitForProviderBatches(run: LaneRun): Promise<void> {
  const { batch } = run;
  const { host, policy } = batch;
  const { signal } = host;
  const watch: WatchState = {
    run,
    troubles: new Map(),
    failure: undefined,
    locked: new Map(),
    unlisted: new Set(),
  };
  const began = host.elapsed();
  await host.on({ type: 'waiting', batches: () => listOpenProviderBatches(batch.state) });
  try {
    for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 1.5, longestPollMs)) {
      for (const providerBatch of listWatched(watch)) {
        signal.throwIfAborted();
        await pollProviderBatch(providerBatch, watch).catch((error: unknown) =>
          skipLocked(error, providerBatch, watch),
        );
      }
      const left = listWatched(watch);
      const isOnce = policy.waits === false && !left.some(isOffline);
      const areUnlisted = left.every((providerBatch) => watch.unlisted.has(providerBatch));
      const isOver = host.elapsed() - began >= (run.hooks.unlistedMs ?? unlistedMs);
      if (isOnce || left.length === 0 || (areUnlisted && isOver)) {
        const [locked] = watch.locked.values();
        const failure = locked ?? (isOnce ? watch.failure : undefined);
        if (failure !== undefined) throw failure;
        if (watch.unlisted.size > 0) throw unlistedError([...watch.unlisted]);
        return;
      }
      await host.on({ type: 'waiting-on' });
      await sleepByTimer(pollMs, signal);
    }
  } finally {
    await host.on({ type: 'waited' });
  }
}

interface WatchState {
  run: LaneRun;
  /** Provider batches that could not be polled, by their marks: since when the service does not find their batch, or fails. */
  troubles: Map<string, { missing?: number; failing?: number }>;
  /** The error of the first of them. */
  failure: GatewayError | undefined;
  /** Provider batches whose creation was not answered, and whose batch the service does not list. */
  unlisted: Set<ProviderBatch>;
  /** Why provider batches of another key or service are left to another run, by their marks. */
  locked: Map<string, GatewayError>;
}

function listWatched({ run, locked }: WatchState): ProviderBatch[] {
  return listOpenProviderBatches(run.batch.state).filter(({ mark }) => !locked.has(mark));
}

/** Goes on without a provider batch of another key or service. Throws every other error; that of a lost lock says `sent: 'unknown'`. */
async function skipLocked(error: unknown, { mark }: ProviderBatch, watch: WatchState): Promise<void> {
  if (!(error instanceof GatewayError) || error.class !== 'batch-locked' || error.details.sent !== 'no') throw error;
  watch.locked.set(mark, error);
  if (listWatched(watch).length > 0) await watch.run.batch.host.on({ type: 'poll-failed', error });
}

/** Trouble that lasts longer ends the wait; a batch that is not found for longer is lost. */
const maxTroubleMs = 3_600_000;
/** With `--retry unknown`, a batch that is not found for longer is lost. */
const maxMissingMs = 60_000;

async function pollProviderBatch(providerBatch: ProviderBatch, watch: WatchState): Promise<void> {
  const { run, troubles } = watch;
  const { host } = run.batch;
  let wasSeen = false;
  try {
    if (providerBatch.batch === undefined && (await lookForBatch(providerBatch, run)) === 'none')
      watch.unlisted.add(providerBatch);
    else watch.unlisted.delete(providerBatch);
    const id = providerBatch.batch;
    if (id === undefined) return;
    const info = await callService(providerBatch.plan, run, ({ api }, deadline) => api.retrieve(id, deadline));
    run.step?.('part-polled', providerBatch.mark);
    await host.on({ type: 'polled', mark: providerBatch.mark, info });
    wasSeen = true;
    if (info.hasEnded) await collectProviderBatch(providerBatch, info, run);
    troubles.delete(providerBatch.mark);
  } catch (error) {
    if (!isPassing(error)) throw error;
    host.signal.throwIfAborted();
    await tolerate(error, { providerBatch, wasSeen }, watch);
  }
}

/** Warns once of an error that can pass. If it lasts, throws it, or gives up a provider batch that is not found. */
async function tolerate(
  error: GatewayError,
  { providerBatch, wasSeen }: { providerBatch: ProviderBatch; wasSeen: boolean },
  watch: WatchState,
): Promise<void> {
  const { run, troubles } = watch;
  const { host } = run.batch;
  const { mark } = providerBatch;
  const what = wasSeen ? `the results of ${providerBatch.batch} are` : `${providerBatch.batch} is`;
  const isMissing = error.details.status === 404;
  if (isMissing) await requireSameKey(providerBatch, run);
  const kind = isMissing ? 'missing' : 'failing';
  const known = troubles.get(mark) ?? {};
  const since = known[kind];
  const now = host.elapsed();
  watch.failure ??= isMissing ? error.withDetails({ hint: notFoundHint }) : error;
  if (since === undefined) {
    if (isMissing) await host.on({ type: 'not-found', what });
    else if (troubles.size === 0) await host.on({ type: 'poll-failed', error });
    troubles.set(mark, { ...known, [kind]: now });
    return;
  }
  if (now - since <= (isMissing && run.batch.policy.retry?.includes('unknown') ? maxMissingMs : maxTroubleMs)) return;
  if (!isMissing) throw error;
  await host.on({ type: 'given-up', what });
  await giveUpProviderBatch(providerBatch, `${what} not found at the service`, run);
}

/** A batch is not found right after its creation, and a network or a service can be down for a while. */
function isPassing(error: unknown): error is GatewayError {
  if (!(error instanceof GatewayError)) return false;
  if (error.details.status === 404) return true;
  return ['quota', 'gateway', 'not-sent', 'no-reply', 'incomplete', 'bad-reply'].includes(error.class);
}
