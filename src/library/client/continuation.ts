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

/** The limits for the requests of one answer. */
export interface ContinuationOptions {
  /** The most requests of one answer, if the service ends it in the middle; 10 by default. */
  maxTurns?: number | undefined;
}

/** Asks one of the requests of an answer. */
export type AskHop = (
  request: PreparedRequest,
  onEvent: AskOptions['onEvent'],
) => AsyncGenerator<StreamDelta[], AnsweredHop>;

/** The answer to one request, and the deltas of its end, which readers get only if no other request goes on with it. */
export interface AnsweredHop<Read extends Answer = Performed> {
  answer: Read;
  ending: readonly StreamDelta[];
}

/** Passes the deltas of a reply on, but holds its end where the answer may go on. */
export async function* holdEnding(
  deltas: AsyncGenerator<StreamDelta[], Answer>,
): AsyncGenerator<StreamDelta[], AnsweredHop<Answer>> {
  const ending: StreamDelta[] = [];
  const answer = yield* changeDeltas(deltas, (arrived) => {
    const at = ending.length > 0 ? 0 : arrived.findIndex(isUnfinishedStop);
    if (at < 0) return [arrived];
    append(ending, arrived.slice(at));
    return at === 0 ? [] : [arrived.slice(0, at)];
  });
  return { answer, ending };
}

function isUnfinishedStop(delta: StreamDelta): boolean {
  return delta.type === 'stop' && isUnfinished(delta.stopReason);
}

/**
 * Asks for an answer, and for its rest if the service ends it in the middle: the next request goes on with it, and readers see one
 * answer. If such a request fails, the answer so far is returned with an error that says so.
 */
export async function* askInHops(
  request: PreparedRequest,
  askOne: AskHop,
  { maxTurns = defaultMaxTurns, onEvent }: AskOptions,
): AsyncGenerator<StreamDelta[], Performed> {
  let { answer, ending } = yield* askOne(request, onEvent);
  const answers = [answer];
  let shown = 0;
  let token: string | undefined;
  for (;;) {
    const { unfinished } = answer;
    const isStuck = token !== undefined && unfinished?.token === token;
    const next = answers.length < maxTurns && !isStuck ? await findNext(request, answers) : undefined;
    if (next === undefined) break;
    token = unfinished?.token;
    shown += unfinished?.shown ?? 0;
    const before = answers.reduce((sum, { attempts }) => sum + attempts, 0);
    const from = shown;
    try {
      const deltas = askOne(goOnWith(answer.request, next), countOn(onEvent, before));
      ({ answer, ending } = yield* changeDeltas(deltas, (arrived) => toLaterDeltas(arrived, from)));
    } catch (error) {
      if (!(error instanceof GatewayError) || isOfThisMachine(error)) throw error;
      return joinHops(answers, error);
    }
    answers.push(answer);
  }
  if (ending.length > 0) yield [...ending];
  return joinHops(answers, undefined);
}

/** The request to the model that was asked before; no other model takes its place. */
function goOnWith(asked: PreparedRequest, next: PreparedRequest): PreparedRequest {
  return { ...asked, post: replaceModel(next.post, asked.model), defaultFor: undefined, fallback: undefined };
}

/** The request that goes on with an answer, if it is not over. */
async function findNext(request: PreparedRequest, answers: readonly Performed[]): Promise<PreparedRequest | undefined> {
  const last = answers.at(-1) as Performed;
  const { unfinished, error, result } = last;
  // A body that broke off lost nothing if the whole answer was saved.
  const isWhole = error === undefined || (error.class === 'incomplete' && result.stopReason === undefined);
  if (unfinished === undefined || !isWhole) return undefined;
  const { inFormat } = request.post;
  const { format = request.post.format } = result;
  const post = format !== request.post.format && inFormat ? await inFormat(format) : request.post;
  const content = joinContents(answers.map(({ result: { content } }) => content));
  const body = (await loadFormat(post.format)).goOn?.(post.body, { ...unfinished, content });
  return body && { ...request, post: { ...post, body, inFormat: undefined } };
}

/** The deltas of one request as deltas of the whole answer: their blocks are counted on from those that were shown before. */
function toLaterDeltas(arrived: readonly StreamDelta[], shown: number): StreamDelta[][] {
  const passed = arrived
    .filter(({ type }) => type !== 'start')
    .map((delta) => ('block' in delta ? { ...delta, block: shown + delta.block } : delta));
  return passed.length > 0 ? [passed] : [];
}

/** A full disk, a closed stdout and a bug are no reply's: they end more than the answer. */
function isOfThisMachine(error: GatewayError): boolean {
  return ['not-written', 'closed', 'internal'].includes(error.class);
}

/** Joins the answers of several requests into one, with the failure of the next request. */
function joinHops(answers: readonly Performed[], failure: GatewayError | undefined): Performed {
  const [first, ...others] = answers as [Performed, ...Performed[]];
  if (others.length === 0 && failure === undefined) return first;
  const last = others.at(-1) ?? first;
  const lost =
    failure === undefined ? [] : [{ result: emptyResult(''), error: failure, isFree: failure.billed === 'no' }];
  const hops: Hop[] = [...answers.map((hop) => ({ ...hop, isFree: hop.isRecorded })), ...lost];
  const result = joinReplies(
    answers.map((hop) => hop.result),
    'parts',
  );
  const error = failure ?? last.error;
  if (error !== undefined) result.complete = false;
  return {
    result,
    error: error && stoppedIn(error),
    request: last.request,
    attempts: answers.reduce((sum, { attempts }) => sum + attempts, failure?.details.attempts ?? 0),
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
