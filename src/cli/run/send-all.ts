import { readdir, readFile } from 'node:fs/promises';
import pLimit from 'p-limit';
import type { Context, UnsavedReply } from '../context.ts';
import {
  adviceForRest,
  type Answer,
  listBlobs,
  type Client,
  type Deadline,
  checkEnd,
  drainDeltas,
  type PreparedRequest,
  joinReplies,
  type Result,
} from '../../client/index.ts';
import { endSignals, type ErrorClass, GatewayError, isQuotaSpent, getErrorMessage } from '../../errors.ts';
import type { ImageOutput } from '../output/save-images.ts';
import type { Gate } from '../../transport/gate.ts';

/** What is requested, how often, and where the images go. */
export interface SendAllOptions extends PreparedRequest {
  client: Client;
  deadline: Deadline;
  images: ImageOutput;
  count: number;
  concurrency?: number | undefined;
  /** Makes all requests wait after a 429. */
  gate?: Gate | undefined;
  /** How many requests each answer may take. */
  maxTurns?: number | undefined;
  unsaved: UnsavedReply;
  /** Fetches the pictures that an answer only links to. */
  fetchLinked?: ((result: Result) => Promise<void>) | undefined;
  /** Called after each answer with the number of answers. */
  onAnswer?: (answered: number) => void;
}

/** The outcome of one of several requests. */
export type RequestOutcome =
  | { answer: Answer; isSent: boolean; failure?: undefined }
  | { answer?: undefined; isSent?: undefined; failure: GatewayError };

/** How all requests ended; `thrown` is what ended more than its own request. */
export interface SendAllOutcome {
  outcomes: RequestOutcome[];
  thrown: { value: unknown } | undefined;
}

/** A signal, a closed stdout, a full disk and a bug end the command. */
const endings = new Set([...endSignals, 'not-written', 'internal']);
/** Failures that the same request would have again. */
const hopeless = new Set<ErrorClass>(['auth', 'rejected', 'usage']);

/**
 * Makes the requests, a limited number at a time; images are published in the order of the requests, each as soon as it can be.
 * After a failure that all requests would share, no further one is sent. Requests in flight are paid for, so their answers are published.
 */
export async function sendAll(options: SendAllOptions): Promise<SendAllOutcome> {
  const limit = pLimit(options.concurrency ?? options.count);
  const state: SendState = { ...options, over: undefined, thrown: undefined, isDiskInDoubt: false, answered: 0 };
  const saved: Promise<RequestOutcome>[] = [];
  for (let index = 0; index < options.count; index++) {
    const before = saved[index - 1];
    const outcome = limit(() => sendOne(index, before, state));
    saved.push(saveInOrder(before, outcome, state));
  }
  return { outcomes: await Promise.all(saved), thrown: state.thrown };
}

/** The state of the requests while they are sent. */
interface SendState extends SendAllOptions {
  /** Why no more requests are made. */
  over: GatewayError | undefined;
  thrown: { value: unknown } | undefined;
  /** An image went elsewhere. Whether it reaches its place after all is known before the next one is paid for. */
  isDiskInDoubt: boolean;
  answered: number;
}

async function sendOne(index: number, before: Promise<unknown> | undefined, state: SendState): Promise<RequestOutcome> {
  const { client, deadline, images, gate, maxTurns } = state;
  if (state.isDiskInDoubt) await before;
  const over = state.over ?? state.unsaved.failure;
  if (over !== undefined) return { failure: over };
  try {
    const store = images.openStore(() => (state.isDiskInDoubt = true));
    const options = { deadline, sample: index, gate, store, mostImages: images.most, maxTurns };
    const answer = await drainDeltas(client.ask(state, options));
    await state.fetchLinked?.(answer.result);
    state.onAnswer?.(++state.answered);
    if (state.count > 1)
      for (const part of [...answer.result.candidates, ...listBlobs(answer.result)]) part.reply = index;
    return { answer, isSent: !answer.isRecorded };
  } catch (error) {
    return { failure: noteEnd(error, state) };
  }
}

async function saveInOrder(
  before: Promise<unknown> | undefined,
  sent: Promise<RequestOutcome>,
  state: SendState,
): Promise<RequestOutcome> {
  await before;
  const outcome = await sent;
  const result = outcome.answer?.result;
  const endOne = () => checkEnd(state.deadline);
  if (result) await state.images.save(listBlobs(result), result, endOne).catch((error) => noteEnd(error, state));
  return outcome;
}

function noteEnd(error: unknown, state: SendState): GatewayError {
  const failure =
    error instanceof GatewayError ? error : new GatewayError('internal', getErrorMessage(error), { cause: error });
  if (endings.has(failure.class)) state.thrown ??= { value: error };
  if (endings.has(failure.class) || hopeless.has(failure.class) || isQuotaSpent(failure)) state.over ??= failure;
  return failure;
}

/**
 * One answer from the outcomes of several requests: everything that came, usage added up. Without a result all failed, and the
 * error is the first failure. If some failed, or gave no image, the answer is incomplete (exit 11) and says how many are missing.
 */
export function mergeAnswers(outcomes: readonly RequestOutcome[]): Partial<Answer> {
  const [only] = outcomes;
  if (outcomes.length === 1 && only?.answer) return only.answer;
  const results = outcomes.flatMap(({ answer }) => answer?.result ?? []);
  const failures = outcomes.flatMap(({ answer, failure }) => failure ?? answer?.error ?? []);
  const [first] = failures;
  if (results.length === 0) {
    if (first === undefined) return { error: new GatewayError('internal', 'no request was made') };
    // The first may not have been sent or billed where another one was.
    return { error: failures.reduce((error, other) => error.after(other), first) };
  }
  const complete = results.every((result) => result.complete);
  const result = { ...joinReplies(results, 'answers'), complete };
  const missing = outcomes.length - results.filter(({ images }) => images.length > 0).length;
  if (missing === 0 || result.images.length === 0) return { result, error: first };
  const why = first === undefined ? '' : `: ${first.message}`;
  return {
    result,
    error: new GatewayError('incomplete', `${missing} of ${outcomes.length} images are missing${why}`, {
      ...first?.details,
      sent: 'yes',
      billed: 'yes',
      ...adviceForRest(missing),
      cause: first,
    }),
  };
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

/** How many descriptors a process can have, and how many it has. */
interface OpenFiles {
  most: number;
  now: number;
}

/** A request has a connection, a file that it sends and two images that are being written, at most times. */
const filesOfRequest = 4;

/** For files of a batch, look-ups of names, and what Node opens itself. */
const otherFiles = 32;

/** How many requests can be in flight at once: at least one. */
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
