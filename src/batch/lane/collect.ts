import { join } from 'node:path';
import {
  asideFile,
  type BatchFormat,
  type BatchInfo,
  type BatchOutcome,
  cannotWrite,
  GatewayError,
  loadBatchFormat,
  openToAppend,
  parseObject,
} from '../../library/index.ts';
import { batchFiles, type BatchHost } from '../types.ts';
import { hashRowId } from '../run/table.ts';
import { formatCount } from '../counts.ts';
import { chooseMeasure } from './failures.ts';
import { readJobEnd, unfinishedError, type CollectedSlot } from './job-result.ts';
import { type LaneRun, loseJobs, maxPending, recordStep } from './lane-run.ts';
import { listAtService, makeEntryName, type ProviderBatch } from './provider-batches.ts';
import { openResultsFile, type ResultsFile } from './results-file.ts';
import { callService, goOnHint } from './service-calls.ts';

/** A provider batch whose batch of the service has ended. */
interface EndedProviderBatch {
  providerBatch: ProviderBatch;
  info: BatchInfo;
  format: BatchFormat;
  run: LaneRun;
}

/** Downloads the results of a provider batch that has ended, joins them to its jobs only by the names of their entries, and records them. */
export async function collectProviderBatch(providerBatch: ProviderBatch, info: BatchInfo, run: LaneRun): Promise<void> {
  const { host, outdir } = run.batch;
  const format = await loadBatchFormat(providerBatch.plan.format);
  const ended: EndedProviderBatch = { providerBatch, info, format, run };
  const file = await openResultsFile(outdir);
  const recording = new Set<Promise<void>>();
  try {
    const { fault, failure } = await download(ended, file);
    await file.flush();
    run.hooks.step?.('part-downloaded', providerBatch.mark);
    for await (const collected of listCollected(providerBatch, run)) {
      host.signal.throwIfAborted();
      const json = file.read(collected.slot);
      if (json === undefined && failure !== undefined) continue;
      const result = json === undefined ? missingResultError(info, fault) : await readResult(json, ended);
      const { entry, outcome } = await readJobEnd(collected, result, { providerBatch, run });
      // A failure stays pending: it is thrown by the wait for all of them.
      const recorded = run.recordOutcome(entry, outcome).then(() => void recording.delete(recorded));
      recorded.catch(() => undefined);
      recording.add(recorded);
      if (recording.size >= maxPending) await Promise.all(recording);
    }
    await Promise.all(recording);
    if (failure !== undefined) throw failure;
    await loseJobs(providerBatch, 'no result came for it', run);
    await recordStep(providerBatch, { step: 'ended' }, run);
    run.hooks.step?.('part-ended', providerBatch.mark);
  } finally {
    await Promise.allSettled(recording);
    await file.remove();
  }
}

const maxDownloads = 5;

/**
 * Keeps the results of jobs that have no end yet; other results are moved to a file aside, with a warning. Returns the fault of the results,
 * or the failure that left some of them at the service.
 */
async function download(
  ended: EndedProviderBatch,
  file: ResultsFile,
): Promise<{ fault?: string | undefined; failure?: GatewayError }> {
  const { providerBatch, info, run } = ended;
  const { host, policy, state } = run.batch;
  const slots = new Map(
    providerBatch.slots.map((slot) => [makeEntryName(providerBatch.mark, state.slots.nameOf(slot)), slot]),
  );
  const hasAll = (): boolean => file.size === slots.size || findUnmadeReason(info) !== undefined;
  for (let tries = 1; ; tries++) {
    const isLast = tries === maxDownloads;
    try {
      const downloaded = await callService(providerBatch.plan, run, ({ api }, deadline) =>
        readResults(api.results(info, deadline), { slots, file }, ended),
      );
      const { fault } = downloaded;
      if (isLast && fault !== undefined && !policy.retry?.includes('unknown'))
        return { failure: faultError(fault, host) };
      // A body can be cut without a sign of the cut, so a download without all results is tried twice.
      if (isLast || (fault === undefined && (hasAll() || tries > 1))) {
        await keepUnmatched(downloaded, run);
        return { fault };
      }
    } catch (error) {
      const measure = chooseMeasure('results', error);
      if (measure === undefined || host.signal.aborted) throw error;
      if (measure === 'later' || isLast) return { failure: error as GatewayError };
    }
    file.restart();
  }
}

/** The error for results that the service has, and does not send whole. */
function faultError(fault: string, { nextCommand }: Pick<BatchHost, 'nextCommand'>): GatewayError {
  return new GatewayError('incomplete', fault, {
    hint: `${goOnHint(nextCommand('again'))}\nto give up what does not come: ${nextCommand('retry', { operand: 'unknown' })}`,
    sent: 'yes',
    billed: 'no',
    retryable: true,
  });
}

interface Downloaded {
  /** Results that are not used: those of no job, and further ones of the same job; and the number of these. */
  unmatched: readonly string[];
  doubled: number;
  /** The fault of the results, if the service has more of them, or others. */
  fault: string | undefined;
}

/** Reads the results into the file. */
async function readResults(
  results: AsyncGenerator<string, void>,
  { slots, file }: { slots: ReadonlyMap<string, number>; file: ResultsFile },
  { providerBatch, info, format, run }: EndedProviderBatch,
): Promise<Downloaded> {
  const { atService } = run.batch.state;
  let [came, unreadable, answers, doubled] = [0, 0, 0, 0];
  const unmatched: string[] = [];
  for await (const json of results) {
    came++;
    const line = parseObject(json);
    const result = format.readResult(line);
    if (Object.keys(line).length === 0) unreadable++;
    const slot = result?.entry === undefined ? undefined : slots.get(result.entry);
    if (slot === undefined || file.has(slot)) {
      if (slot !== undefined) doubled++;
      unmatched.push(json);
      continue;
    }
    const kind = result?.outcome?.kind;
    if (kind === undefined || kind === 'succeeded') answers++;
    if (atService.get(slot) === providerBatch.mark) await file.add(slot, json);
    // An earlier run recorded it; a second one is a duplicate all the same.
    else file.note(slot);
  }
  return {
    unmatched,
    doubled,
    fault: findFault({ came, answers, unreadable, areFewer: file.size < slots.size }, info),
  };
}

/** The fault of results of which so many came, by the counts of the service. `areFewer`: there are fewer than jobs. */
function findFault(
  { came, answers, unreadable, areFewer }: Record<'came' | 'answers' | 'unreadable', number> & { areFewer: boolean },
  info: BatchInfo,
): string | undefined {
  const { done = 0, succeeded = 0 } = info;
  const isNamed = info.results.length > 0;
  const isUnmade = findUnmadeReason(info) !== undefined;
  if (came === 0 && !isUnmade && (isNamed || done > 0))
    return `the service ${isNamed ? 'sends an empty file of results' : 'names no results'}`;
  // A batch of the service that ended early has fewer results than jobs, but all results that it counts.
  if (isUnmade && areFewer && answers < succeeded)
    return `${info.id} has the answers of ${formatCount(succeeded, 'job')}, and ${answers} came`;
  return unreadable > 0 ? `${formatCount(unreadable, 'result')} of the service cannot be read` : undefined;
}

async function keepUnmatched({ unmatched, doubled }: Downloaded, run: LaneRun): Promise<void> {
  for (const json of unmatched) await keepAside(json, run);
  if (unmatched.length > 0)
    await run.batch.host.on({ type: 'unmatched-results', unknown: unmatched.length - doubled, doubled });
}

/** Appends a result that belongs to no job to the aside file. */
async function keepAside(json: string, { batch }: LaneRun): Promise<void> {
  const path = asideFile(join(batch.outdir, batchFiles.results));
  try {
    const handle = await openToAppend(path);
    await handle.appendFile(`${json}\n`).finally(() => handle.close());
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** Lists the slots whose results are collected, with their rows. These are found by their ids: the file can change while the service works. */
async function* listCollected(
  providerBatch: ProviderBatch,
  { batch: { jobs, plan, state }, places }: LaneRun,
): AsyncGenerator<CollectedSlot, void> {
  const slots = new Set(listAtService(providerBatch, state));
  const rows = new Map<number, { slot: number; place: number }>();
  for (const slot of slots) {
    const place = places.get(slot);
    if (place !== undefined) rows.set(plan.table.ids[place] as number, { slot, place });
  }
  for await (const job of rows.size > 0 ? jobs.read(() => undefined) : []) {
    const { slot, place } = rows.get(hashRowId(job.id)) ?? {};
    if (slot === undefined || place === undefined || !slots.delete(slot)) continue;
    yield { slot, row: { job, place } };
    if (slots.size === 0) return;
  }
  // No row wants these slots any more: their answers were paid, and are kept all the same.
  for (const slot of slots) yield { slot };
}

/** The result of a job in the words of no format. One without the documented form is kept aside. */
async function readResult(json: string, { format, run }: EndedProviderBatch): Promise<BatchOutcome | GatewayError> {
  const outcome = format.readResult(parseObject(json))?.outcome;
  if (outcome !== undefined) return outcome;
  await keepAside(json, run);
  const what = `the result of the service does not have the documented form; ${asideFile(batchFiles.results)} keeps it`;
  return new GatewayError('bad-reply', what, { sent: 'yes', retryable: false });
}

/** The error of a job without a result. */
function missingResultError(info: BatchInfo, fault: string | undefined): GatewayError {
  // Without a count, a batch of the service that ended early may have answers that it does not send.
  const isUncounted = info.succeeded === undefined && (info.failure === undefined || info.results.length > 0);
  const reason = isUncounted || fault !== undefined ? undefined : findUnmadeReason(info);
  const what = `its batch ended (${info.status}) without a result for it`;
  return reason ?? new GatewayError('no-reply', what, { sent: 'yes' });
}

/** The reason why a batch of the service made no results for some of its jobs, or for all of them. */
function findUnmadeReason({ status, failure }: BatchInfo): GatewayError | undefined {
  if (/cancel|expired/.test(status)) return unfinishedError(/cancel/.test(status) ? 'cancelled' : 'expired');
  if (failure === undefined) return undefined;
  return new GatewayError('rejected', `the service refused the batch: ${failure}`, { sent: 'yes', billed: 'no' });
}
