import { readdir, readFile } from 'node:fs/promises';
import pLimit from 'p-limit';
import type { Context, Outcome } from '../context.ts';
import { adviceForRest, checkEnd, type PreparedRequest, type Result } from '../../client/index.ts';
import { endSignals, type ErrorClass, GatewayError, isQuotaSpent, getErrorMessage } from '../../errors.ts';
import { emptyOutcome, joinOutcomes } from '../output/outcome.ts';
import { askForOutcome, type Asking, saveFiles } from './ask.ts';

/** The request, the number of times to send it, and the place of the images. */
export interface SendAllOptions extends Asking {
  request: PreparedRequest;
  count: number;
  concurrency?: number | undefined;
  /** Fetches the pictures that an answer only links to. */
  fetchLinked?: ((result: Result) => Promise<Result>) | undefined;
  /** Called after each answer with the number of answers. */
  onAnswer?: (answered: number) => void;
}

/** The outcomes of all requests; `thrown` is the exception that ended more than its own request. */
export interface AllOutcomes {
  outcomes: Outcome[];
  thrown: Outcome['thrown'];
}

/** A signal, a closed stdout, a full disk and a bug end the command. */
const endings = new Set([...endSignals, 'not-written', 'internal']);
/** Failures that the same request would meet again. */
const hopeless = new Set<ErrorClass>(['auth', 'rejected', 'usage']);

/**
 * Makes the requests, a limited number at a time; images are published in the order of the requests, each as soon as it can be.
 * After a failure that all requests would share, no further one is sent. Requests in flight are paid for, so their answers are published.
 */
export async function sendAll(options: SendAllOptions): Promise<AllOutcomes> {
  const limit = pLimit(options.concurrency ?? options.count);
  const state: SendState = { ...options, over: undefined, thrown: undefined, isDiskInDoubt: false, answered: 0 };
  const saved: Promise<Outcome>[] = [];
  for (let index = 0; index < options.count; index++) {
    const before = saved[index - 1];
    const outcome = limit(() => sendOne(index, before, state));
    saved.push(saveInOrder(before, outcome, state));
  }
  return { outcomes: await Promise.all(saved), thrown: state.thrown };
}

/** The state of the requests while they are sent. */
interface SendState extends SendAllOptions {
  /** The error after which no more requests are sent. */
  over: GatewayError | undefined;
  thrown: Outcome['thrown'];
  /** An image was written to the spare folder. Whether it reaches its place after all is known before the next one is paid for. */
  isDiskInDoubt: boolean;
  answered: number;
}

async function sendOne(index: number, before: Promise<unknown> | undefined, state: SendState): Promise<Outcome> {
  const { request, client, pricing, deadline, images, gate, maxTurns, count } = state;
  if (state.isDiskInDoubt) await before;
  if (state.over !== undefined) return { ...emptyOutcome, thrown: { value: state.over } };
  const onSpare = () => void (state.isDiskInDoubt = true);
  const asking = { client, pricing, deadline, images, gate, maxTurns, sample: index, onSpare };
  const outcome = await askForOutcome(request, asking);
  const { thrown } = outcome;
  if (thrown) noteEnd(thrown.value, state);
  if (outcome.reply === undefined) return outcome;
  const reply = (await state.fetchLinked?.(outcome.reply)) ?? outcome.reply;
  state.onAnswer?.(++state.answered);
  return { ...outcome, reply: count > 1 ? withNumber(reply, index) : reply };
}

/** The result with the number of its reply in each part. */
function withNumber(result: Result, reply: number): Result {
  const number = <Part extends object>(parts: readonly Part[]) => parts.map((part) => ({ ...part, reply }));
  const { candidates, images, files } = result;
  return { ...result, candidates: number(candidates), images: number(images), ...(files && { files: number(files) }) };
}

async function saveInOrder(
  before: Promise<unknown> | undefined,
  sent: Promise<Outcome>,
  state: SendState,
): Promise<Outcome> {
  await before;
  const saved = await saveFiles(await sent, state.images, () => checkEnd(state.deadline));
  if (saved.thrown && saved.reply) noteEnd(saved.thrown.value, state);
  state.over ??= saved.unsaved.failure;
  return saved;
}

function toFailure(error: unknown): GatewayError {
  return error instanceof GatewayError ? error : new GatewayError('internal', getErrorMessage(error), { cause: error });
}

function noteEnd(error: unknown, state: SendState): void {
  const failure = toFailure(error);
  if (endings.has(failure.class)) state.thrown ??= { value: error };
  if (endings.has(failure.class) || hopeless.has(failure.class) || isQuotaSpent(failure)) state.over ??= failure;
}

/**
 * Joins the outcomes of several requests into one: texts and images together, usage and costs added up. If all requests failed,
 * the error is the first failure. If some failed, or gave no image, the answer is incomplete (exit 11) and the error says how
 * many are missing.
 */
export function joinAnswers(outcomes: readonly Outcome[]): Outcome {
  const [only] = outcomes;
  if (outcomes.length === 1 && only?.reply) return only;
  const joined = { ...joinOutcomes(outcomes, 'answers'), thrown: undefined };
  const failures = listFailures(outcomes);
  const [first] = failures;
  if (joined.reply === undefined) {
    if (first === undefined) return { ...joined, error: new GatewayError('internal', 'no request was made') };
    // The first failure may not have been sent or billed although another one was.
    return { ...joined, error: failures.reduce((error, other) => error.after(other), first) };
  }
  const replies = outcomes.flatMap(({ reply }) => reply ?? []);
  const reply = { ...joined.reply, complete: replies.every(({ complete }) => complete) };
  const missing = outcomes.length - replies.filter(({ images }) => images.length > 0).length;
  if (missing === 0 || reply.images.length === 0) return { ...joined, reply, error: first };
  const why = first === undefined ? '' : `: ${first.message}`;
  const error = new GatewayError('incomplete', `${missing} of ${outcomes.length} images are missing${why}`, {
    ...first?.details,
    sent: 'yes',
    billed: 'yes',
    ...adviceForRest(missing),
    cause: first,
  });
  return { ...joined, reply, error };
}

/** The errors of requests without an answer, or with an incomplete one. */
export function listFailures(outcomes: readonly Outcome[]): GatewayError[] {
  return outcomes.flatMap(({ reply, error, thrown }) => (reply || !thrown ? (error ?? []) : toFailure(thrown.value)));
}

/** Fewer requests at once if there are too few descriptors: a request without one may be paid for and lost. */
export async function limitToFiles(wanted: number, { ui }: Context): Promise<number> {
  const files = await countOpenFiles();
  if (files === undefined || requestsWithin(files) >= wanted) return wanted;
  const most = requestsWithin(files);
  const limit = `the limit of ${files.most} open files allows --concurrency ${most}, not ${wanted}`;
  await ui.warn(`${limit}; to raise it: ulimit -n ${filesFor(wanted, files)}`);
  return most;
}

/** The limit of file descriptors of the process, and the number in use. */
interface OpenFiles {
  most: number;
  now: number;
}

/** The most files of a request at a time: a connection, a file that it sends and two images that are being written. */
const filesOfRequest = 4;

/** File descriptors for files of a batch, look-ups of names, and Node itself. */
const otherFiles = 32;

/** The number of requests that can be in flight at once: at least one. */
export function requestsWithin({ most, now }: OpenFiles): number {
  return Math.max(1, Math.floor((most - now - otherFiles) / filesOfRequest));
}

/** The limit of open files that this many requests in flight need. */
export function filesFor(requests: number, { now }: OpenFiles): number {
  return now + otherFiles + requests * filesOfRequest;
}

/** Undefined on systems other than Linux, and without a limit. */
export async function countOpenFiles(): Promise<OpenFiles | undefined> {
  try {
    const [limits, open] = await Promise.all([readFile('/proc/self/limits', 'utf8'), readdir('/proc/self/fd')]);
    const most = Number(/^Max open files +(\d+)/m.exec(limits)?.[1]);
    return Number.isNaN(most) ? undefined : { most, now: open.length };
  } catch {
    return undefined;
  }
}
