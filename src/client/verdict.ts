import { GatewayError } from '../errors.ts';
import type { JsonValue } from '../json.ts';
import { isObject } from '../json.ts';
import type { Result } from './result.ts';

/** What was asked for, as far as the verdict needs it. */
export interface Wanted {
  /** Pictures that were asked for; 0 where none need come. */
  images: number;
  /** `--require-complete` */
  requireComplete: boolean;
}

const limits = new Set(['MAX_TOKENS', 'max_tokens', 'model_context_window_exceeded', 'length']);
const refusals = new Set(['refusal', 'content_filter']);

/**
 * Whether a whole reply holds what was asked for (design.md section 4, codes 10 and 11). Undefined: it does.
 * A tool call alone is an answer; an image request that got words only is not.
 */
export function judge(result: Result, wanted: Wanted): GatewayError | undefined {
  if (wanted.images > 0 && result.images.length === 0) return missing('no image came', result, wanted);
  if (refusals.has(result.stopReason ?? '') && result.toolCalls.length === 0)
    return missing('the model refused', result, wanted);
  if (isEmpty(result)) return missing('the answer is empty', result, wanted);
  if (result.images.length < wanted.images) return fewer(result, wanted.images);
  if (wanted.requireComplete && !result.complete) {
    return new GatewayError('incomplete', `cut by the token limit (${result.stopReason ?? 'no reason given'})`, {
      hint: 'allow more: --max-tokens <n>',
      sent: 'yes',
      retryable: false,
    });
  }
  return undefined;
}

function fewer({ images }: Result, wanted: number): GatewayError {
  return new GatewayError('incomplete', `${images.length} of ${wanted} images came`, {
    hint: `those that came are kept; ask for the rest: -n ${wanted - images.length}`,
    sent: 'yes',
    retryable: false,
  });
}

/** Whether the token limit ended the answer. */
export function isCutByLimit(result: Result): boolean {
  const reasons = [result.stopReason, ...result.candidates.map((candidate) => candidate.finishReason)];
  return reasons.some((reason) => reason !== undefined && limits.has(reason));
}

function isEmpty(result: Result): boolean {
  const texts = result.candidates.some((candidate) => candidate.text !== '');
  return !texts && result.text === '' && result.images.length === 0 && result.toolCalls.length === 0;
}

function missing(what: string, result: Result, wanted: Wanted): GatewayError {
  const facts = feedback(result);
  const message = facts.length > 0 ? `${what}: ${facts.join(', ')}` : what;
  return new GatewayError('no-result', message, { hint: hintFor(result, wanted), sent: 'yes', retryable: false });
}

function hintFor(result: Result, wanted: Wanted): string {
  if (isCutByLimit(result)) return 'the token limit ended it before anything came: --max-tokens <n>';
  if (wanted.images > 0 && result.text !== '') return hintAtWords(result.text);
  // The messages format has no such settings.
  if (result.content !== undefined) return 'change the prompt, or try another --model';
  return 'change the prompt, or look at the safety settings: --safety CATEGORY=THRESHOLD';
}

/** Words came where a picture was asked for. */
function hintAtWords(words: string): string {
  const link = linkedPicture(words);
  return link === undefined
    ? 'the model answered in words; say in the prompt that a picture is wanted, or try another --model'
    : `the answer links to a picture, which is not fetched: curl -O '${link}'`;
}

/** The address of a hosted picture that stands in the text instead of one (wire.md 6 #3). */
function linkedPicture(text: string): string | undefined {
  return /!\[[^\]]{0,200}\]\((https?:\/\/[^\s)']{1,2000})\)/.exec(text)?.[1];
}

/** Finish reason, block reason and safety ratings: the fields to look at when nothing came (spec.md 2.2, 7). */
function feedback(result: Result): string[] {
  const facts: string[] = [];
  const { promptFeedback } = result;
  const block = promptFeedback?.['blockReason'] ?? promptFeedback?.['block_reason'];
  if (block) facts.push(`blockReason ${text(block)}`);
  const blockMessage = promptFeedback?.['blockReasonMessage'] ?? promptFeedback?.['block_reason_message'];
  if (blockMessage) facts.push(text(blockMessage));
  for (const { finishReason, finishMessage, safetyRatings } of result.candidates) {
    if (finishReason) facts.push(`finishReason ${finishReason}`);
    if (finishMessage) facts.push(finishMessage);
    facts.push(...ratings(safetyRatings));
  }
  facts.push(...ratings(promptFeedback?.['safetyRatings'] ?? promptFeedback?.['safety_ratings']));
  if (result.candidates.length === 0 && result.stopReason && !block) facts.push(`stopped with ${result.stopReason}`);
  // Their type says the stop reason again.
  const details = isObject(result.stopDetails) ? Object.values(result.stopDetails) : [];
  facts.push(...details.filter(isText).filter((detail) => detail !== result.stopReason));
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

function text(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
