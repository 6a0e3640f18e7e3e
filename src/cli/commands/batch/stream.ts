import {
  type BatchHost,
  decideSlot,
  defaultGraceMs,
  isRetried,
  listLostImages,
  type Job,
  newBatchState,
  newStreamPlan,
  noLock,
  openAssigning,
  openManifest,
  openResults,
  type PreparedJob,
  type QueuedJob,
  readyJob,
  type ResultReader,
  runStream,
  type Stop,
  unanswered,
} from '../../../batch/index.ts';
import type { AnswerContext, CommandEnd } from '../../context.ts';
import { resultDocument } from '../../output/document.ts';
import { emptyReport } from '../../output/outcome.ts';
import { GatewayError, untilAborted, usageError } from '../../../library/index.ts';
import { openClientsLate } from './clients.ts';
import { type EndedBatch, failBatch, finishBatch } from './finish.ts';
import { type BatchFlags, requireStream } from './flags.ts';
import { createHost } from './host.ts';
import { createRequestBuilder } from './jobs/request.ts';
import { openJobStream, type StreamedJob } from './jobs/source.ts';
import { findTypedFolder, keepCommand, type TypedCommand } from './kept-command.ts';
import { findOutdir, openOutdir } from './outdir.ts';
import { openJobPrices, preparePriced } from './job-prices.ts';
import { limitConcurrency, readPolicy, saveMemory } from './policy.ts';
import { openPrinter } from './printer.ts';

/** A batch whose rows are not known before they come: its table grows by a row with each line. */
interface StreamBatch extends EndedBatch {
  refused: number;
  /** Builds the request of a job, if it has the prices that the flags need. */
  prepare(job: Job): Promise<PreparedJob>;
  /** Gives a row its slot. */
  assign: ReturnType<typeof openAssigning>;
  /** Writes a row into the table of the folder, if there is one. */
  enter(job: Job, slot: number): void;
  /** The results of earlier runs. */
  results: Pick<ResultReader, 'read'>;
}

/** `batch - --stream`: takes jobs from stdin until it ends, and prints each result when its job has ended. */
export async function runStreamed(
  words: readonly string[],
  flags: BatchFlags,
  context: AnswerContext,
): Promise<CommandEnd> {
  const batch = await openStream(words, flags, context);
  let stop: Stop | undefined;
  try {
    stop = await sendStream(batch);
  } catch (error) {
    return failBatch(batch, error);
  }
  if (flags.retry && batch.plan.jobs + batch.refused === 0 && stop === undefined)
    throw usageError(
      'no job came on stdin: of a stream, only the jobs that come once more are sent again',
      `pipe them in: ${batch.host.nextCommand('retry', { operand: flags.retry.join(',') })}`,
    );
  return finishBatch(batch, stop);
}

async function openStream(words: readonly string[], flags: BatchFlags, context: AnswerContext): Promise<StreamBatch> {
  requireStream(words, flags, context);
  const policy = await readPolicy(flags, context);
  saveMemory();
  const { cwd } = context.io;
  const typed = findTypedFolder({ words, flags }, context.io);
  const host = createHost(context, typed);
  const startedAt = context.io.elapsed();
  const outdir = flags.output === undefined ? undefined : await findOutdir(flags.output, context);
  const builder = createRequestBuilder({
    context,
    flags,
    source: { name: 'stdin', folder: cwd },
    host,
    outdir: outdir?.path,
    listLostImages: async () => (outdir ? listLostImages(outdir.path, folder.state) : []),
  });
  const settings = await builder.settingsOf({ line: 0, command: 'text', values: {} });
  if (settings.lane === 'batch') throw usageError('--stream cannot be combined with --lane batch', 'use --lane live');
  const folder = outdir
    ? await openFolder(outdir.path, { typed: { words, flags }, host, context })
    : {
        lock: noLock,
        state: newBatchState(),
        lostEnds: [],
        results: { read: () => undefined },
        enter: () => undefined,
      };
  const { state } = folder;
  const plan = newStreamPlan();
  const prices = openJobPrices({ flags, state, context });
  return {
    ...folder,
    folder: typed,
    host,
    policy,
    plan,
    refused: 0,
    outdir: outdir?.path ?? cwd,
    flags,
    context,
    prices,
    startedAt,
    assign: openAssigning(plan.table, state.slots),
    prepare: preparePriced(builder, prices),
  };
}

async function openFolder(
  path: string,
  { typed, host, context }: { typed: TypedCommand; host: BatchHost; context: AnswerContext },
) {
  const { lock, state, lostEnds } = await openOutdir(path, { host, context });
  const results = await openResults(path, state.slots);
  host.atEnd(() => results.close());
  const command = await keepCommand({ ...typed, shard: undefined }, { ...context, folder: path });
  const manifest = await openManifest(path, { state, command });
  host.atEnd(() => manifest.close());
  return { lock, state, lostEnds, results, enter: manifest.enter };
}

/** Sends the jobs as they come. Resolves when stdin has ended and every job has, with the reason if it ended early. */
async function sendStream(batch: StreamBatch): Promise<Stop | undefined> {
  const { flags, folder, context } = batch;
  const lines = await openJobStream(flags, context);
  context.gracePeriod.ms = defaultGraceMs + 2000;
  return runStream(batch, {
    async *source(signal) {
      for (;;) {
        const { value: line, done } = await untilAborted(lines.next(), signal);
        if (done) return;
        yield await takeLine(line, batch);
      }
    },
    print: openPrinter(folder !== undefined, context),
    clientOf: openClientsLate(flags, context),
    concurrency: await limitConcurrency(flags, undefined, context),
    hasFolder: folder !== undefined,
  });
}

/** The job of a line: ready to be sent, or with its answer if nothing is sent for it. */
async function takeLine(line: StreamedJob, batch: StreamBatch): Promise<QueuedJob> {
  if ('error' in line) return refuseLine(line, line.error, batch);
  const { job } = line;
  let prepared: PreparedJob | undefined;
  try {
    if (job.command.startsWith('image') && batch.folder === undefined)
      throw usageError(`stdin:${job.line}: an image needs a folder`, 'name one: gateway-cli batch - --stream -o out');
    prepared = await batch.prepare(job);
    const slot = batch.assign({ id: job.id, key: prepared.key });
    if (slot === undefined)
      throw usageError(
        `stdin:${job.line}: the id ${JSON.stringify(job.id)} asks the same before`,
        'each line is answered once',
      );
    batch.enter(job, slot);
    batch.plan.jobs++;
    const document = await findDocument(job, slot, batch);
    if (document === undefined) {
      batch.plan.toSend++;
      return readyJob(job, slot, prepared, batch.state);
    }
    await prepared.close();
    return { job, document };
  } catch (error) {
    await prepared?.close();
    if (!(error instanceof GatewayError) || error.class === 'not-written') throw error;
    return refuseLine(line, error, batch);
  }
}

/** The document of a slot that is not sent; undefined if it is to be sent. */
async function findDocument(
  job: Job,
  slot: number,
  { policy, results, state, context }: StreamBatch,
): Promise<object | undefined> {
  // Each line is meant by the one who writes it.
  const isSent = isRetried(slot, policy, state) || decideSlot(slot, { isMeant: true, policy }, state) === 'send';
  if (isSent) return undefined;
  const result = await results.read(slot);
  if (result) {
    const { slot: _, t: __, id: ___, doubtful: ____, bound: _____, ...document } = result;
    const { vars } = job.values;
    return { ...document, ...(vars !== undefined && context.ui.clean({ vars })) };
  }
  const error = new GatewayError('no-reply', unanswered.message, {
    hint: 'to send it again, which may bill it twice: --retry unknown',
    sent: 'yes',
    billed: 'unknown',
    retryable: false,
  });
  return describeFailure(job.command, error, context);
}

/** A line that is no row, with its error. */
function refuseLine(line: StreamedJob, error: GatewayError, batch: StreamBatch): QueuedJob {
  batch.refused++;
  const command = 'job' in line ? line.job.command : 'text';
  return { job: { id: line.id }, document: describeFailure(command, error, batch.context) };
}

function describeFailure(command: string, error: GatewayError, { ui }: AnswerContext): object {
  return resultDocument(emptyReport(command), { error, durationMs: 0, redaction: ui });
}
