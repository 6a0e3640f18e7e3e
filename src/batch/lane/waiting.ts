import { GatewayError } from '../../errors.ts';
import { sleepByTimer } from '../../transport/gate.ts';
import { collectPart } from './collect.ts';
import { askService, type LaneRun, losePart, requireKey } from './lane-run.ts';
import { givesUp, openParts, type Part } from './parts.ts';
import { settlePart, unlisted } from './settle.ts';

const usualPollMs = 60_000;
const firstPollMs = 5000;
/** How long a run looks for a batch that a service can list late. The next run looks again. */
const unlistedMs = 120_000;

/** Polls the parts that are at the service, slowly, and collects their results. */
export async function waitForParts(run: LaneRun): Promise<void> {
  const { batch } = run;
  const { host, policy } = batch;
  const { signal } = host;
  const most = policy.pollMs ?? usualPollMs;
  const watch: Watch = {
    run,
    troubles: new Map(),
    failure: undefined,
    locked: new Map(),
    unlisted: new Set(),
  };
  const began = host.elapsed();
  await host.on({ type: 'waiting', batches: () => openParts(batch.state) });
  try {
    for (let pollMs = Math.min(firstPollMs, most); ; pollMs = Math.min(pollMs * 1.5, most)) {
      for (const part of watched(watch)) {
        signal.throwIfAborted();
        await pollPart(part, watch).catch((error: unknown) => skipLocked(error, part, watch));
      }
      const isOnce = policy.waits === false;
      const isListed = watched(watch).some((part) => !watch.unlisted.has(part));
      const isOver = host.elapsed() - began >= (run.hooks.unlistedMs ?? unlistedMs);
      if (isOnce || (!isListed && (isOver || watched(watch).length === 0))) {
        const [failure = isOnce ? watch.failure : undefined] = watch.locked.values();
        if (failure !== undefined) throw failure;
        if (watch.unlisted.size > 0) throw unlisted([...watch.unlisted]);
        return;
      }
      await host.on({ type: 'waiting-on' });
      await sleepByTimer(pollMs, signal);
    }
  } finally {
    await host.on({ type: 'waited' });
  }
}

interface Watch {
  run: LaneRun;
  /** Parts that could not be polled, by their marks: since when the service does not find their batch, or fails. */
  troubles: Map<string, { missing?: number; failing?: number }>;
  /** The error of the first of them. */
  failure: GatewayError | undefined;
  /** Parts whose creation was not answered, and whose batch the service does not list. */
  unlisted: Set<Part>;
  /** Why parts of another key or service are left to another run, by their marks. */
  locked: Map<string, GatewayError>;
}

function watched({ run, locked }: Watch): Part[] {
  return openParts(run.batch.state).filter(({ mark }) => !locked.has(mark));
}

/** Goes on without a part of another key or service. Throws every other error; that of a lost lock says `sent: 'unknown'`. */
async function skipLocked(error: unknown, { mark }: Part, watch: Watch): Promise<void> {
  if (!(error instanceof GatewayError) || error.class !== 'batch-locked' || error.details.sent !== 'no') throw error;
  watch.locked.set(mark, error);
  if (watched(watch).length > 0) await watch.run.batch.host.on({ type: 'poll-failed', error });
}

/** Trouble that lasts longer ends the wait; a batch that is not found for longer is lost. */
const maxTroubleMs = 3_600_000;

async function pollPart(part: Part, watch: Watch): Promise<void> {
  const { run, troubles } = watch;
  const { host } = run.batch;
  let wasSeen = false;
  try {
    if (part.batch === undefined && (await settlePart(part, run)) === 'none') watch.unlisted.add(part);
    else watch.unlisted.delete(part);
    const id = part.batch;
    if (id === undefined) return;
    const info = await askService(part.plan, run, ({ api }, deadline) => api.retrieve(id, deadline));
    run.step?.('part-polled', part.mark);
    await host.on({ type: 'polled', mark: part.mark, info });
    wasSeen = true;
    if (info.hasEnded) await collectPart(part, info, run);
    troubles.delete(part.mark);
  } catch (error) {
    if (!isPassing(error)) throw error;
    host.signal.throwIfAborted();
    await tolerate(error, { part, wasSeen }, watch);
  }
}

/** Warns once of an error that can pass. If it lasts, throws it, or gives up a part whose batch is not found. */
async function tolerate(
  error: GatewayError,
  { part, wasSeen }: { part: Part; wasSeen: boolean },
  watch: Watch,
): Promise<void> {
  const { run, troubles } = watch;
  const { host } = run.batch;
  const { mark } = part;
  const what = wasSeen ? `the results of ${part.batch} are` : `${part.batch} is`;
  const isMissing = error.details.status === 404;
  if (isMissing) await requireKey(part, run);
  const kind = isMissing ? 'missing' : 'failing';
  const known = troubles.get(mark) ?? {};
  const since = known[kind];
  const now = host.elapsed();
  watch.failure ??= isMissing
    ? error.withDetails({ hint: `give the key with which it was submitted; ${givesUp}` })
    : error;
  if (since === undefined) {
    if (isMissing) await host.on({ type: 'not-found', what });
    else if (troubles.size === 0) await host.on({ type: 'poll-failed', error });
    troubles.set(mark, { ...known, [kind]: now });
    return;
  }
  if (now - since <= maxTroubleMs) return;
  if (!isMissing) throw error;
  await host.on({ type: 'given-up', what });
  await losePart(part, `${what} not found at the service`, run);
}

/** A batch is not found right after its creation, and a network or a service can be down for a while. */
function isPassing(error: unknown): error is GatewayError {
  if (!(error instanceof GatewayError)) return false;
  if (error.details.status === 404) return true;
  return ['quota', 'gateway', 'not-sent', 'no-reply', 'incomplete', 'bad-reply'].includes(error.class);
}
