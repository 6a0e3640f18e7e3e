import pLimit from 'p-limit';
import type { Outcome } from '../context.ts';
import {
  adviceForRest,
  checkEnd,
  endSignals,
  type ErrorClass,
  GatewayError,
  isQuotaSpent,
  type PreparedRequest,
  type Result,
  toGatewayError,
} from '../../library/index.ts';
import { emptyOutcome, joinOutcomes } from '../output/outcome.ts';
import { askForOutcome, type Asking, saveFiles } from './ask.ts';

/** The request, the number of times to send it, and the place of the images. */
interface SendAllOptions extends Asking {
  request: PreparedRequest;
  count: number;
  concurrency?: number | undefined;
  /** Fetches the pictures that an answer only links to. */
  fetchLinked?: ((result: Result) => Promise<Result>) | undefined;
  /** Called after each answer with the number of answers. */
  onAnswer?: (answered: number) => void;
}

/** The outcomes of all requests; `thrown` is the exception that ended more than its own request. */
interface AllOutcomes {
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
  const { request, count, concurrency = count, fetchLinked, onAnswer, ...asking } = options;
  const { images, deadline } = asking;
  /** The error after which no more requests are sent. */
  let over: GatewayError | undefined;
  /** The exception that ended more than its own request. */
  let thrown: Outcome['thrown'];
  /** An image was written to the spare folder. Whether it reaches its place after all is known before the next one is paid for. */
  let isDiskInDoubt = false;
  let answered = 0;

  const noteEnd = (outcome: Outcome): void => {
    if (!outcome.thrown) return;
    const failure = toGatewayError(outcome.thrown.value);
    const endsAll = endings.has(failure.class);
    if (endsAll) thrown ??= outcome.thrown;
    if (endsAll || hopeless.has(failure.class) || isQuotaSpent(failure)) over ??= failure;
  };
  const sendOne = async (index: number, before: Promise<unknown> | undefined): Promise<Outcome> => {
    if (isDiskInDoubt) await before;
    if (over !== undefined) return { ...emptyOutcome, thrown: { value: over } };
    const onSpare = (): void => void (isDiskInDoubt = true);
    const outcome = await askForOutcome(request, { ...asking, sample: index, onSpare });
    noteEnd(outcome);
    if (outcome.reply === undefined) return outcome;
    const reply = (await fetchLinked?.(outcome.reply)) ?? outcome.reply;
    onAnswer?.(++answered);
    return { ...outcome, reply: count > 1 ? withNumber(reply, index) : reply };
  };
  const saveInOrder = async (before: Promise<unknown> | undefined, sent: Promise<Outcome>): Promise<Outcome> => {
    await before;
    const saved = await saveFiles(await sent, images, () => checkEnd(deadline));
    if (saved.reply) noteEnd(saved);
    over ??= saved.unsaved.failure;
    return saved;
  };

  const limit = pLimit(concurrency);
  const saving: Promise<Outcome>[] = [];
  for (let index = 0; index < count; index++) {
    const before = saving.at(-1);
    const sent = limit(() => sendOne(index, before));
    saving.push(saveInOrder(before, sent));
  }
  return { outcomes: await Promise.all(saving), thrown };
}

/** The result with the number of its reply in each part. */
function withNumber(result: Result, reply: number): Result {
  const number = <Part extends object>(parts: readonly Part[]) => parts.map((part) => ({ ...part, reply }));
  const { candidates, images, files } = result;
  return { ...result, candidates: number(candidates), images: number(images), ...(files && { files: number(files) }) };
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
  const failures = listErrors(outcomes);
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
export function listErrors(outcomes: readonly Outcome[]): GatewayError[] {
  return outcomes.flatMap(({ reply, error, thrown }) =>
    reply || !thrown ? (error ?? []) : toGatewayError(thrown.value),
  );
}
