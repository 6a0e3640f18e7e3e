import { isEnding, type ModelEnd } from '../vendors/model-rules.ts';
import { GatewayError, quoteForeign } from '../errors.ts';
import type { ReplyEvent, ReplyFacts } from '../formats/events.ts';
import { isImageBlob, type ImageStore } from './image-store.ts';
import { isUnfinished } from '../vendors/finish-reasons.ts';
import type { Answer, Result, ResultImage } from './result.ts';
import { endedWell, otherModelWarnings } from './verdict.ts';
import { noteFacts } from './reply-fields.ts';
import { collectSources, type NotedSource } from './sources.ts';
import type { TextFilter } from './text-files.ts';
import { isObject, type JsonObject, type JsonValue, objectField, parseFlat, textField } from '../json.ts';
import { append } from '../long-lists.ts';

export type EventByType<Type extends ReplyEvent['type']> = Extract<ReplyEvent, { type: Type }>;

/** One candidate of a reply, as far as it came. */
export interface ArrivingCandidate {
  readonly index: number;
  readonly blocks: Block[];
  /** Blocks that have not ended, by the wire's index; blocks without an index have keys below 0. */
  readonly open: Map<number, Block>;
  /** The open blocks in the order in which they began; some may have ended. */
  readonly opened: Block[];
  readonly blobs: ResultImage[];
  /** Sounds without a header: their pieces, each the Base64 of some samples, or its placeholder. */
  readonly sounds: { mimeType: string | undefined; pieces: string[] }[];
  readonly filesInText: ResultImage[];
  said: Partial<EventByType<'candidate'>>;
}

/** A reply as far as it came. */
export interface ArrivingReply {
  /** The requested model. */
  readonly model: string;
  /** The most candidates that are read. */
  readonly maxCandidates: number;
  readonly store: ImageStore;
  readonly candidates: Map<number, ArrivingCandidate>;
  /** Indexes of the candidates beyond the limit. */
  readonly surplus: Set<number>;
  /** Work on images and files, in the order in which they came. */
  readonly waiting: (() => Promise<void>)[];
  readonly facts: ReplyFacts;
  /** The newest token for a request that goes on, and the length of the answer when it came. */
  continuation?: { token: string; length: number };
  readonly sources: NotedSource[];
  readonly warnings: Set<string>;
  isEmpty: boolean;
  /** The start of the reply came, which names the model. */
  isStarted: boolean;
  /** Readers know how the first candidate ended. */
  isStopped: boolean;
  /** Characters that are kept. */
  length: number;
  /** Blocks that readers were shown. */
  shown: number;
}

/** The candidate of an event; it begins with its first. */
export function candidateAt(index = 0, { candidates }: ArrivingReply): ArrivingCandidate {
  const before = candidates.get(index);
  if (before) return before;
  const candidate = {
    index,
    blocks: [],
    open: new Map(),
    opened: [],
    blobs: [],
    sounds: [],
    filesInText: [],
    said: {},
  };
  candidates.set(index, candidate);
  return candidate;
}

/** Readers are shown only the first candidate. */
export function getFirstCandidate({ candidates }: ArrivingReply): ArrivingCandidate | undefined {
  return candidates.values().next().value;
}

/** The block of an event: the one of its index, or the newest if it has none. */
export function findBlock({ open, opened }: ArrivingCandidate, index: number | undefined): Block | undefined {
  if (index !== undefined) return open.get(index);
  // Blocks that have ended leave the list, so that each is looked at once.
  for (let newest = opened.at(-1); newest; newest = opened.at(-1)) {
    if (open.get(newest.key) === newest) return newest;
    opened.pop();
  }
  return undefined;
}

/** A content block of a reply, while it arrives and afterwards. */
export interface Block {
  /** `text`, `thinking`, `code`, or the type that the wire gives it. */
  readonly kind: string;
  /** Whether the text is for people: `text`, `thinking` or `code`. Otherwise `text` is the JSON of a call's input. */
  readonly isText: boolean;
  /** The key of the block among the open blocks of its candidate. */
  readonly key: number;
  /** The block as it began. */
  readonly start: JsonObject;
  /** The number of the block for readers; undefined if they are not shown it. */
  readonly position: number | undefined;
  /** The Base64 that came in the block, or its placeholder, and its type. */
  readonly data?: string | undefined;
  readonly mimeType?: string | undefined;
  text: string;
  /** Takes files out of the text, from the first place on where a file may begin. */
  filter?: TextFilter | undefined;
  signature?: string | undefined;
  citations: JsonValue[];
  /** The block began with its text: the next block without an index ends it. */
  isImplicit?: boolean;
  /** Whether all input of a call came, if the decoder knows it. */
  isWhole?: boolean;
}

/** Begins a block. Null is absent in it (deviation 9), and a later turn that repeated it would be refused. */
export function openBlock(raw: JsonObject, position: number | undefined, key = 0): Block {
  const hasNull = Object.values(raw).includes(null);
  const start = hasNull ? Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== null)) : raw;
  const kind = textField(start, 'type') ?? '';
  const isText = kind === 'text' || kind === 'thinking' || kind === 'code';
  const citations = start['citations'];
  const { data, mimeType } = readBlob(start);
  return {
    kind,
    isText,
    key,
    start,
    position,
    data,
    mimeType,
    text: (isText && kind !== 'code' && textField(start, kind)) || '',
    citations: Array.isArray(citations) ? [...citations] : [],
  };
}

/** A block with bytes, such as an image, is of no official reply; gateways add it (deviation 5). */
function readBlob(start: JsonObject): Pick<Block, 'data' | 'mimeType'> {
  const source = objectField(start, 'source');
  const data = source && textField(source, 'data');
  if (!source || data === undefined || source['type'] === 'text') return {};
  return { data, mimeType: textField(source, 'mediaType') ?? textField(source, 'mimeType') };
}

/** The block as far as it came, in the form of a turn. Tool input that was cut stays the string that it was (formats 4). */
function toRawBlock({ kind, start, text, signature, citations, isWhole }: Block): JsonObject {
  const signed = signature === undefined ? {} : { signature };
  if (kind === 'text') {
    const raw: JsonObject = { ...start };
    raw['text'] = text;
    if (citations.length > 0) raw['citations'] = citations;
    return Object.assign(raw, signed);
  }
  if (kind === 'thinking') return { ...start, thinking: text, ...signed };
  if (kind === 'code') return { type: 'text', text };
  const input =
    'input' in start || text !== '' || kind === 'tool_use'
      ? { input: parseToolInput(text, start['input'], isWhole) }
      : {};
  return { ...start, ...input, ...signed };
}

function parseToolInput(json: string, atStart: JsonValue = {}, isWhole = true): JsonValue {
  if (json.trim() === '') return isWhole || Object.keys(atStart as object).length > 0 ? atStart : json;
  try {
    return (parseFlat(json) as JsonValue) ?? atStart;
  } catch {
    return json;
  }
}

/** These are refused in an assistant turn: empty text, a call whose input was cut, and images in a form that only gateways use. */
function isReplayable(block: Block): boolean {
  if (block.kind === 'text') return block.text !== '';
  if (block.data !== undefined) return false;
  const { input } = toRawBlock(block);
  if (block.kind === 'tool_use') return block.isWhole ?? isObject(input);
  return typeof input !== 'string';
}

/** The result of a reply that was read, and the error if a call in it is not whole. */
export function finishResult(arriving: ArrivingReply): Answer {
  const { maxCandidates, surplus, model, facts } = arriving;
  const candidates = [...arriving.candidates.values()];
  const [first] = candidates;
  const result = toResult(candidates, model);
  if (first) noteFacts(facts, toFacts(first));
  const { modelEnds, ...said } = facts;
  const end = toModelEnd(model, modelEnds);
  if (end) result.modelEnds = end;
  Object.assign(result, said);
  append(result.warnings, [...arriving.warnings, ...otherModelWarnings(result)]);
  const sources = arriving.sources.length > 0 && collectSources(arriving.sources, first?.blocks ?? []);
  if (sources) result.sources = sources;
  result.complete = endedWell(result);
  if (surplus.size > 0) {
    const count = candidates.length + surplus.size;
    result.warnings.push(`the reply has ${count} candidates; the first ${maxCandidates} are read`);
    result.complete = false;
  }
  const unfinished = findUnfinished(result, arriving);
  return { result, error: result.complete ? findCutCall(candidates) : undefined, unfinished };
}

/** The facts of a reply that its first candidate has. */
function toFacts({
  said: { role, reason: stopReason, sequence: stopSequence, details: stopDetails },
}: ArrivingCandidate): ReplyFacts {
  return { role, stopReason, stopSequence, stopDetails };
}

/**
 * The content and token for a request that goes on with the answer: if the stop reason asks for one, or the service saved the
 * whole answer under a token.
 */
function findUnfinished(
  { stopReason, content = [], candidates }: Result,
  arriving: ArrivingReply,
): Answer['unfinished'] {
  const { continuation, length } = arriving;
  const isSaved = stopReason === undefined && continuation?.length === length;
  if (candidates.length !== 1 || !(isSaved || isUnfinished(stopReason))) return undefined;
  return { content, token: continuation?.token, shown: arriving.shown };
}

/** The end of a model if it is near, or the model is deprecated. */
function toModelEnd(model: string, end: Omit<ModelEnd, 'model'> | undefined): ModelEnd | undefined {
  if (end === undefined || !isEnding(end, Date.now())) return undefined;
  const known = Object.entries(end).filter(([, value]) => value !== undefined);
  return { model, ...Object.fromEntries(known) };
}

function toResult(candidates: readonly ArrivingCandidate[], model: string): Result {
  const result = emptyResult(model);
  const [first] = candidates;
  for (const candidate of candidates) {
    const { index, said, blobs, blocks, filesInText } = candidate;
    const markdown = toMarkdown(blocks);
    const shown: Result['candidates'][number] = { index, text: joinBlockTexts(blocks, 'text') };
    if (markdown !== undefined) shown.markdown = markdown;
    shown.finishReason = said.reason;
    shown.finishMessage = said.message;
    shown.safetyRatings = said.ratings;
    result.candidates.push(shown);
    const found = [...blobs, ...filesInText];
    const files = found.filter((blob) => !isImageBlob(blob));
    append(result.images, found.filter(isImageBlob));
    if (files.length > 0) append((result.files ??= []), files);
    for (const block of blocks) if (block.kind === 'tool_use') result.toolCalls.push(toToolCall(block));
  }
  result.images = withoutDrafts(result.images);
  result.text = result.candidates[0]?.text ?? '';
  result.thinking = (first && joinBlockTexts(first.blocks, 'thinking')) || undefined;
  result.content = first?.blocks.filter(isReplayable).map(withId) ?? [];
  return result;
}

function joinBlockTexts(blocks: readonly Block[], kind: 'text' | 'thinking'): string {
  return blocks.map((block) => (block.kind === kind ? block.text : '')).join('');
}

/** The text with the code that the service ran, and the output of that code; undefined if it ran none. */
function toMarkdown(blocks: readonly Block[]): string | undefined {
  if (!blocks.some(({ kind }) => kind === 'code')) return undefined;
  const text = blocks.map((block) => (block.kind === 'code' || block.kind === 'text' ? block.text : '')).join('');
  return text.replace(/\n{3,}(?=`{3})/g, '\n\n').trim();
}

function toToolCall(block: Block): Result['toolCalls'][number] {
  const { id, name = '', input = {} } = toRawBlock(block) as { id?: string; name?: string; input?: JsonValue };
  return { id, name, input };
}

/** A call without an id from the service gets one, by which its result is joined to it. */
function withId(block: Block, position: number): JsonObject {
  const raw = toRawBlock(block);
  if (block.kind !== 'tool_use' || textField(raw, 'id')) return raw;
  return { ...raw, id: `call_${position}` };
}

/** The images without drafts; if a reply has only drafts, the last one is kept. */
function withoutDrafts(images: readonly ResultImage[]): ResultImage[] {
  const finals = images.filter((image) => !image.draft);
  return finals.length > 0 ? finals : images.slice(-1);
}

/** A reply that ended well may lack arguments of a call, or have some that no tool takes. */
function findCutCall(candidates: readonly ArrivingCandidate[]): GatewayError | undefined {
  const calls = candidates.flatMap(({ blocks }) => blocks).filter(({ kind }) => kind === 'tool_use');
  const part = calls.find((block) => block.isWhole === false || !isObject(toToolCall(block).input));
  if (part === undefined) return undefined;
  const name = quoteForeign(toToolCall(part).name, 60) || 'without a name';
  const why = part.isWhole === false ? 'its streamed arguments do not end' : 'its arguments are not a JSON object';
  return new GatewayError('incomplete', `the call ${name} is not whole: ${why}`, { sent: 'yes', retryable: false });
}

/** A result with nothing in it yet. */
export function emptyResult(model: string): Result {
  return {
    model,
    text: '',
    candidates: [],
    images: [],
    toolCalls: [],
    warnings: [],
    complete: false,
  };
}
