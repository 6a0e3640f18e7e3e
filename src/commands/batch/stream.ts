import {
  type Batch,
  type BatchHost,
  changedError,
  type Counts,
  decideOn,
  defaultGraceMs,
  emptyPlan,
  enterOutdir,
  findLostEnds,
  gatewayKey,
  type Job,
  type JobOutcome,
  type JobQueue,
  newBatchState,
  noLock,
  openResults,
  getRequestOrigin,
  type PreparedJob,
  readJournal,
  readyJob,
  type ReadyJob,
  type Recorder,
  findOwner,
  requireMatch,
  requireOwn,
  type ResultReader,
  type Stop,
  unanswered,
  withVars,
  runStream,
  addKeptReplies,
} from '../../batch/index.ts';
import { chooseHint } from '../../advice.ts';
import { GatewayError, usageError } from '../../errors.ts';
import type { AnswerContext, CommandOutcome } from '../../cli/context.ts';
import { openClients } from '../../cli/run/client.ts';
import type { Client } from '../../client/index.ts';
import { findOutdir } from './outdir.ts';
import { createHost, recovery } from './host.ts';
import { limitConcurrency, readPolicy, saveMemory } from './policy.ts';
import { checkPrice, emptyFacts, type BatchPlanFacts, requireOwnKeys } from './plan.ts';
import { describeCounts, getExitCode } from './summary.ts';
import { createRequestBuilder } from './jobs/request.ts';
import { openJobStream, type StreamedJob } from './jobs/source.ts';
import { type BatchFlags, requireStream } from './flags.ts';
import { untilAborted } from '../../clock.ts';
import { resultDocument } from '../../cli/output/document.ts';
import { emptyReport } from '../../cli/output/outcome.ts';
import type { Settings } from '../../settings/types.ts';

/** A batch whose jobs are not known before they are sent. */
export interface StreamBatch extends Omit<Batch, 'jobs'> {
  flags: BatchFlags;
  context: AnswerContext;
  /** Monotonic clock at the start, in ms. */
  startedAt: number;
  facts: BatchPlanFacts;
  /** Builds the request of a job, if it has the prices that the flags need. */
  prepare(job: Job): Promise<ReadyJob>;
  /** The results of earlier runs; undefined without a folder. */
  results: ResultReader | undefined;
  /** What became of the lines that were printed. */
  printed: Counts;
}

/** `batch - --stream`: takes jobs from stdin until it ends, and prints each result when its job has ended. */
export async function openStream(
  words: readonly string[],
  flags: BatchFlags,
  context: AnswerContext,
): Promise<StreamBatch> {
  requireStream(words, flags, context);
  const policy = await readPolicy(flags, context);
  saveMemory();
  const host = createHost(context, flags.output);
  const { cwd } = context.io;
  const startedAt = context.io.elapsed();
  const outdir = flags.output === undefined ? undefined : await findOutdir(flags.output, context);
  if (outdir?.exists) await requireOwn(outdir.path);
  const output = outdir?.path ?? cwd;
  const isFolderless = outdir === undefined;
  const builder = createRequestBuilder({
    context,
    flags,
    source: { name: 'stdin', folder: cwd },
    output,
    isFolderless,
  });
  const settings = await builder.settingsOf({ id: '', line: 0, command: 'text', name: undefined, values: {} });
  if (settings.lane.value === 'batch')
    throw usageError('--stream cannot be combined with --lane batch', 'use --lane live');
  const origin = getRequestOrigin(settings);
  const folder = outdir
    ? await openFolder(outdir.path, host)
    : { lock: noLock, state: newBatchState(), lostEnds: [], results: undefined };
  requireMatch(findOwner(folder.state), { origin, shard: undefined });
  const plan = emptyPlan(origin);
  const printed = { jobs: 0, done: 0, incomplete: 0, failed: 0, unknown: 0, pending: 0 };
  const facts = emptyFacts();
  const prepare = async (job: Job): Promise<ReadyJob> => {
    await checkPrice(await builder.settingsOf(job), job, { facts, flags, context, state: folder.state });
    return readyJob(job, await builder.prepare(job, origin));
  };
  const known = { host, policy, plan, shard: undefined, outdir: output, ...folder };
  return { ...known, flags, context, facts, startedAt, printed, prepare };
}

async function openFolder(path: string, host: BatchHost) {
  const lock = await enterOutdir(path, host);
  const state = await readJournal(path);
  const found = await findLostEnds(path, state);
  const { lostEnds, places } = await addKeptReplies(path, state, { ends: found, lock, host, recovery });
  const results = await openResults(path, state.index, places);
  host.atEnd(() => results.close());
  return { lock, state, lostEnds, results };
}

/** Sends the jobs as they come. Resolves when stdin has ended and every job has, with the reason if it ended early. */
export async function streamJobs(batch: StreamBatch): Promise<Stop | undefined> {
  const { flags, context, results } = batch;
  const lines = await openJobStream(flags, context);
  context.gracePeriod.ms = defaultGraceMs + 2000;
  return runStream(batch, {
    openQueue: (recorder) => openStreamQueue(lines, { batch, recorder }),
    clientOf: createClients(batch),
    concurrency: await limitConcurrency(flags, undefined, context),
    hasFolder: results !== undefined,
  });
}

/** Opens the client of a job when the first one needs it. Throws GatewayError usage if a key would go to several hosts. */
function createClients({ flags, context }: StreamBatch): (prepared: PreparedJob) => Promise<Client> {
  const opened = new Map<string, Promise<Client>>();
  const used: Settings[] = [];
  return ({ settings, request }) => {
    const { use } = request.post;
    const key = `${use} ${gatewayKey(settings)}`;
    const known = opened.get(key);
    if (known) return known;
    requireOwnKeys([...used, settings]);
    used.push(settings);
    const gateway = { settings, forms: { [use]: settings.auth.value } };
    const connection = openClients([gateway], flags, context, { sent: context.sent, looksUpModels: true }).then(
      ({ clients, close }) => {
        context.atEnd(close);
        return clients[0] as Client;
      },
    );
    opened.set(key, connection);
    return connection;
  };
}

/** When a line can be printed. */
interface PrintTurn {
  /** Resolves when the lines before it are printed, with `--ordered`. */
  came: Promise<void>;
  end(): void;
}

/** Jobs of a stream, each recorded as ready when a worker takes it. Lines that are not sent are answered at once. */
export function openStreamQueue(
  lines: AsyncGenerator<StreamedJob, void>,
  { batch, recorder }: { batch: StreamBatch; recorder: Recorder },
): JobQueue {
  const turns = new WeakMap<ReadyJob, PrintTurn>();
  const numbered = inTurn(lines, batch.flags.ordered === true);
  const endPrintTurn = (job: ReadyJob): void => turns.get(job)?.end();
  return {
    async next(signal) {
      for (;;) {
        if (signal.aborted) return undefined;
        const { value, done } = await untilAborted(numbered.next(), signal);
        if (done) return undefined;
        const { line, turn } = value;
        try {
          const taken = await takeStreamedLine(line, batch);
          if ('ready' in taken) {
            turns.set(taken.ready, turn);
            await recorder.ready([taken.ready]);
            return taken.ready;
          }
          await turn.came;
          await printLine(taken.document, batch);
          turn.end();
        } catch (error) {
          turn.end();
          throw error;
        }
      }
    },
    async giveBack(ready) {
      endPrintTurn(ready);
      await ready.prepared.close();
      await recorder.unsent([ready]);
    },
    async ended(ready, outcome) {
      // A job that was not sent gets no line.
      if (outcome.state === 'unsent') return;
      await turns.get(ready)?.came;
      const { job, digest } = ready;
      await printLine({ id: job.id, request: digest, ...outcome.document }, batch).catch(async (error: unknown) => {
        throw await savedUnprinted(error, outcome, batch);
      });
    },
    release: endPrintTurn,
    close: async () => undefined,
  };
}

/** The lines with their turns. */
async function* inTurn(
  lines: AsyncGenerator<StreamedJob, void>,
  isOrdered: boolean,
): AsyncGenerator<{ line: StreamedJob; turn: PrintTurn }, void> {
  let came = Promise.resolve();
  for await (const line of lines) {
    const turn = { came, end: (): void => undefined };
    const ended = new Promise<void>((resolve) => (turn.end = resolve));
    yield { line, turn };
    if (isOrdered) came = ended;
  }
}

/** The job of a line, if it is sent, or the document that answers any other line. */
async function takeStreamedLine(
  line: StreamedJob,
  batch: StreamBatch,
): Promise<{ ready: ReadyJob } | { document: object }> {
  if ('error' in line) return toRefusal(line, line.error, batch);
  const { job } = line;
  let ready: ReadyJob | undefined;
  try {
    if (job.command.startsWith('image') && batch.results === undefined)
      throw usageError(`stdin:${job.line}: an image needs a folder`, 'name one: gateway-cli batch - --stream -o out');
    ready = await batch.prepare(job);
    const document = batch.results && (await knownResult(ready, batch.results, batch));
    if (document === undefined) return { ready };
    await ready.prepared.close();
    return { document };
  } catch (error) {
    await ready?.prepared.close();
    if (!(error instanceof GatewayError) || error.class === 'not-written') throw error;
    return toRefusal(line, error, batch);
  }
}

/** The result of the job from an earlier run; undefined if the job must be sent. Throws GatewayError if neither is possible. */
async function knownResult(
  { job, digest }: ReadyJob,
  results: ResultReader,
  batch: StreamBatch,
): Promise<object | undefined> {
  const { index } = batch.state;
  const row = index.add(job.id);
  if (index.has(row, 'inFile'))
    throw usageError(`stdin:${job.line}: the id ${JSON.stringify(job.id)} is already used`, 'ids are unique');
  index.setFlag(row, 'inFile');
  batch.plan.jobs++;
  if (index.placeOf(row) === 0) index.setPlace(row, index.size);
  const decision = decideOn(row, digest, batch);
  if (decision === 'run') return undefined;
  if (decision === 'changed') throw changedError({ ids: [job.id], jobs: 1 });
  const maybeBilled = { sent: 'yes', billed: 'unknown', retryable: false } as const;
  if (index.has(row, 'atService'))
    throw new GatewayError('no-reply', 'its result is not collected yet: it is at the service', {
      hint: 'the command that submitted it collects it: --lane batch',
      ...maybeBilled,
    });
  const isSame = index.digestOf(row) === digest;
  const result = await results.read(row);
  if (result) return isSame ? withVars(result, job, batch.context.ui) : result;
  const hint = 'to send it again, which may bill it twice: --retry-unknown';
  throw new GatewayError('no-reply', unanswered.message, { hint, ...maybeBilled });
}

/** The document of a line that is refused. */
function toRefusal({ id, ...line }: StreamedJob, error: GatewayError, { context }: StreamBatch): { document: object } {
  const command = 'job' in line ? line.job.command : 'text';
  const document = resultDocument(emptyReport(command), { error, durationMs: 0, redaction: context.ui });
  return { document: { id, ...document } };
}

/** Prints a line and counts it. Throws the failure of stdout if it is closed or full. */
async function printLine(document: object, { context: { io }, printed }: StreamBatch): Promise<void> {
  await io.stdout.write(`${JSON.stringify(document)}\n`);
  if (io.stdout.failure !== undefined) throw io.stdout.failure;
  const { ok, complete, error } = document as { ok?: boolean; complete?: boolean; error?: { class?: string } };
  printed.jobs++;
  if (ok === true) printed.done++;
  else if (error?.class === 'no-reply') printed.unknown++;
  else printed.failed++;
  if (ok === true && complete === false) printed.incomplete++;
}

/** Saves a paid reply that cannot be printed for recovery, unless the folder has it. Returns the error. */
async function savedUnprinted(
  error: unknown,
  outcome: JobOutcome,
  { context, results }: StreamBatch,
): Promise<unknown> {
  if (results !== undefined || outcome.state === 'unsent') return error;
  const unprinted = new GatewayError('not-written', 'a result could not be printed', { retryable: false });
  const saved = await outcome.saveReply?.(unprinted);
  if (saved?.path) await context.ui.warn(`${unprinted.message}; ${chooseHint(saved.failure as GatewayError) ?? ''}`);
  return error;
}

/** Reports the counts of the lines, unless the summary of a folder has done it. The error is batch-failed, or the signal. */
export async function finishStream(batch: StreamBatch, stop: Stop | undefined): Promise<CommandOutcome> {
  const { printed, context, flags, results } = batch;
  if (results === undefined) await context.ui.note(describeCounts(printed));
  if (stop === 'signal') return { error: context.signal.reason };
  if (stop === undefined && getExitCode(printed) === 0) return {};
  const limits = {
    cost: `stopped before a request that could pass --max-cost ${flags.maxCost}: `,
    tokens: `stopped after ${flags.maxTokensTotal} tokens: `,
    failures: 'stopped after failures: ',
  };
  const why = stop instanceof GatewayError ? `stopped: ${stop.message}: ` : stop === undefined ? '' : limits[stop];
  const each = 'each line with "ok":false has its error; a job without a line was not sent';
  const lines = [each, stop instanceof GatewayError && chooseHint(stop)];
  const error = new GatewayError('batch-failed', `${why}${describeCounts(printed)}`, {
    hint: lines.filter(Boolean).join('\n'),
    sent: 'yes',
    retryable: true,
  });
  return { error };
}
