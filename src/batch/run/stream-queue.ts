import { GatewayError, usageError } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import { hintOf } from '../../advice.ts';
import { untilAborted } from '../../clock.ts';
import { resultDocument } from '../../cli/output/document.ts';
import { emptyReport } from '../../cli/output/log.ts';
import type { Recorder } from '../folder/recorder.ts';
import type { ResultReader } from '../folder/results.ts';
import { unanswered } from '../folder/state.ts';
import type { StreamedJob } from '../jobs/source.ts';
import type { Counts, Job, JobOutcome, Batch, JobAttempt } from '../types.ts';
import { changedError, decideOn } from './plan.ts';
import type { JobQueue } from './queue.ts';
import type { JobSender } from './sender.ts';
import type { Settings } from '../../settings/types.ts';

/** A batch whose jobs are not known before they are sent. */
export interface StreamBatch extends Omit<Batch, 'source'> {
  /** Those of earlier runs; undefined without a folder. */
  results: ResultReader | undefined;
  /** What became of the lines that were printed. */
  printed: Counts;
  checkPrice: (settings: Settings) => Promise<void>;
}

/** When a line can be printed. */
interface Turn {
  /** Resolves when the lines before it are printed, with `--ordered`. */
  came: Promise<void>;
  end(): void;
}

interface StreamParts {
  batch: StreamBatch;
  sender: JobSender;
  recorder: Recorder;
}

/** Jobs of a stream, each recorded as ready when a worker takes it. Lines that are not sent are answered at once. */
export function openStreamQueue(lines: AsyncGenerator<StreamedJob, void>, parts: StreamParts): JobQueue {
  const { batch, sender, recorder } = parts;
  const turns = new WeakMap<JobAttempt, Turn>();
  const numbered = inTurn(lines, batch.flags.ordered === true);
  const release = (attempt: JobAttempt): void => turns.get(attempt)?.end();
  return {
    async next(signal) {
      for (;;) {
        if (signal.aborted) return undefined;
        const { value, done } = await untilAborted(numbered.next(), signal);
        if (done) return undefined;
        const { line, turn } = value;
        try {
          const taken = await takeLine(line, parts);
          if ('attempt' in taken) {
            turns.set(taken.attempt, turn);
            await recorder.ready([taken.attempt]);
            return taken.attempt;
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
    async giveBack(attempt) {
      release(attempt);
      await sender.drop(attempt);
      await recorder.unsent([attempt]);
    },
    async ended(attempt, outcome) {
      // What was not sent has no line.
      if (outcome.state === 'unsent') return;
      const { job, request } = attempt;
      await turns.get(attempt)?.came;
      await printLine({ id: job.id, request, ...outcome.document }, batch).catch(async (error: unknown) => {
        throw await savedUnprinted(error, outcome, batch);
      });
    },
    release,
    close: async () => undefined,
  };
}

const ignore = (): void => undefined;

/** The lines with their turns. */
async function* inTurn(
  lines: AsyncGenerator<StreamedJob, void>,
  isOrdered: boolean,
): AsyncGenerator<{ line: StreamedJob; turn: Turn }, void> {
  let came = Promise.resolve();
  for await (const line of lines) {
    const turn = { came, end: ignore };
    const ended = new Promise<void>((resolve) => (turn.end = resolve));
    yield { line, turn };
    if (isOrdered) came = ended;
  }
}

/** A job to send; for any other line its document. */
async function takeLine(
  line: StreamedJob,
  { batch, sender }: StreamParts,
): Promise<{ attempt: JobAttempt } | { document: JsonObject }> {
  if ('error' in line) return refusal(line, line.error, batch);
  const { job } = line;
  let attempt: JobAttempt | undefined;
  try {
    if (job.command.startsWith('image') && batch.results === undefined)
      throw usageError(`stdin:${job.line}: an image needs a folder`, 'name one: gateway-cli batch - --stream -o out');
    await batch.checkPrice(await batch.builder.settingsOf(job));
    attempt = await sender.prepare(job);
    const known = batch.results && (await knownResult(attempt, batch));
    if (known === undefined) return { attempt };
    await sender.drop(attempt);
    return known instanceof GatewayError ? refusal(line, known, batch) : { document: known };
  } catch (error) {
    if (attempt) await sender.drop(attempt);
    if (!(error instanceof GatewayError) || error.class === 'not-written') throw error;
    return refusal(line, error, batch);
  }
}

/** What an earlier run knows of the job, or why it is not sent; undefined if it is to be sent. */
async function knownResult(
  { job, request }: JobAttempt,
  batch: StreamBatch,
): Promise<GatewayError | JsonObject | undefined> {
  const { plan, results } = batch;
  const { index } = batch.state;
  const row = index.add(job.id);
  if (index.has(row, 'inFile'))
    return usageError(`stdin:${job.line}: the id ${JSON.stringify(job.id)} is already used`, 'ids are unique');
  index.mark(row, 'inFile');
  plan.jobs++;
  if (index.placeOf(row) === 0) index.setPlace(row, index.size);
  const decision = decideOn(row, request, batch);
  if (decision === 'run') return undefined;
  if (decision === 'changed') return changedError([job.id], 1);
  if (index.has(row, 'atService')) return submittedError;
  return (await results?.read(row)) ?? unansweredError;
}

const unansweredError = new GatewayError('no-reply', unanswered.message, {
  hint: 'to send it again: --retry-unknown',
  sent: 'yes',
  billed: 'unknown',
  retryable: false,
});

const submittedError = new GatewayError('no-reply', 'its result is not collected yet: it is at the service', {
  hint: 'the command that submitted it collects it: --lane batch',
  sent: 'yes',
  billed: 'unknown',
  retryable: false,
});

/** The document of a line that is not sent. */
function refusal(
  { id, ...line }: StreamedJob,
  error: GatewayError,
  { context }: StreamBatch,
): { document: JsonObject } {
  const command = 'job' in line ? (line.job as Job).command : 'text';
  const document = resultDocument(emptyReport(command), { error, durationMs: 0, redaction: context.ui });
  return { document: { id, ...document } as unknown as JsonObject };
}

/** Throws what stdout says: it is closed, or full. */
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

/** A paid reply that cannot be printed is saved for recovery, unless the folder has it. */
async function savedUnprinted(
  error: unknown,
  outcome: JobOutcome,
  { context, results }: StreamBatch,
): Promise<unknown> {
  if (results !== undefined || outcome.state === 'unsent') return error;
  const unprinted = new GatewayError('not-written', 'a result could not be printed', { retryable: false });
  const { failure, path } = (await outcome.saveReply?.(unprinted)) ?? { failure: undefined, path: undefined };
  if (path !== undefined) await context.ui.warn(`${unprinted.message}; ${hintOf(failure as GatewayError) ?? ''}`);
  return error;
}
