import {
  type Batch,
  type BatchHost,
  type Counts,
  decideSlot,
  defaultGraceMs,
  emptyPlan,
  enterOutdir,
  gatewayKey,
  type Job,
  type JobOutcome,
  type JobQueue,
  newBatchState,
  noLock,
  openResults,
  getRequestOrigin,
  type PreparedJob,
  openManifest,
  readFolder,
  readyJob,
  type ReadyJob,
  type Recorder,
  requireOwn,
  type ResultReader,
  type Stop,
  unanswered,
  runStream,
  addKeptReplies,
  addRow,
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
import { describeStates, listStates } from './states.ts';
import { getExitCode } from './summary.ts';
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
  prepare(job: Job): Promise<PreparedJob>;
  /** The results of earlier runs; undefined without a folder. */
  results: ResultReader | undefined;
  /** Slots that lines of this stream have, and their ids. */
  taken: Map<number, string>;
  /** Adds a line to the table of the folder, if there is one. */
  enter(job: Job, slot: number): void;
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
  if (settings.lane === 'batch') throw usageError('--stream cannot be combined with --lane batch', 'use --lane live');
  const folder = outdir
    ? await openFolder(outdir.path, host)
    : { lock: noLock, state: newBatchState(), lostEnds: [], results: undefined, enter: () => undefined };
  const plan = emptyPlan(getRequestOrigin(settings));
  const printed = { jobs: 0, done: 0, incomplete: 0, failed: 0, unknown: 0, pending: 0 };
  const facts = emptyFacts();
  const prepare = async (job: Job): Promise<PreparedJob> => {
    await checkPrice(await builder.settingsOf(job), job, { facts, flags, context, state: folder.state });
    return builder.prepare(job);
  };
  const known = { host, policy, plan, shard: undefined, outdir: output, ...folder };
  return { ...known, flags, context, facts, startedAt, printed, prepare, taken: new Map() };
}

async function openFolder(path: string, host: BatchHost) {
  const lock = await enterOutdir(path, host);
  const { state, ...found } = await readFolder(path);
  const { lostEnds } = await addKeptReplies(path, state, { ends: found, lock, host, recovery });
  const results = await openResults(path, state.slots);
  host.atEnd(() => results.close());
  const manifest = await openManifest(path, state);
  host.atEnd(() => manifest.close());
  return { lock, state, lostEnds, results, enter: manifest.enter };
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
    const gateway = { settings, forms: { [use]: settings.auth } };
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
      await printLine({ id: ready.job.id, ...outcome.document }, batch).catch(async (error: unknown) => {
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
  let prepared: PreparedJob | undefined;
  try {
    if (job.command.startsWith('image') && batch.results === undefined)
      throw usageError(`stdin:${job.line}: an image needs a folder`, 'name one: gateway-cli batch - --stream -o out');
    prepared = await batch.prepare(job);
    const slot = takeSlot(job, prepared.key, batch);
    const document = batch.results && (await knownResult(job, slot, batch.results, batch));
    if (document === undefined) return { ready: readyJob(job, slot, prepared, batch.state) };
    await prepared.close();
    return { document };
  } catch (error) {
    await prepared?.close();
    if (!(error instanceof GatewayError) || error.class === 'not-written') throw error;
    return toRefusal(line, error, batch);
  }
}

/** The slot of a line. The second line of a stream that asks the same has the second slot of its key, and so on. */
function takeSlot(job: Job, key: string, { taken, plan, state, enter }: StreamBatch): number {
  let number = 1;
  for (let id = taken.get(state.slots.find(key)); id !== undefined; id = taken.get(state.slots.find(key, ++number)))
    if (id === job.id)
      throw usageError(
        `stdin:${job.line}: the id ${JSON.stringify(id)} asks the same before`,
        'each line is answered once',
      );
  const slot = state.slots.add(key, number);
  taken.set(slot, job.id);
  const place = addRow(plan.table, { id: job.id, key }, state.slots);
  plan.table.slots[place] = slot;
  plan.jobs++;
  state.slots.setFlag(slot, 'wanted');
  enter(job, slot);
  return slot;
}

/** The result of a slot from an earlier run; undefined if it is to be sent. Throws GatewayError if neither is possible. */
async function knownResult(
  { id, values: { vars } }: Job,
  slot: number,
  results: ResultReader,
  { context: { ui }, policy, state }: StreamBatch,
): Promise<object | undefined> {
  const { slots, atService } = state;
  const isCut = policy.retry?.includes('incomplete') && slots.stateOf(slot) === 'incomplete';
  const decision = decideSlot(isCut ? 'pending' : slots.stateOf(slot), { isAtService: atService.has(slot), policy });
  if (decision === 'send') return undefined;
  const maybeBilled = { sent: 'yes', billed: 'unknown', retryable: false } as const;
  if (decision === 'collect')
    throw new GatewayError('no-reply', 'its result is not collected yet: it is at the service', {
      hint: 'the command that submitted it collects it: --lane batch',
      ...maybeBilled,
    });
  const result = await results.read(slot);
  if (result) {
    const { slot: _, t: __, doubtful: ___, bound: ____, ...document } = result;
    return { ...document, id, ...(vars !== undefined && ui.clean({ vars })) };
  }
  const hint = 'to send it again, which may bill it twice: --retry unknown';
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
  if (results === undefined) await context.ui.note(describeStates(listStates(printed)));
  if (stop === 'signal') return { error: context.signal.reason };
  if (stop === undefined && getExitCode(printed) === 0) return {};
  const limits = {
    cost: `stopped before a request that could pass --max-cost ${flags.maxCost}: `,
    failures: 'stopped after failures: ',
  };
  const why = stop instanceof GatewayError ? `stopped: ${stop.message}: ` : stop === undefined ? '' : limits[stop];
  const each = 'each line with "ok":false has its error; a job without a line was not sent';
  const lines = [each, stop instanceof GatewayError && chooseHint(stop)];
  const error = new GatewayError('batch-failed', `${why}${describeStates(listStates(printed))}`, {
    hint: lines.filter(Boolean).join('\n'),
    sent: 'yes',
    retryable: true,
  });
  return { error };
}
