import { mayExist } from '../../client/batch-api.ts';
import type { BatchInfo } from '../../formats/batch-types.ts';
import { GatewayError, usageError, withoutCost } from '../../errors.ts';
import type { JobAttempt } from '../types.ts';
import { gatewayKey } from '../run/plan.ts';
import { jobsToSend } from '../run/queue.ts';
import { isSpent } from '../folder/state.ts';
import { openBudget } from '../run/send.ts';
import type { Stop } from '../run/runner.ts';
import { originOf } from '../jobs/request.ts';
import { countOf } from '../report/summary.ts';
import { loadBatchFormat } from '../../formats/batch-formats.ts';
import { type Cut, entryOf, openCut } from './cutter.ts';
import { apiOf, askAgain, askService, type LaneRun, longDeadline, pageOf, record } from './lane-run.ts';
import { keyOf } from './parts.ts';
import type { Part, PartPlan } from './types.ts';
import { settlePart } from './settle.ts';

/** A batch that is being filled, and what its jobs have in common. */
interface OpenCut {
  cut: Cut;
  plan: Omit<PartPlan, 'after'>;
  /** The path of its requests. */
  path: string;
}

/** Cuts the jobs of the plan into batches of the service, and creates these. Resolves with the reason why it ended early. */
export async function submitJobs(run: LaneRun): Promise<Stop | undefined> {
  const { batch, sender } = run;
  const { signal } = batch.context;
  const cuts = new Map<string, OpenCut>();
  // All of a batch is spent once it is created: this limit holds between runs.
  if (batch.plan.toSend > 0 && isSpent(batch.state.usage, batch.flags.maxTokensTotal)) return 'tokens';
  const budget = openBudget(batch);
  let unbounded = 0;
  try {
    for await (const job of jobsToSend(batch)) {
      if (signal.aborted) return 'signal';
      const attempt = await sender.prepare(job);
      await sender.fetchInputs(attempt);
      if (attempt.inputFailure !== undefined) {
        await run.recordOutcome(attempt, await sender.send(attempt));
        continue;
      }
      const { bound = { amount: '0', isMost: false } } = attempt;
      const reservation = await budget?.reserve(bound);
      const refusal = budget && !reservation ? ('cost' as const) : await run.budgets?.admit(attempt);
      if (refusal !== undefined) {
        await sender.drop(attempt);
        await submitAll(cuts, run);
        return refusal;
      }
      reservation?.spend(undefined);
      if (!bound.isMost) unbounded++;
      await addJob(attempt, cuts, run).finally(() => sender.drop(attempt));
    }
    await submitAll(cuts, run);
    if ((budget || run.budgets) && unbounded > 0)
      await batch.context.ui.warn(`the cost of ${countOf(unbounded, 'job')} has no bound: give it maxTokens`);
    return signal.aborted ? 'signal' : undefined;
  } catch (error) {
    if (error instanceof GatewayError && error.details.reason === 'budget') return error;
    throw error;
  } finally {
    for (const { cut } of cuts.values()) await cut.remove();
  }
}

async function submitAll(cuts: Map<string, OpenCut>, run: LaneRun): Promise<void> {
  for (const [key, open] of cuts) {
    if (run.batch.context.signal.aborted) return;
    cuts.delete(key);
    await submitCut(open, run).finally(() => open.cut.remove());
  }
}

/** One model, one operation and one gateway a batch; a batch that is full is created. */
async function addJob(attempt: JobAttempt, cuts: Map<string, OpenCut>, run: LaneRun): Promise<void> {
  const { checked, built, job } = attempt;
  const { post, model } = built;
  const format = await loadBatchFormat(post.format);
  const profile = gatewayKey(checked.settings);
  const path = format.pathOf?.(post.path) ?? post.path;
  const group = JSON.stringify([profile, post.format, post.use, model, path]);
  const plan = {
    profile,
    origin: originOf(checked.settings),
    format: post.format,
    use: post.use,
    model,
    budget: run.budgets?.pathOf(profile),
  };
  const open = cuts.get(group) ?? {
    cut: await openCut(format, { model, path, folder: run.batch.outdir }),
    plan,
    path,
  };
  cuts.set(group, open);
  const body = entryOf(format, keyOf(open.cut.mark, job.id), post);
  if (open.cut.hasRoom(body.bytes)) return open.cut.add(attempt, body);
  if (open.cut.jobs.length === 0) {
    const size = `its request has ${body.bytes} bytes, more than a batch of the service takes`;
    throw usageError(`${run.batch.source.name}:${job.line}: ${size}`, 'send this job with --lane live');
  }
  cuts.delete(group);
  await submitCut(open, run).finally(() => open.cut.remove());
  return addJob(attempt, cuts, run);
}

/** Creates one batch. It is in the journal before; where its creation is not answered, the service is asked for it. */
async function submitCut({ cut, plan, path }: OpenCut, run: LaneRun): Promise<void> {
  const { jobs, mark } = cut;
  const { format, api } = await apiOf(plan, run);
  const { file, isInline } = await cut.seal();
  const ready = jobs.map((job) => ({ type: 'ready' as const, ...job, part: mark, at: run.now() }));
  // The next one is found among those after it.
  const after = format.byFile === undefined ? (await pageOf(plan, run))?.batches[0]?.id : undefined;
  const key = await run.connections.get(plan.profile)?.keyDigest?.(mark);
  await record([{ type: 'part', mark, step: 'planned', at: run.now(), plan: { ...plan, after, key } }, ...ready], run);
  run.step?.('part-planned', mark);
  const parts = { mark, model: plan.model, path };
  const uploaded = isInline
    ? undefined
    : await askService(plan, run, (service, deadline) => service.api.upload(file, deadline));
  run.step?.('part-uploaded', mark);
  run.batch.context.signal.throwIfAborted();
  const part = run.batch.state.parts.get(mark) as Part;
  await run.budgets?.reserve(part, run.batch.context.signal);
  // No signal ends it: whether the batch was created must be known.
  const deadline = longDeadline(plan, run);
  try {
    await record([{ type: 'part', mark, step: 'creating', at: run.now() }], run);
    run.step?.('part-creating', mark);
    const options = { deadline, onSent: () => run.step?.('part-sent', mark) };
    const info = await (
      uploaded === undefined ? api.createInline(file, parts, options) : api.createOf(uploaded, parts, options)
    ).catch((error: unknown) => afterFailure(error, part, run));
    run.step?.('part-answered', mark);
    if (info === undefined) return;
    await recordCreated(info, part, run);
    await run.batch.context.ui.note(`${countOf(jobs.length, 'job')} submitted as ${info.id}`);
  } finally {
    deadline.end();
  }
}

/** Nothing is created twice: only the service knows whether it was. Throws the failure where it was not. */
async function afterFailure(error: unknown, part: Part, run: LaneRun): Promise<BatchInfo | undefined> {
  const { context, state } = run.batch;
  if (!mayExist(error)) {
    await record([{ type: 'part', mark: part.mark, step: 'dropped', at: run.now() }], run);
    throw error;
  }
  context.signal.throwIfAborted();
  await context.ui.note('the creation was not answered: looking for the batch at the service');
  const found = await settlePart(part, run);
  // It is not known yet, or the service cannot say: its jobs are not sent again.
  if (found !== undefined || state.parts.has(part.mark) || part.step === 'lost') return found;
  throw withoutCost(error, askAgain);
}

/** Records what the service calls it, and how long it has. */
export async function recordCreated(info: BatchInfo, part: Part, run: LaneRun): Promise<void> {
  const { createdAt, expiresAt } = info;
  const lastsMs = createdAt === undefined || expiresAt === undefined ? undefined : expiresAt - createdAt;
  await record([{ type: 'part', mark: part.mark, step: 'created', at: run.now(), batch: info.id, lastsMs }], run);
  run.step?.('part-created', part.mark);
}
