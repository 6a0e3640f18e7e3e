import { rm } from 'node:fs/promises';
import {
  type BatchApi,
  type BatchFormat,
  type BatchInfo,
  type CallEvent,
  createGatheredFile,
  getTimeoutError,
  loadBatchFormat,
  maxLineBytes,
  type PreparedRequest,
  randomNonce,
  type RequestBody,
  segmentBody,
  type SentFile,
  startDeadline,
  streamBody,
  usageError,
} from '../../library/index.ts';
import { listBounds } from '../folder/recorder.ts';
import { gatewayKey, getRequestOrigin } from '../gateway.ts';
import { tryFetchInputs, settleJob } from '../run/live.ts';
import { readyJobs } from '../run/queue.ts';
import type { Stop } from '../run/runner.ts';
import { findCostStop, limitJob, noBound, openRunLimit } from '../run/run-budget.ts';
import type { ReadyJob } from '../types.ts';
import { chooseMeasure } from './failures.ts';
import { type LaneRun, recordCreated, recordStep } from './lane-run.ts';
import { callService, longDeadline, openPlaceApi, readBatchPage } from './service-calls.ts';
import { makeEntryName, type ProviderBatch, type ProviderBatchPlan } from './provider-batches.ts';
import { lookForBatch } from './look-for-batch.ts';

/** A provider batch that is being filled, with the parts that its jobs have in common. Their entries are in a file. */
interface ProviderBatchDraft {
  mark: string;
  plan: Omit<ProviderBatchPlan, 'after' | 'key'>;
  /** The path of its requests. */
  path: string;
  jobs: (Pick<ReadyJob, 'slot' | 'bound'> & { id: string })[];
  /** Whether another entry of this size fits. */
  hasRoom(entryBytes: number): boolean;
  add(job: ReadyJob, entry: RequestBody): Promise<void>;
  /** Ends the file. Its content is the body of the request that creates the batch, or the lines to upload. */
  seal(): Promise<SentFile>;
  remove(): Promise<void>;
}

/** Cuts the jobs of the plan into provider batches, and creates these at the service. Resolves with the reason why it ended early. */
export async function submitJobs(run: LaneRun): Promise<Stop | undefined> {
  const { batch } = run;
  const { signal } = batch.host;
  const drafts = new Map<string, ProviderBatchDraft>();
  const limit = openRunLimit(batch);
  let unbounded = 0;
  try {
    for await (const ready of readyJobs(batch, {})) {
      const { prepared, bound = noBound } = ready;
      try {
        if (signal.aborted) return 'signal';
        const request = await fetchSubmittedInputs(ready, run);
        if (request === undefined) continue;
        const shared = await run.budgets.get(gatewayKey(prepared.settings))?.openLimit();
        const payment = limitJob(ready, [limit, shared])?.open(prepared.request);
        const refusal = await payment?.reserve(signal).then(() => undefined, requireCostStop);
        if (refusal !== undefined) {
          await submitAll(drafts, run);
          return refusal;
        }
        // All of a provider batch is spent once it is created.
        await payment?.end({});
        if (payment && !bound.isMost) unbounded++;
        await addJob(ready, await chooseModel(ready, request, run), { drafts, run });
      } finally {
        await prepared.close();
      }
    }
    await submitAll(drafts, run);
    if (unbounded > 0) await batch.host.on({ type: 'unbounded', jobs: unbounded });
    return signal.aborted ? 'signal' : undefined;
  } catch (error) {
    return requireCostStop(error);
  } finally {
    for (const draft of drafts.values()) await draft.remove();
  }
}

function requireCostStop(error: unknown): Stop {
  const stop = findCostStop(error);
  if (stop === undefined) throw error;
  return stop;
}

/** The request of a job with the model that its client chooses. */
async function chooseModel(
  { prepared: { settings } }: ReadyJob,
  request: PreparedRequest,
  run: LaneRun,
): Promise<PreparedRequest> {
  const { models } = run.clients.get(gatewayKey(settings)) ?? {};
  const deadline = startDeadline(settings.timeoutMs, run.batch.host.signal);
  return (models?.choose(request, deadline) ?? Promise.resolve(request)).finally(() => deadline.end());
}

/** The request of a job with the files of its URLs. Undefined if they could not be fetched: that is the end of the job. */
async function fetchSubmittedInputs(job: ReadyJob, run: LaneRun): Promise<PreparedRequest | undefined> {
  const { prepared } = job;
  if (!prepared.fetchInputs) return prepared.request;
  const { host } = run.batch;
  const since = host.elapsed();
  const deadline = startDeadline(prepared.settings.timeoutMs, host.signal);
  try {
    const inputs = await tryFetchInputs(prepared, deadline);
    if ('request' in inputs) return inputs.request;
    const bounds = { endOf: () => getTimeoutError(deadline), signal: deadline.signal };
    await run.recordOutcome(job, await settleJob(job, inputs, { ...bounds, since, host }));
    return undefined;
  } finally {
    deadline.end();
  }
}

async function submitAll(drafts: Map<string, ProviderBatchDraft>, run: LaneRun): Promise<void> {
  for (const [key, draft] of drafts) {
    if (run.batch.host.signal.aborted) return;
    drafts.delete(key);
    await submitDraft(draft, run).finally(() => draft.remove());
  }
}

/** Adds a job to the provider batch of its model, operation and gateway. A full one is created first. */
async function addJob(
  ready: ReadyJob,
  { post, model }: PreparedRequest,
  { drafts, run }: { drafts: Map<string, ProviderBatchDraft>; run: LaneRun },
): Promise<void> {
  const { job } = ready;
  const { settings } = ready.prepared;
  const format = await loadBatchFormat(post.format);
  const profile = gatewayKey(settings);
  const path = format.pathOf?.(post.path) ?? post.path;
  const group = JSON.stringify([profile, post.format, post.use, model, path]);
  const plan = {
    profile,
    origin: getRequestOrigin(settings),
    format: post.format,
    use: post.use,
    model,
    budget: run.budgets.get(profile)?.path,
  };
  const draft = drafts.get(group) ?? (await openDraft(format, { plan, path, folder: run.batch.outdir }));
  drafts.set(group, draft);
  const corrected = run.clients.get(profile)?.correct(post) ?? post;
  // Throws GatewayError usage for a number that JSON cannot represent.
  const entry = segmentBody(
    format.entry(makeEntryName(draft.mark, run.batch.state.slots.nameOf(ready.slot)), corrected),
  );
  if (draft.hasRoom(entry.bytes)) return draft.add(ready, entry);
  if (draft.jobs.length === 0) {
    const size = `its request has ${entry.bytes} bytes, more than a batch of the service takes`;
    throw usageError(`${run.batch.jobs.name}:${job.line}: ${size}`, 'send this job with --lane live');
  }
  drafts.delete(group);
  await submitDraft(draft, run).finally(() => draft.remove());
  return addJob(ready, { post, model }, { drafts, run });
}

/** Opens an empty provider batch, with its file in a folder. */
async function openDraft(
  format: BatchFormat,
  { plan, path, folder }: Pick<ProviderBatchDraft, 'plan' | 'path'> & { folder: string },
): Promise<ProviderBatchDraft> {
  // The mark is unique: letters and digits, at most 16.
  const mark = `gw${randomNonce().slice(0, 14)}`;
  const { inline, bounds } = format;
  const { head, tail, separator } = inline ? { ...inline, separator: ',\n' } : { head: '', tail: '', separator: '\n' };
  const entries = await createGatheredFile(folder);
  const jobs: ProviderBatchDraft['jobs'] = [];
  await entries.append(Buffer.from(head));
  return {
    mark,
    plan,
    path,
    jobs,
    hasRoom: (entryBytes) =>
      jobs.length < bounds.count &&
      // No service reads a longer line.
      entryBytes + separator.length <= maxLineBytes &&
      entries.bytes + entryBytes + separator.length + tail.length <= bounds.bytes,
    async add({ job: { id }, slot, bound }, entry) {
      if (jobs.length > 0) await entries.append(Buffer.from(separator));
      // A chunk is valid only until the next one is requested.
      for await (const chunk of streamBody(entry)) await entries.append(Buffer.from(chunk));
      jobs.push({ id, slot, bound });
    },
    async seal() {
      await entries.append(Buffer.from(tail));
      await entries.flush();
      await entries.handle.close();
      return { path: entries.path, bytes: entries.bytes, name: `${mark}.jsonl` };
    },
    async remove() {
      await entries.handle.close().catch(() => undefined);
      await rm(entries.path, { force: true });
    },
  };
}

/** Creates one batch at the service. The journal has it before; if its creation is not answered, the service is asked for it. */
async function submitDraft(draft: ProviderBatchDraft, run: LaneRun): Promise<void> {
  const { mark, plan, jobs } = draft;
  const { host } = run.batch;
  const service = await openPlaceApi(plan, run);
  const file = await draft.seal();
  const providerBatch = await recordPlanned(draft, service.format, run);
  const uploaded = await callService(plan, run, ({ api }, deadline) => api.upload(file, deadline));
  run.hooks.step?.('part-uploaded', mark);
  host.signal.throwIfAborted();
  const bounds = jobs.map(({ bound = noBound }) => bound);
  await run.budgets.get(plan.profile)?.reserve({ id: mark, model: plan.model, bounds }, host.signal);
  const left = { type: 'left-at-service', jobs: jobs.length, isCreated: false, isWaitedFor: true } as const;
  const tellLeft = (): void => void host.on(left);
  host.signal.addEventListener('abort', tellLeft, { once: true });
  try {
    await recordStep(providerBatch, { step: 'creating' }, run);
    run.hooks.step?.('part-creating', mark);
    const info = await createBatch(draft, uploaded ?? file, { api: service.api, run }).catch((error: unknown) =>
      afterFailure(error, providerBatch, run),
    );
    run.hooks.step?.('part-answered', mark);
    if (info !== undefined) await recordCreated(info, providerBatch, run);
    if (providerBatch.batch !== undefined)
      await host.on({ type: 'submitted', jobs: jobs.length, batch: providerBatch.batch });
  } finally {
    host.signal.removeEventListener('abort', tellLeft);
  }
}

/** Writes the provider batch of a draft into the journal. */
async function recordPlanned(
  { mark, plan, jobs }: ProviderBatchDraft,
  format: BatchFormat,
  run: LaneRun,
): Promise<ProviderBatch> {
  const { slots, providerBatches } = run.batch.state;
  // Without names, the new batch is found among the batches after this one.
  const after = format.byFile === undefined ? (await readBatchPage(plan, run))?.batches[0]?.id : undefined;
  // The gateway of `--offline` has another API key in each run.
  const key = plan.origin === 'offline' ? undefined : await run.clients.get(plan.profile)?.keyDigest?.(mark);
  const step = {
    step: 'planned' as const,
    slots: jobs.map(({ slot }) => slots.nameOf(slot)),
    ids: jobs.map(({ id }) => id),
    bounds: listBounds(jobs),
    plan: { ...plan, after, key },
  };
  await recordStep({ mark }, step, run);
  run.hooks.step?.('part-planned', mark);
  return providerBatches.get(mark) as ProviderBatch;
}

/** Asks the service to create a batch. No signal ends the request: whether the batch was created must be known. */
async function createBatch(
  { mark, plan, path }: ProviderBatchDraft,
  file: Parameters<BatchApi['create']>[0],
  { api, run }: { api: BatchApi; run: LaneRun },
): Promise<BatchInfo> {
  const client = run.clients.get(plan.profile);
  const onEvent = (event: CallEvent) => {
    if (event.type === 'sent') run.hooks.step?.('part-sent', mark);
    return client?.onEvent?.(event);
  };
  const deadline = longDeadline(plan, run);
  return api.create(file, { mark, model: plan.model, path }, { deadline, onEvent }).finally(() => deadline.end());
}

/** Looks for a batch that may have been created. Its jobs wait for it, and are not sent again. Throws the failure if no batch was created. */
async function afterFailure(error: unknown, providerBatch: ProviderBatch, run: LaneRun): Promise<undefined> {
  const { host } = run.batch;
  if (chooseMeasure('create', error) === 'drop') {
    await recordStep(providerBatch, { step: 'dropped' }, run);
    throw error;
  }
  host.signal.throwIfAborted();
  await host.on({ type: 'creation-unanswered' });
  await lookForBatch(providerBatch, run);
}
