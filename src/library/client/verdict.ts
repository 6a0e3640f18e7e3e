import { quoteForeign, type Advice, GatewayError } from '../errors.ts';
import { classifyReason, type ReasonMeaning } from '../vendors/finish-reasons.ts';
import { isMovingAlias, otherModel } from '../vendors/services.ts';
import { lackedFields } from '../formats/request-fields.ts';
import { isObject, type JsonValue } from '../json.ts';
import { type Result } from './result.ts';
import { append } from '../long-lists.ts';

/** The parts of a request that the verdict needs. */
export interface Wanted {
  /** Number of requested images; 0 if none need come. */
  images: number;
  /** Whether an answer that may not be whole is a failure. */
  requireComplete: boolean;
  /** Whether an answer of another model than the requested one is a failure. */
  requireModel?: boolean | undefined;
  /** Whether links to images count as images. */
  takesLinks?: boolean | undefined;
}

/** The verdict on an answer: at most one of the two. */
interface Verdict {
  /** The answer is a failure. */
  error?: GatewayError | undefined;
  /** The answer is not a failure, but may not be whole. */
  warning?: GatewayError | undefined;
}

/** The verdict on an answer. An error that came with it counts first. */
export function judgeAnswer(
  { result, error }: { result: Result; error: GatewayError | undefined },
  asked: Wanted,
): Verdict {
  const hasLinks = asked.takesLinks && result.images.length === 0 && listLinkedImages(result.text).length > 0;
  const wanted = hasLinks ? { ...asked, images: 0 } : asked;
  const reasons = groupReasons(result);
  const failure = error ?? judge(result, wanted, reasons);
  if (failure !== undefined) return { error: failure };
  return { warning: findWarning(reasons) ?? findLeftLink(result, wanted) };
}

/**
 * Whether a whole reply has everything that was requested (codes 10 and 11). Undefined: it has. A tool call alone is an answer;
 * an image request that got only words is not. If the service stopped every candidate, there is no result; if it stopped some of
 * them or images are missing, the result is incomplete.
 */
function judge(result: Result, wanted: Wanted, reasons: Reasons): GatewayError | undefined {
  const { stopped } = reasons;
  const [running] = reasons.running;
  if (running !== undefined) return stillRunning(running, result);
  if (wanted.images > 0 && result.images.length === 0) return lacksError('no image came', result, wanted, reasons);
  if (stopped.length > 0 && stopped.length >= result.candidates.length)
    return lacksError(stopWords(result), result, wanted, reasons);
  const [unfinished] = reasons.unfinished;
  if (unfinished !== undefined) return notFinished(unfinished, result);
  if (isEmpty(result)) return lacksError(`the answer is empty${describeOthers(result)}`, result, wanted, reasons);
  const cut = findCallAtLimit(result, reasons);
  if (cut !== undefined) return cut;
  const [images, wantedImages] = [result.images.length, wanted.images];
  if (images < wantedImages)
    return incomplete(`${images} of ${wantedImages} images came`, adviceForRest(wantedImages - images));
  if (stopped.length > 0) return partlyStopped(stopped, result);
  const [warning] = wanted.requireModel ? replacementWarnings(result) : [];
  if (warning !== undefined) return incomplete(warning, { reason: 'other-model' });
  return wanted.requireComplete ? findWarning(reasons) : undefined;
}

/** Whether the finish reasons of a reply say that it is whole. A reply without a reason counts as whole. */
export function endedWell(result: Result): boolean {
  return listReasons(result).every((reason) => classifyReason(reason) === 'complete');
}

/** A call at the end of an answer that a limit cut: nobody can tell whether its arguments are complete. */
function findCallAtLimit(result: Result, { cut: [limit] }: Reasons): GatewayError | undefined {
  const last = result.content?.at(-1);
  if (limit === undefined || last?.['type'] !== 'tool_use') return undefined;
  return incomplete(`the call of ${quoted(String(last['name'] ?? ''))} was cut by the token limit (${limit})`, {
    reason: 'max-tokens',
  });
}

function findWarning({ cut: [limit], unknown: [unknown] }: Reasons): GatewayError | undefined {
  if (limit?.toLowerCase() === 'model_context_window_exceeded')
    return incomplete(`cut: the context window of the model is full (${limit})`, { reason: 'context-window' });
  // OpenAI ended the answer for a reason that is not a limit of tokens.
  if (limit && /^(?:max_messages|steered)$/i.test(limit))
    return incomplete(`cut by the service (${limit})`, {}).withDetails({ hint: 'ask it to go on' });
  if (limit !== undefined) return incomplete(`cut by the token limit (${limit})`, { reason: 'max-tokens' });
  if (unknown === undefined) return undefined;
  return incomplete(`the answer may not be whole: it ended with ${quoted(unknown)}`, { reason: 'unknown-ending' });
}

/** An image that is only linked, beside other images: the text with its link is not printed. */
function findLeftLink(result: Result, { images }: Wanted): GatewayError | undefined {
  const [link] = images > 0 ? listLinkedImages(result.text) : [];
  if (link === undefined) return undefined;
  return incomplete('one more picture was not saved', { reason: 'linked-image', value: link });
}

function incomplete(message: string, advice: Advice): GatewayError {
  return new GatewayError('incomplete', message, { ...advice, sent: 'yes', retryable: false });
}

/** The reasons of the candidates, by their meaning. */
type Reasons = Readonly<Record<ReasonMeaning, readonly string[]>>;

function groupReasons(result: Result): Reasons {
  const groups: Record<ReasonMeaning, string[]> = {
    complete: [],
    unfinished: [],
    running: [],
    cut: [],
    stopped: [],
    unknown: [],
  };
  for (const reason of listReasons(result)) groups[classifyReason(reason)].push(reason);
  return groups;
}

/** The reason of each candidate that has one. The first can have that of the reply, such as a block. */
function listReasons({ candidates, stopReason }: Result): string[] {
  const [first, ...rest] = candidates.map(({ finishReason }) => finishReason);
  return [first ?? stopReason, ...rest].filter(isText);
}

function stopWords(result: Result): string {
  if (result.stopReason === 'refusal' || result.stopReason === 'content_filter') return 'the model refused';
  return isEmpty(result) ? 'the answer is empty' : 'the gateway stopped the answer';
}

function partlyStopped(reasons: readonly string[], { candidates }: Result): GatewayError {
  const why = [...new Set(reasons)].map(quoted).join(', ');
  const message = `${reasons.length} of ${candidates.length} candidates were stopped: ${why}`;
  return incomplete(message, { reason: 'partly-stopped' });
}

/** The service would have gone on with the answer: no request asked it to. */
function notFinished(reason: string, { requests = 1 }: Result): GatewayError {
  const after = `after ${requests === 1 ? '1 request' : `${requests} requests`}`;
  return incomplete(`the answer is not finished ${after}: it ended with ${quoted(reason)}`, {
    reason: 'unfinished',
    value: requests,
  });
}

/** The service makes the answer without a connection, and bills it. */
function stillRunning(status: string, { responseId }: Result): GatewayError {
  const name = responseId === undefined ? 'without an id' : `as ${quoteForeign(responseId, 200)}`;
  return incomplete(`the answer is not there yet (${quoted(status)}): the service goes on with it ${name}`, {
    reason: 'running',
    value: responseId,
  });
}

/** The advice if only some of the images came. */
export function adviceForRest(missing: number): Advice {
  return { reason: 'images', value: missing };
}

function isEmpty(result: Result): boolean {
  const texts = result.candidates.some((candidate) => candidate.text !== '');
  const { text, images, files = [], toolCalls } = result;
  return !texts && text === '' && [images, files, toolCalls].every((list) => list.length === 0);
}

/** Names the parts of an answer that nobody is shown: calls and results of the service's own tools, of unknown kinds. */
function describeOthers({ content = [] }: Result): string {
  const kinds = new Set(content.map(({ type }) => String(type)).filter((type) => !/^(?:text|.*thinking)$/.test(type)));
  return kinds.size === 0 ? '' : ` but for ${quoted([...kinds].join(', '))}`;
}

function lacksError(what: string, result: Result, wanted: Wanted, reasons: Reasons): GatewayError {
  const facts = feedback(result);
  const why = facts.length > 0 ? `${what}: ${facts.join(', ')}` : what;
  const words = wanted.images > 0 ? quoteForeign(result.text) : '';
  const message = words === '' ? why : `${why}; the model answered: "${words}"`;
  return new GatewayError('no-result', message, {
    ...chooseResultAdvice(result, wanted, reasons),
    sent: 'yes',
    retryable: false,
  });
}

function chooseResultAdvice(result: Result, wanted: Wanted, { cut }: Reasons): Advice {
  if (cut.length > 0) return { reason: 'max-tokens' };
  const [link] = wanted.images > 0 ? listLinkedImages(result.text) : [];
  if (link !== undefined) return { reason: isOnlyLinks(result) ? 'linked-images-reply' : 'linked-image', value: link };
  if (wanted.images > 0 && result.text !== '') return { reason: 'words-alone' };
  const hasSafety = result.format === undefined || !lackedFields[result.format].includes('safety');
  return { reason: hasSafety && !notInSettings.test(result.stopReason ?? '') ? 'safety' : 'prompt' };
}

/** Reasons for which Google stops an answer whatever the safety settings are. */
const notInSettings = /prohibited|recitation|spii|blocklist/i;

/** The URLs of hosted images, in a text without an image (deviation 3). */
export function listLinkedImages(text: string): string[] {
  const links = text.matchAll(/!\[[^\]]{0,200}\]\((https?:\/\/[^\s)']{1,2000})\)/g);
  return Array.from(links, ([, url = '']) => url);
}

/** Whether the reply is of OpenAI's images operation, as far as can be told: it has links and no word. */
function isOnlyLinks({ format, text }: Result): boolean {
  return format === 'completions' && /^(?:\s*!\[image\]\([^\s)]+\))+\s*$/.test(text);
}

/** Finish reason, block reason and safety ratings: the fields to look at when nothing came. */
function feedback(result: Result): string[] {
  const facts: string[] = [];
  const { promptFeedback } = result;
  const block = promptFeedback?.['blockReason'] ?? promptFeedback?.['block_reason'];
  if (block) facts.push(`blockReason ${valueToText(block)}`);
  const blockMessage = promptFeedback?.['blockReasonMessage'] ?? promptFeedback?.['block_reason_message'];
  if (blockMessage) facts.push(valueToText(blockMessage));
  for (const { finishReason, finishMessage, safetyRatings } of result.candidates) {
    if (finishReason) facts.push(`finishReason ${finishReason}`);
    if (finishMessage) facts.push(finishMessage);
    append(facts, ratings(safetyRatings));
  }
  append(facts, ratings(promptFeedback?.['safetyRatings'] ?? promptFeedback?.['safety_ratings']));
  if (result.candidates.length === 0 && result.stopReason && !block) facts.push(`stopped with ${result.stopReason}`);
  // The type of the details repeats the stop reason.
  const details = isObject(result.stopDetails) ? Object.values(result.stopDetails) : [];
  append(
    facts,
    details.filter(isText).filter((detail) => detail !== result.stopReason),
  );
  return [...new Set(facts)].map((fact) => (fact.length > 200 ? `${fact.slice(0, 200)}…` : fact));
}

function ratings(value: JsonValue | undefined): string[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).flatMap((rating) => {
    const { category, probability, blocked } = rating;
    if (!isText(category) || (probability === 'NEGLIGIBLE' && blocked !== true)) return [];
    return [`${category} ${isText(probability) ? probability : ''}${blocked === true ? ' (blocked)' : ''}`.trim()];
  });
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** A reason is a word; a gateway may send more. */
function quoted(reason: string): string {
  return quoteForeign(reason, 60);
}

function valueToText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Warnings about an answer of another model, also if the client chose it. */
function replacementWarnings(result: Result): string[] {
  const { insteadOf, model } = result;
  if (insteadOf === undefined) return otherModelWarnings(result);
  return [`another model answered: ${quoteForeign(model, 200)}, not ${quoteForeign(insteadOf.model, 200)}`];
}

/** A warning if another model answered than the requested one. */
export function otherModelWarnings({ model, modelVersion }: Pick<Result, 'model' | 'modelVersion'>): string[] {
  const other = otherModel(model, modelVersion);
  if (other === undefined || model === '' || isMovingAlias(model)) return [];
  return [`another model answered: ${quoteForeign(other, 200)}, not ${quoteForeign(model, 200)}`];
}
