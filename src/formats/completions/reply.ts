import {
  field,
  isObject,
  type JsonObject,
  type JsonValue,
  listField,
  numberField,
  objectField,
  textField,
  valueCost,
} from '../../json.ts';
import { findErrorInReply } from '../format.ts';
import type { ReplyEvent, Usage } from '../events.ts';
import { failureOfError } from '../failure.ts';
import { createCallJoiner } from './calls.ts';
import { linkedImage } from './images.ts';
import { addDetail, detailsText, signatureOf } from './thinking.ts';

/** Reads the chunks of one reply, or all of it: that differs in nothing but `message` in place of `delta`. */
export interface ReplyReader {
  take(json: JsonObject): ReplyEvent[];
  /** What is only known when nothing follows. */
  end(): ReplyEvent[];
  /** Whether each candidate that began said why it ended, the first among them. */
  readonly isStopped: boolean;
  readonly hasStarted: boolean;
  /** Characters that are kept until the end, about. */
  readonly held: number;
}

interface Choice {
  readonly candidate: number;
  role?: string;
  reason?: string;
  /** What the model said instead of an answer. */
  refusal: string;
  /** OpenRouter's `reasoning_details`, their pieces joined. */
  readonly details: JsonObject[];
  /** Thinking came in the field of that name. */
  isReasoningContent: boolean;
  /** The block of thinking began. */
  isThinking: boolean;
  /** Something of the answer came. */
  hasContent: boolean;
  readonly calls: ReturnType<typeof createCallJoiner>;
  held: number;
}

/** The number of the block of thinking; those of calls follow it. */
const thinkingBlock = 0;

export function createReplyReader(): ReplyReader {
  const choices = new Map<number, Choice>();
  const start: Start = {};
  const open = new Set<number>();
  let held = 0;

  function readOne(raw: JsonObject, candidate: number): ReplyEvent[] {
    const choice = choices.get(candidate) ?? newChoice(candidate);
    const before = choices.has(candidate) ? choice.held : 0;
    choices.set(candidate, choice);
    const events = readChoice(choice, raw);
    if (choice.reason === undefined) open.add(candidate);
    else open.delete(candidate);
    held += choice.held - before;
    return events;
  }

  return {
    take(json) {
      const listed = (listField(json, 'choices') ?? []).filter(isObject);
      const events = startEvents(start, json);
      for (const [at, raw] of listed.entries()) events.push(...readOne(raw, numberField(raw, 'index') ?? at));
      events.push(...usageEvents(json, listed));
      // What is broken comes last: nothing after it is read.
      return events.some(isBroken)
        ? [...events.filter((event) => !isBroken(event)), ...events.filter(isBroken)]
        : events;
    },
    end: () => [...choices.values()].flatMap(endEvents),
    get isStopped() {
      return choices.has(0) && open.size === 0;
    },
    get hasStarted() {
      return choices.size > 0;
    },
    get held() {
      return held;
    },
  };
}

function newChoice(candidate: number): Choice {
  const calls = createCallJoiner(thinkingBlock + 1);
  const flags = { isReasoningContent: false, isThinking: false, hasContent: false };
  return { candidate, refusal: '', details: [], ...flags, calls, held: valueCost };
}

function isBroken({ type }: ReplyEvent): boolean {
  return type === 'broken';
}

interface Start {
  id?: string | undefined;
  model?: string | undefined;
  tier?: string | undefined;
}

/** What chunks repeat. A first one may name nothing, and some gateways give each an id of its own. */
function startEvents(start: Start, json: JsonObject): ReplyEvent[] {
  const { id = textField(json, 'id') || undefined, model = textField(json, 'model') || undefined } = start;
  const tier = textField(json, 'serviceTier') || start.tier;
  const isNew = id !== start.id || model !== start.model;
  const events: ReplyEvent[] = isNew ? [{ type: 'start', id, model }] : [];
  if (tier !== undefined && tier !== start.tier) events.push({ type: 'tier', tier });
  if (events.length > 0) Object.assign(start, { id, model, tier });
  return events;
}

function readChoice(choice: Choice, raw: JsonObject): ReplyEvent[] {
  const delta = objectField(raw, 'delta');
  const message = objectField(raw, 'message');
  const events = delta ? readMessage(choice, delta, false) : [];
  choice.hasContent ||= events.some(({ type }) => type !== 'candidate');
  // Some streams end with a chunk that says the whole message once more.
  if (message && !choice.hasContent) events.push(...readMessage(choice, message, true));
  if (!delta && !message) events.push(...textEvents(choice, raw['text']));
  const error = isObject(raw['error']) ? findErrorInReply({ error: raw['error'] }) : undefined;
  events.push(...stopEvents(choice, raw));
  if (error) events.push({ type: 'broken', error: failureOfError(error, { billed: 'unknown' }) });
  return events;
}

/** A message, or what was added to it. */
function readMessage(choice: Choice, message: JsonObject, isWhole: boolean): ReplyEvent[] {
  const { candidate, calls } = choice;
  const { content, refusal } = message;
  // Most chunks of a stream add a piece of text, and nothing else.
  if (typeof content === 'string' && Object.keys(message).length === 1) return textEvents(choice, content);
  const spoken = objectField(message, 'audio')?.['transcript'];
  const events = [...roleEvents(choice, message), ...thinkingEvents(choice, message, isWhole)];
  if (Array.isArray(content)) events.push(...content.flatMap((part) => partEvents(choice, part)));
  else events.push(...textEvents(choice, content ?? spoken));
  for (const image of listField(message, 'images') ?? []) events.push(...imageEvents(choice, image));
  const pieces = calls.add(message);
  // Only the first candidate is shown while it comes, and goes back in a later turn.
  if (candidate === 0) events.push(...citationEvents(message), ...pieces);
  else
    choice.held += pieces.reduce(
      (sum, piece) => sum + (piece.type === 'tool-input' ? piece.json.length : valueCost),
      0,
    );
  refuse(choice, refusal);
  choice.hasContent ||= pieces.length > 0 || choice.refusal !== '';
  return events;
}

function roleEvents(choice: Choice, message: JsonObject): ReplyEvent[] {
  const role = textField(message, 'role');
  if (!role || role === choice.role) return [];
  choice.role = role;
  return [{ type: 'candidate', role, candidate: choice.candidate }];
}

/** Services that send the thinking under two names send the same text twice. */
function thinkingEvents(choice: Choice, message: JsonObject, isWhole: boolean): ReplyEvent[] {
  const details = (listField(message, 'reasoningDetails') ?? []).filter(isObject);
  for (const detail of details) choice.held += addDetail(choice.details, detail, isWhole);
  const content = textField(message, 'reasoningContent') ?? '';
  choice.isReasoningContent ||= content !== '';
  return thoughtEvents(choice, content || textField(message, 'reasoning') || detailsText(details));
}

function thoughtEvents(choice: Choice, text: string): ReplyEvent[] {
  if (text === '') return [];
  const { candidate } = choice;
  choice.isThinking = true;
  return [{ type: 'thinking', text, index: candidate === 0 ? thinkingBlock : undefined, candidate }];
}

/** A part of a message's content. Mistral's thinking is a list of texts. */
function partEvents(choice: Choice, part: JsonValue): ReplyEvent[] {
  if (!isObject(part)) return textEvents(choice, part);
  const { type, thinking, text, refusal } = part;
  if (type === 'thinking') return thoughtEvents(choice, textsIn(thinking));
  refuse(choice, refusal);
  return type === 'image_url' ? imageEvents(choice, part) : textEvents(choice, text);
}

function textsIn(value: JsonValue | undefined): string {
  if (!Array.isArray(value)) return typeof value === 'string' ? value : '';
  return value.map((part) => (isObject(part) ? (textField(part, 'text') ?? '') : '')).join('');
}

function textEvents({ candidate }: Choice, text: JsonValue | undefined): ReplyEvent[] {
  return typeof text === 'string' && text !== '' ? [{ type: 'text', text, candidate }] : [];
}

function imageEvents({ candidate }: Choice, image: JsonValue): ReplyEvent[] {
  const held = isObject(image) ? (field(image, 'imageUrl') ?? image) : image;
  return linkedImage(isObject(held) ? held['url'] : held, candidate);
}

/** Sources of the web that the answer has. */
function citationEvents(message: JsonObject): ReplyEvent[] {
  const annotations = (listField(message, 'annotations') ?? []).filter(isObject);
  return annotations.map((citation) => ({ type: 'citation', citation }));
}

function refuse(choice: Choice, refusal: JsonValue | undefined): void {
  if (typeof refusal !== 'string') return;
  choice.refusal += refusal;
  choice.held += refusal.length;
}

/**
 * Why a candidate ended. The words of a refusal are its message, not its text: they do not answer what was asked, so they
 * are in the error that a refusal is, and not in the output that a program reads.
 */
function stopEvents(choice: Choice, raw: JsonObject): ReplyEvent[] {
  const { candidate, refusal, reason: before } = choice;
  const said = textField(raw, 'finishReason') || undefined;
  if (said === undefined) return [];
  choice.reason = refusal === '' ? said : 'refusal';
  const blocks = before === undefined && candidate === 0 ? [...thinkingEnd(choice), ...choice.calls.stop()] : [];
  return [...blocks, { type: 'candidate', reason: choice.reason, message: refusal || undefined, candidate }];
}

function endEvents(choice: Choice): ReplyEvent[] {
  const { candidate, calls, reason, refusal: message } = choice;
  const isOpen = reason === undefined;
  const refusal: ReplyEvent[] = isOpen && message !== '' ? [{ type: 'candidate', message, candidate }] : [];
  if (candidate !== 0) return [...refusal, ...calls.whole(candidate)];
  return isOpen ? [...refusal, ...thinkingEnd(choice), ...calls.starts()] : [];
}

/** The end of the block of thinking, with what signs it. Encrypted thinking has no block before. */
function thinkingEnd({ details, isReasoningContent, isThinking }: Choice): ReplyEvent[] {
  const index = thinkingBlock;
  const signature = signatureOf(details, isReasoningContent);
  const end: ReplyEvent = { type: 'block-stop', index };
  if (signature === undefined) return isThinking ? [end] : [];
  const start: ReplyEvent = { type: 'block-start', raw: { type: 'thinking', thinking: '' }, index };
  return [...(isThinking ? [] : [start]), { type: 'signature', signature, index }, end];
}

/** The counts of a reply or of a chunk, in every place where services put them. */
function usageEvents(json: JsonObject, choices: readonly JsonObject[]): ReplyEvent[] {
  const holders = [...choices, json, objectField(json, 'xGroq')];
  const usages = holders.map((holder) => holder?.['usage']).filter(isObject);
  return usages.map((usage) => ({ type: 'usage', usage: readUsage(usage) }));
}

/** Counts of a completion, or as the images operations name them. `outputTokens` has those of thinking. */
function readUsage(usage: JsonObject): Usage {
  const input = objectField(usage, 'promptTokensDetails') ?? objectField(usage, 'inputTokensDetails') ?? {};
  const output = objectField(usage, 'completionTokensDetails') ?? objectField(usage, 'outputTokensDetails') ?? {};
  const inputTokens = numberField(usage, 'promptTokens') ?? numberField(usage, 'inputTokens');
  const outputTokens = numberField(usage, 'completionTokens') ?? numberField(usage, 'outputTokens');
  const thinkingTokens = numberField(output, 'reasoningTokens');
  const totalTokens = numberField(usage, 'totalTokens');
  const cachedInputTokens = numberField(input, 'cachedTokens') ?? numberField(usage, 'promptCacheHitTokens');
  const imageOutputTokens = numberField(output, 'imageTokens');
  const sum = (outputTokens ?? 0) + (thinkingTokens ?? 0);
  return {
    inputTokens,
    // xAI counts thinking beside the answer, as its total shows.
    outputTokens: totalTokens === (inputTokens ?? 0) + sum ? sum : outputTokens,
    thinkingTokens,
    cachedInputTokens: cachedInputTokens ?? numberField(usage, 'cachedTokens'),
    ...(imageOutputTokens !== undefined && { imageOutputTokens }),
    totalTokens,
  };
}
