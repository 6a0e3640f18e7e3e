import { endSignals, GatewayError } from '../errors.ts';
import type { StreamDelta } from '../formats/events.ts';
import { countOn } from './events.ts';
import { loadFormat, replaceModel } from '../formats/format.ts';
import type { AskOptions, Performed, PreparedRequest } from './ask.ts';
import { emptyResult } from './arriving-reply.ts';
import { changeDeltas } from './deltas.ts';
import { joinContents, joinReplies } from './reply-fields.ts';
import { isUnfinished } from '../vendors/finish-reasons.ts';
import { append } from '../long-lists.ts';
import type { Answer } from './result.ts';

/** The most requests of one answer. */
export const defaultMaxTurns = 10;

/** One of the requests of an answer. */
export interface Hop extends Answer {
  /** A recording answered it, or it was certainly not billed. */
  isFree: boolean;
}

/** Asks one of the requests of an answer. */
type AskHop = (request: PreparedRequest, onEvent: AskOptions['onEvent']) => AsyncGenerator<StreamDelta[], Performed>;

/**
 * Asks for an answer, and for its rest if the service ends it in the middle: the next request goes on with it, and readers see one
 * answer. If such a request fails, the answer so far is returned with an error that says so.
 */
export async function* askInHops(
  request: PreparedRequest,
  askHop: AskHop,
  { maxTurns = defaultMaxTurns, onEvent }: Pick<AskOptions, 'maxTurns' | 'onEvent'>,
): AsyncGenerator<StreamDelta[], Performed> {
  const answers: Performed[] = [];
  let next: PreparedRequest | undefined = request;
  let shown = 0;
  let ending: StreamDelta[] = [];
  while (next !== undefined) {
    const before = answers.at(-1);
    const from = shown;
    const held: StreamDelta[] = [];
    try {
      const deltas = askHop(next, countOn(onEvent, countAttempts(answers)));
      answers.push(
        yield* changeDeltas(deltas, (arrived) => holdEnding(before ? toLaterDeltas(arrived, from) : arrived, held)),
      );
    } catch (error) {
      if (!before || !(error instanceof GatewayError) || isOfThisMachine(error)) throw error;
      return joinHops(answers, error);
    }
    ending = held;
    const { unfinished } = answers.at(-1) as Performed;
    shown += unfinished?.shown ?? 0;
    const isStuck = unfinished?.token !== undefined && unfinished.token === before?.unfinished?.token;
    const mayGoOn = answers.length < maxTurns && !isStuck;
    next = unfinished && mayGoOn ? await findNext(request, answers, unfinished) : undefined;
  }
  if (ending.length > 0) yield ending;
  return joinHops(answers);
}

/** The deltas to pass on now. From a stop on after which the answer may go on, they are held: readers get them if it does not. */
function holdEnding(arrived: StreamDelta[], held: StreamDelta[]): StreamDelta[][] {
  const at = held.length > 0 ? 0 : arrived.findIndex(isUnfinishedStop);
  const passed = at < 0 ? arrived : arrived.slice(0, at);
  if (at >= 0) append(held, arrived.slice(at));
  return passed.length > 0 ? [passed] : [];
}

function isUnfinishedStop(delta: StreamDelta): boolean {
  return delta.type === 'stop' && isUnfinished(delta.stopReason);
}

function countAttempts(answers: readonly Performed[]): number {
  return answers.reduce((sum, { attempts }) => sum + attempts, 0);
}

/** The request that goes on with an answer, if it is not over: to the model that was asked before, and no other takes its place. */
async function findNext(
  request: PreparedRequest,
  answers: readonly Performed[],
  unfinished: NonNullable<Answer['unfinished']>,
): Promise<PreparedRequest | undefined> {
  const { request: asked, error, result } = answers.at(-1) as Performed;
  // A body that broke off lost nothing if the whole answer was saved.
  const isWhole = error === undefined || (error.class === 'incomplete' && result.stopReason === undefined);
  if (!isWhole) return undefined;
  const { inFormat } = request.post;
  const { format = request.post.format } = result;
  const post = format !== request.post.format && inFormat ? await inFormat(format) : request.post;
  const content = joinContents(answers.map(({ result: { content } }) => content));
  const body = (await loadFormat(post.format)).goOn?.(post.body, { ...unfinished, content });
  if (body === undefined) return undefined;
  const rest = replaceModel({ ...post, body, inFormat: undefined }, asked.model);
  return { ...asked, post: rest, defaultFor: undefined, fallback: undefined };
}

/** The deltas of one request as deltas of the whole answer: their blocks are counted on from those that were shown before. */
function toLaterDeltas(arrived: readonly StreamDelta[], shown: number): StreamDelta[] {
  return arrived
    .filter(({ type }) => type !== 'start')
    .map((delta) => ('block' in delta ? { ...delta, block: shown + delta.block } : delta));
}

/** A full disk, a closed stdout and a bug are no reply's: they end more than the answer. */
function isOfThisMachine(error: GatewayError): boolean {
  return ['not-written', 'closed', 'internal'].includes(error.class);
}

/** Joins the answers of several requests into one, with the failure of the next request. */
function joinHops(answers: readonly Performed[], failure?: GatewayError): Performed {
  const last = answers.at(-1) as Performed;
  if (answers.length === 1 && failure === undefined) return last;
  const lost =
    failure === undefined ? [] : [{ result: emptyResult(''), error: failure, isFree: failure.billed === 'no' }];
  const hops: Hop[] = [...answers.map((hop) => ({ ...hop, isFree: hop.isRecorded })), ...lost];
  const result = joinReplies(
    answers.map((hop) => hop.result),
    'parts',
  );
  const error = failure ?? last.error;
  return {
    result: { ...result, complete: error === undefined && result.complete },
    error: error && stoppedIn(error),
    request: last.request,
    attempts: countAttempts(answers) + (failure?.details.attempts ?? 0),
    isRecorded: answers.every(({ isRecorded }) => isRecorded),
    hops,
  };
}

/** The error of an answer that stays unfinished. A signal ends the command as usual. */
function stoppedIn(error: GatewayError): GatewayError {
  if (endSignals.has(error.class)) return error;
  return new GatewayError('incomplete', `the rest of the answer did not come: ${error.message}`, {
    reason: 'incomplete-kept',
    status: error.details.status,
    requestId: error.details.requestId,
    request: error.details.request,
    sent: 'yes',
    billed: 'yes',
    retryable: false,
    cause: error,
  });
}
