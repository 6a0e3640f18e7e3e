import {
  field,
  isObject,
  type JsonObject,
  type JsonValue,
  listField,
  numberField,
  objectField,
  textField,
} from '../../json.ts';
import { findReply, foreignReply, isCutData, limitAnswer, parseEventData } from '../parse-reply.ts';
import type { Decoder, ReplyEvent, DecoderInput, Usage } from '../events.ts';
import { toFailure } from '../failure.ts';
import { toldCostEvents } from '../told-cost.ts';
import type { Body } from '../../body.ts';
import { findErrorInEvent, type ReplyHead } from '../format.ts';
import { createSourcesReader } from './found-sources.ts';
import { type ArrivingChoice, endEvents, newChoice, choiceEvents } from './choice.ts';
import { isImagesReply, readImagesReply } from './images.ts';
import { append } from '../../long-lists.ts';

/** The state of a reply while it is read. */
interface CompletionState {
  readonly choices: Map<number, ArrivingChoice>;
  /** Candidates that began and have no finish reason yet. */
  readonly open: Set<number>;
  readonly held: { characters: number };
  readonly keepsTags: boolean;
  readonly asked: Body | undefined;
  id?: string | undefined;
  model?: string | undefined;
  tier?: string | undefined;
  readonly readSources: ReturnType<typeof createSourcesReader>;
  isEnded: boolean;
}

/** Reads one reply of the format (formats 7, and deviations 47 to 60, and 79). */
export function createCompletionsDecoder({
  keepsTags = false,
  asked,
}: Pick<ReplyHead, 'keepsTags' | 'asked'> = {}): Decoder {
  const state: CompletionState = {
    choices: new Map(),
    open: new Set(),
    held: { characters: 0 },
    keepsTags,
    asked,
    readSources: createSourcesReader(),
    isEnded: false,
  };
  const end = (isWhole: boolean): ReplyEvent[] =>
    [...state.choices.values()].flatMap((choice) => endEvents(choice, isWhole));
  return {
    whole(json) {
      const pieces = listReplyPieces(json)
        .map((piece) => findReply(piece, isReply))
        .filter((piece) => piece !== undefined);
      if (pieces.length === 0) throw foreignReply(json, 'completions');
      return [...readPieces(pieces, state), ...end(true)];
    },
    feed: (event) => feed(event, state),
    end: () => end(false),
    get progress() {
      if (state.isEnded) return 'ended';
      return isStopped(state) ? 'stopped' : 'open';
    },
  };
}

function isStopped({ choices, open }: CompletionState): boolean {
  return choices.has(0) && open.size === 0;
}

function feed({ event, data, unterminated }: DecoderInput, state: CompletionState): ReplyEvent[] {
  const text = data.trim();
  // A comment of the server that a gateway turned into data (deviation 29).
  if (text === '' || text.startsWith(':') || state.isEnded) return [];
  if (text === '[DONE]') {
    // `[DONE]` ends only a reply that gave its finish reason: gateways send it after a reply that was cut, too.
    state.isEnded = isStopped(state);
    return state.isEnded ? [{ type: 'end' }] : [];
  }
  // Data that was cut at the end of the body says nothing (deviation 33).
  if (unterminated && isCutData(text)) return [];
  const parsed = parseEventData(text);
  const events = readPieces((Array.isArray(parsed) ? parsed : [parsed]).filter(isObject), state, event);
  limitAnswer(state.held.characters);
  return events;
}

/** An error is the last event, after the events of the pieces. It is thrown if it is the only one. */
function readPieces(pieces: readonly JsonObject[], state: CompletionState, event?: string): ReplyEvent[] {
  const events: ReplyEvent[] = [];
  for (const json of pieces) {
    const error = findErrorInEvent(json, event, state.asked);
    const failure = error && toFailure(error, { billed: state.choices.size > 0 ? 'unknown' : undefined });
    if (isImagesReply(json)) append(events, readImagesReply(json));
    if (!failure || listField(json, 'choices')?.length) append(events, readChunk(json, state));
    if (failure && events.length === 0) throw failure;
    if (failure) return [...events, { type: 'broken', error: failure }];
  }
  return events;
}

function readChunk(json: JsonObject, state: CompletionState): ReplyEvent[] {
  const { choices, open, held, keepsTags, asked } = state;
  const listed = (listField(json, 'choices') ?? []).filter(isObject);
  const events = startEvents(state, json);
  const broken: ReplyEvent[] = [];
  for (const [at, raw] of listed.entries()) {
    const candidate = numberField(raw, 'index') ?? at;
    const choice = choices.get(candidate) ?? newChoice(candidate, held, keepsTags);
    choices.set(candidate, choice);
    for (const event of choiceEvents(choice, raw, asked)) (event.type === 'broken' ? broken : events).push(event);
    if (choice.reason === undefined) open.add(candidate);
    else open.delete(candidate);
  }
  // Broken events come last: nothing after them is read.
  return [...events, ...state.readSources(json), ...usageEvents(json, listed), ...broken];
}

/** The pieces of a body. The list of an images operation can come without the object around it (deviation 70). */
function listReplyPieces(json: unknown): unknown[] {
  if (!Array.isArray(json)) return [json];
  const images = { data: json as JsonValue[] };
  return json.length > 0 && isImagesReply(images) ? [images] : json;
}

function isReply(json: JsonObject): boolean {
  return Array.isArray(json['choices']) || isImagesReply(json) || (json['error'] ?? '') !== '';
}

/** Facts that every chunk repeats. The first chunk may lack them, and some gateways give each chunk an id of its own. */
function startEvents(state: CompletionState, json: JsonObject): ReplyEvent[] {
  const { id = textField(json, 'id') || undefined, model = textField(json, 'model') || undefined } = state;
  const tier = textField(json, 'serviceTier') || state.tier;
  const isNew = id !== state.id || model !== state.model;
  const events: ReplyEvent[] = isNew ? [{ type: 'start', id, model }] : [];
  if (tier !== undefined && tier !== state.tier) events.push({ type: 'facts', facts: { serviceTier: tier } });
  if (events.length > 0) Object.assign(state, { id, model, tier });
  return events;
}

/** The counts of a reply or of a chunk, in every place where services put them. */
function usageEvents(json: JsonObject, choices: readonly JsonObject[]): ReplyEvent[] {
  const holders = [...choices, json, objectField(json, 'xGroq')];
  const usages = holders.map((holder) => holder?.['usage']).filter(isObject);
  const told = usages.flatMap((usage): ReplyEvent[] => [
    { type: 'facts', facts: { usage: isImagesReply(json) ? readImagesUsage(usage) : readUsage(usage) } },
    ...toldCostEvents(usage),
  ]);
  // OpenAI has another model write an SVG (npm openai 7.57.0). If its usage cannot be read, the cost is unknown.
  const found = field(json, 'svgUsage');
  if (found === undefined) return told;
  const svg = isObject(found) ? found : {};
  const otherUsage = { model: textField(svg, 'model') ?? '', usage: readUsage(svg), images: 0 };
  return [...told, { type: 'facts', facts: { otherUsage } }];
}

/** The counts of a completion, or of an image operation, which names them differently. `outputTokens` includes thinking. */
function readUsage(usage: JsonObject): Usage {
  const input = objectField(usage, 'promptTokensDetails') ?? objectField(usage, 'inputTokensDetails') ?? {};
  const output = objectField(usage, 'completionTokensDetails') ?? objectField(usage, 'outputTokensDetails') ?? {};
  const inputTokens = numberField(usage, 'promptTokens') ?? numberField(usage, 'inputTokens');
  const outputTokens = numberField(usage, 'completionTokens') ?? numberField(usage, 'outputTokens');
  const thinkingTokens = numberField(output, 'reasoningTokens') ?? numberField(usage, 'reasoningTokens');
  const totalTokens = numberField(usage, 'totalTokens');
  const cachedInputTokens = numberField(input, 'cachedTokens') ?? numberField(usage, 'promptCacheHitTokens');
  // OpenAI and OpenRouter, LiteLLM, and relays of Anthropic: a part of the input, with a price of its own.
  const written = numberField(input, 'cacheWriteTokens') ?? numberField(input, 'cacheCreationTokens');
  const cacheWriteInputTokens = written ?? numberField(usage, 'cacheCreationInputTokens');
  const imageOutputTokens = numberField(output, 'imageTokens');
  const imageInputTokens = numberField(input, 'imageTokens');
  const audioInputTokens = numberField(input, 'audioTokens');
  const audioOutputTokens = numberField(output, 'audioTokens');
  // OpenRouter, and Perplexity.
  const tools = objectField(usage, 'serverToolUseDetails') ?? objectField(usage, 'serverToolUse') ?? {};
  const searches = numberField(tools, 'webSearchRequests') ?? numberField(usage, 'numSearchQueries');
  const sum = (outputTokens ?? 0) + (thinkingTokens ?? 0);
  return {
    inputTokens,
    // The total shows that xAI does not count thinking in the answer.
    outputTokens: totalTokens === (inputTokens ?? 0) + sum ? sum : outputTokens,
    thinkingTokens,
    cachedInputTokens: cachedInputTokens ?? numberField(usage, 'cachedTokens'),
    ...(cacheWriteInputTokens !== undefined && { cacheWriteInputTokens }),
    ...(imageInputTokens && { imageInputTokens }),
    ...(audioInputTokens && { audioInputTokens }),
    ...(audioOutputTokens && { audioOutputTokens }),
    ...(imageOutputTokens !== undefined && { imageOutputTokens }),
    ...(searches !== undefined && { searches }),
    totalTokens,
  };
}

/** The counts of an image operation. If it does not divide its output, all of it is images (npm openai 7.57.0, `images.d.ts`). */
function readImagesUsage(usage: JsonObject): Usage {
  const { imageOutputTokens, ...counts } = readUsage(usage);
  return { ...counts, imageOutputTokens: imageOutputTokens ?? counts.outputTokens };
}
