import type { BatchHost } from '../types.ts';
import { append, type BatchInfo, GatewayError, loadBatchFormat, parseObject } from '../../library/index.ts';
import { formatCount } from '../counts.ts';
import { ignoreUnlisted } from './failures.ts';
import { type LaneRun, recordCreated } from './lane-run.ts';
import { listOpenProviderBatches, type ProviderBatch } from './provider-batches.ts';
import { callService, findKeyError, readBatchPage } from './service-calls.ts';

/**
 * The service's word on a provider batch whose creation was not answered: the batch, `later` (a batch that can be it has not
 * ended), or `none`.
 */
type FoundBatch = BatchInfo | 'none' | 'later';

/**
 * Looks for a provider batch whose creation was not answered, and records it if it is there. If it is not listed, the provider
 * batch keeps its state: a service can list a batch late, so it may exist. Throws GatewayError if the service cannot be asked, or
 * was asked with another API key than that of the provider batch.
 */
export async function lookForBatch(providerBatch: ProviderBatch, run: LaneRun): Promise<'found' | 'none' | 'later'> {
  const found = await findBatch(providerBatch, run);
  const keyError = found === 'none' ? await findKeyError(providerBatch, run) : undefined;
  if (keyError !== undefined) throw keyError;
  if (found === 'none' || found === 'later') return found;
  await recordCreated(found, providerBatch, run);
  return 'found';
}

/** The error for provider batches that may exist, and that the service does not list. */
export function unlistedError(
  providerBatches: readonly ProviderBatch[],
  { nextCommand }: Pick<BatchHost, 'nextCommand'>,
): GatewayError {
  const jobs = formatCount(
    providerBatches.reduce((sum, { slots }) => sum + slots.length, 0),
    'job',
  );
  const what = `the creation of a batch of ${jobs} was not answered, and the service does not list it`;
  return new GatewayError('no-reply', what, {
    hint: `to look for it later: ${nextCommand('again')}\nto send its jobs again, which may bill them twice: ${nextCommand('retry', { operand: 'unknown' })}`,
    sent: 'yes',
    retryable: false,
  });
}

/** At most this many pages of batches are searched. */
const maxPages = 100;

/** Looks for a provider batch by its mark. Throws GatewayError if the service cannot be asked now. */
async function findBatch(providerBatch: ProviderBatch, run: LaneRun): Promise<FoundBatch> {
  const listed: BatchInfo[] = [];
  let next: string | undefined;
  for (let count = 0; count < maxPages; count++) {
    const page = await readBatchPage(providerBatch.plan, run, next);
    if (page === undefined) return 'none';
    const own = page.batches.find(({ mark }) => mark === providerBatch.mark);
    if (own !== undefined) return own;
    const before = page.batches.findIndex(({ id }) => id === providerBatch.plan.after);
    append(listed, before < 0 ? page.batches : page.batches.slice(0, before));
    next = before < 0 ? page.next : undefined;
    if (next === undefined) break;
  }
  return findNameless(providerBatch, listed, run);
}

/** The most, in ms, by which the clock of the service can be off. */
const clockMs = 3_600_000;

/**
 * Finds a batch by its results, whose entry names have the mark: batches can have no name, or not be listed. Only batches that can
 * be the right one are read.
 */
async function findNameless(
  providerBatch: ProviderBatch,
  listed: readonly BatchInfo[],
  run: LaneRun,
): Promise<FoundBatch> {
  // If batches have no names, only batches after the newest one from before the creation are listed.
  const isNamed = (await loadBatchFormat(providerBatch.plan.format)).byFile !== undefined;
  const since = isNamed ? providerBatch.at - clockMs : 0;
  const jobs = providerBatch.slots.length;
  const known = new Set(listOpenProviderBatches(run.batch.state).map(({ batch }) => batch));
  const possible = listed.filter(
    ({ id, mark, total = jobs, createdAt = since }) =>
      mark === undefined && !known.has(id) && total === jobs && createdAt >= since,
  );
  for (const info of possible.filter(({ hasEnded }) => hasEnded))
    if (await holdsMark(providerBatch, info, run)) return info;
  return possible.some(({ hasEnded }) => !hasEnded) ? 'later' : 'none';
}

/** Whether the results of a batch show the mark of a provider batch. */
async function holdsMark({ mark, plan }: ProviderBatch, info: BatchInfo, run: LaneRun): Promise<boolean> {
  const holds = await callService(plan, run, async ({ api, format }, deadline) => {
    for await (const json of api.results(info, deadline)) {
      const entry = format.readResult(parseObject(json))?.entry;
      if (entry !== undefined) return entry.startsWith(`${mark}-`);
    }
    return false;
  }).catch(ignoreUnlisted);
  return holds === true;
}
