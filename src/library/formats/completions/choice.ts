import {
  field,
  isObject,
  type JsonObject,
  type JsonValue,
  listField,
  objectField,
  textField,
  valueCost,
} from '../../json.ts';
import type { Body } from '../../body.ts';
import { findErrorInReply } from '../format.ts';
import type { ReplyEvent } from '../events.ts';
import { toFailure } from '../failure.ts';
import { createToolCallJoiner } from './calls.ts';
import { soundEvents } from '../sound.ts';
import { sourceEvents } from '../sources.ts';
import { linkedImage } from './images.ts';
import { createThinkTags, type TaggedPiece, type ThinkTags } from './think-tags.ts';
import { addDetail, detailsText, encodeSignature, type ThinkingPlace } from './turns.ts';
import { append } from '../../long-lists.ts';

/** One candidate of a reply, as far as it came. */
export interface ArrivingChoice {
  readonly candidate: number;
  role?: string;
  reason?: string;
  /** The words with which the model refused. */
  refusal: string;
  /** OpenRouter's `reasoning_details`, their pieces joined. */
  readonly details: JsonObject[];
  /** The field or tag in which thinking came: its block has begun. */
  thinkingPlace?: ThinkingPlace;
  /** A part of the answer came. */
  hasContent: boolean;
  readonly calls: ReturnType<typeof createToolCallJoiner>;
  /** The reader of tags; undefined if thinking in tags is left in the text. */
  readonly tags: ThinkTags | undefined;
  readonly held: Held;
}

/** About the number of characters of a reply that are kept until its end. */
interface Held {
  characters: number;
}

/** Reasons of an answer that came to its own end. */
const answered = new Set(['stop', 'eos', 'end_turn', 'stop_sequence', 'STOP']);

/** The index of the thinking block; calls have the next ones. */
const thinkingBlock = 0;

export function newChoice(candidate: number, held: Held, keepsTags: boolean): ArrivingChoice {
  held.characters += valueCost;
  const calls = createToolCallJoiner(thinkingBlock + 1);
  return {
    candidate,
    refusal: '',
    details: [],
    hasContent: false,
    calls,
    tags: keepsTags ? undefined : createThinkTags(),
    held,
  };
}

/** The events of a choice, of a chunk or of a whole reply, which has `message` in place of `delta`. */
export function choiceEvents(choice: ArrivingChoice, raw: JsonObject, asked: Body | undefined): ReplyEvent[] {
  const delta = objectField(raw, 'delta');
  const message = objectField(raw, 'message');
  const events = delta ? choiceMessageEvents(choice, delta, false) : [];
  choice.hasContent ||= events.some(({ type }) => type !== 'candidate');
  // A repeated message is skipped: some streams end with a chunk that has the whole message again.
  if (message && !choice.hasContent) append(events, choiceMessageEvents(choice, message, true));
  if (!delta && !message) append(events, textEvents(choice, raw['text']));
  const error = isObject(raw['error']) ? findErrorInReply({ error: raw['error'] }, asked) : undefined;
  append(events, stopEvents(choice, raw));
  if (error) events.push({ type: 'broken', error: toFailure(error, { billed: 'unknown' }) });
  return events;
}

/** The events of a message, or of a piece of one. */
function choiceMessageEvents(choice: ArrivingChoice, message: JsonObject, isWhole: boolean): ReplyEvent[] {
  const { candidate, calls, held } = choice;
  const { content, refusal } = message;
  // Most chunks of a stream add a piece of text, and nothing else.
  if (typeof content === 'string' && Object.keys(message).length === 1) return textEvents(choice, content);
  const sound = objectField(message, 'audio');
  const events = [...roleEvents(choice, message), ...thinkingEvents(choice, message, isWhole)];
  if (Array.isArray(content))
    append(
      events,
      content.flatMap((part) => messagePartEvents(choice, part)),
    );
  else append(events, textEvents(choice, content || sound?.['transcript']));
  for (const image of listField(message, 'images') ?? []) append(events, imageLinkEvents(choice, image));
  append(events, soundEvents(sound?.['data'], candidate));
  const pieces = calls.add(message);
  // A text ends before a call.
  if (pieces.length > 0) append(events, taggedEvents(choice, choice.tags?.end(false) ?? []));
  // Only the first candidate is shown while it comes, and goes back in a later turn.
  if (candidate === 0) append(events, [...citationEvents(message), ...pieces]);
  else for (const piece of pieces) held.characters += piece.type === 'tool-input' ? piece.json.length : valueCost;
  addRefusal(choice, refusal);
  choice.hasContent ||= pieces.length > 0 || choice.refusal !== '';
  return events;
}

function roleEvents(choice: ArrivingChoice, message: JsonObject): ReplyEvent[] {
  const role = textField(message, 'role');
  if (!role || role === choice.role) return [];
  choice.role = role;
  return [{ type: 'candidate', role, candidate: choice.candidate }];
}

/** The thinking is taken once: services that send it under two names send the same text twice. */
function thinkingEvents(choice: ArrivingChoice, message: JsonObject, isWhole: boolean): ReplyEvent[] {
  const details = (listField(message, 'reasoningDetails') ?? []).filter(isObject);
  for (const detail of details) choice.held.characters += addDetail(choice.details, detail, isWhole);
  const content = textField(message, 'reasoningContent') ?? '';
  if (content !== '') return thoughtEvents(choice, content, 'reasoning_content');
  return thoughtEvents(choice, textField(message, 'reasoning') || detailsText(details), 'reasoning');
}

/** If some thinking came in `reasoning_content`, all thinking goes back in that field: servers refuse a turn without it. */
function thoughtEvents(choice: ArrivingChoice, text: string, place: ThinkingPlace): ReplyEvent[] {
  if (text === '') return [];
  const { candidate } = choice;
  if (choice.thinkingPlace !== 'reasoning_content') choice.thinkingPlace = place;
  return [{ type: 'thinking', text, index: candidate === 0 ? thinkingBlock : undefined, candidate }];
}

/** A part of a message's content. Mistral's thinking is a list of texts. */
function messagePartEvents(choice: ArrivingChoice, part: JsonValue): ReplyEvent[] {
  if (!isObject(part)) return textEvents(choice, part);
  const { type, thinking, text, refusal } = part;
  if (type === 'thinking') return thoughtEvents(choice, textsIn(thinking), 'thinking');
  addRefusal(choice, refusal);
  return type === 'image_url' ? imageLinkEvents(choice, part) : textEvents(choice, text);
}

function textsIn(value: JsonValue | undefined): string {
  if (!Array.isArray(value)) return typeof value === 'string' ? value : '';
  return value.map((part) => (isObject(part) ? (textField(part, 'text') ?? '') : '')).join('');
}

/** If a service sends thinking in a field, it has taken it out of the text: tags there are words of the answer. */
function textEvents(choice: ArrivingChoice, text: JsonValue | undefined): ReplyEvent[] {
  if (typeof text !== 'string' || text === '') return [];
  const { candidate, tags, held, thinkingPlace } = choice;
  choice.hasContent = true;
  if (tags === undefined || (thinkingPlace ?? '<think>') !== '<think>') return [{ type: 'text', text, candidate }];
  const before = tags.kept;
  const pieces = tags.read(text);
  held.characters += tags.kept - before;
  return taggedEvents(choice, pieces);
}

function taggedEvents(choice: ArrivingChoice, pieces: readonly TaggedPiece[]): ReplyEvent[] {
  const { candidate } = choice;
  return pieces.flatMap(({ type, text }): ReplyEvent[] => {
    if (type === 'text') return [{ type, text, candidate }];
    return thoughtEvents(choice, text, '<think>');
  });
}

/** The text that was held back because it may begin a tag. If a limit or the connection cut the answer, an open tag begins thinking. */
function tagEndEvents(choice: ArrivingChoice, isAnswered: boolean): ReplyEvent[] {
  return taggedEvents(choice, choice.tags?.end(isAnswered) ?? []);
}

function imageLinkEvents({ candidate }: ArrivingChoice, image: JsonValue): ReplyEvent[] {
  if (!isObject(image)) return linkedImage(image, candidate);
  const link = field(image, 'imageUrl');
  // An empty value counts as absent, like null.
  return linkedImage((isObject(link) ? link['url'] : link) || image['url'], candidate);
}

/** Web sources of the answer. */
function citationEvents(message: JsonObject): ReplyEvent[] {
  const annotations = (listField(message, 'annotations') ?? []).filter(isObject);
  return annotations.flatMap((citation) => [{ type: 'citation', citation } as const, ...sourceEvents([citation])]);
}

function addRefusal(choice: ArrivingChoice, refusal: JsonValue | undefined): void {
  if (typeof refusal !== 'string') return;
  choice.refusal += refusal;
  choice.held.characters += refusal.length;
}

/**
 * The reason that a candidate ended. The words of a refusal are its message and not its text: they do not answer the prompt, so
 * they belong in the error and not in the output.
 */
function stopEvents(choice: ArrivingChoice, raw: JsonObject): ReplyEvent[] {
  const { candidate, refusal, reason: before } = choice;
  const said = textField(raw, 'finishReason') || undefined;
  if (said === undefined) return [];
  choice.reason = refusal === '' ? said : 'refusal';
  const tagged = tagEndEvents(choice, answered.has(said));
  const blocks = before === undefined && candidate === 0 ? [...thinkingEnd(choice), ...choice.calls.stop()] : [];
  return [...tagged, ...blocks, { type: 'candidate', reason: choice.reason, message: refusal || undefined, candidate }];
}

/** Events that are only known at the end of the reply. A whole one without a reason is complete. */
export function endEvents(choice: ArrivingChoice, isWhole: boolean): ReplyEvent[] {
  const { candidate, calls, reason, refusal: message } = choice;
  const isOpen = reason === undefined;
  const refusal: ReplyEvent[] = isOpen && message !== '' ? [{ type: 'candidate', message, candidate }] : [];
  const tagged = isOpen ? tagEndEvents(choice, isWhole) : [];
  if (candidate !== 0) return [...tagged, ...refusal, ...calls.whole(candidate)];
  return isOpen ? [...tagged, ...refusal, ...thinkingEnd(choice), ...calls.starts()] : [];
}

/** The end of the thinking block, with its signature. Encrypted thinking has not begun a block before. */
function thinkingEnd({ details, thinkingPlace }: ArrivingChoice): ReplyEvent[] {
  const index = thinkingBlock;
  const signature = encodeSignature(details, thinkingPlace);
  const end: ReplyEvent = { type: 'block-stop', index };
  if (signature === undefined) return [];
  const start: ReplyEvent = { type: 'block-start', raw: { type: 'thinking', thinking: '' }, index };
  return [...(thinkingPlace ? [] : [start]), { type: 'signature', signature, index }, end];
}
