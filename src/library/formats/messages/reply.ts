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
import { searchResultEvents, sourceEvents } from '../sources.ts';
import { findReply, foreignReply, isCutData, parseEventData } from '../parse-reply.ts';
import { usualTiers } from '../../vendors/service-tiers.ts';
import { findErrorInEvent, type ReplyHead } from '../format.ts';
import type { Body } from '../../body.ts';
import type { Decoder, ReplyProgress, ReplyEvent, DecoderInput, Usage } from '../events.ts';
import { toFailure } from '../failure.ts';
import { badReply, quoteForeign } from '../../errors.ts';
import { findOwn } from '../../find-own.ts';

/** The state of a stream while it is read. */
interface MessageState {
  readonly asked: Body | undefined;
  message: { id: string | undefined } | undefined;
  usage: Usage;
  rates: Rates;
  progress: ReplyProgress;
}

const handlers: Readonly<Record<string, (payload: JsonObject, state: MessageState) => ReplyEvent[]>> = {
  message_start: startMessage,
  content_block_start: startBlock,
  content_block_delta: readDelta,
  content_block_stop: (payload) => [{ type: 'block-stop', index: numberField(payload, 'index') }],
  message_delta: changeMessage,
  message_stop: endMessage,
  done: endStream,
};

/** Reads one reply of the messages format (formats 3 and 4, and deviations 22 to 38). */
export function createMessagesDecoder({ asked }: Pick<ReplyHead, 'asked'> = {}): Decoder {
  const state: MessageState = { asked, message: undefined, usage: {}, rates: {}, progress: 'open' };
  return {
    whole(json) {
      const events = readWholeMessage(json);
      state.progress = 'ended';
      return events;
    },
    feed: (event) => feed(event, state),
    end: () => [],
    get progress() {
      return state.progress;
    },
  };
}

function feed({ event, data, unterminated }: DecoderInput, state: MessageState): ReplyEvent[] {
  const text = data.trim();
  if (text.startsWith(':')) return [];
  if (text === '[DONE]') return endStream({}, state);
  // If the body's end left an event without its blank line, the event is whole, cut or wrong: a cut event says nothing (deviation
  // 33).
  if (unterminated && (text === '' || isCutData(text))) return [];
  const payload = text === '' ? {} : parseEventData(text);
  if (!isObject(payload)) return [];
  const type = typeof payload['type'] === 'string' ? payload['type'] : (event ?? '');
  const handler = findOwn(handlers, type);
  if (handler) return handler(payload, state);
  if (state.progress === 'ended') return [];
  const error = findErrorInEvent(payload, event, state.asked);
  if (error) throw toFailure(error, { billed: state.message ? 'unknown' : undefined });
  // An event without a type is skipped if it has no delta.
  if (type === '' && isObject(payload['delta'])) throw badReply('an event of the stream has no type');
  return [];
}

function startMessage(payload: JsonObject, state: MessageState): ReplyEvent[] {
  const message = objectField(payload, 'message') ?? {};
  const id = textField(message, 'id');
  if (state.message) {
    if (id === undefined || id === state.message.id) return [];
    throw badReply(`a second message (${quoteForeign(id)}) begins inside the stream`);
  }
  state.message = { id };
  const start = { type: 'start', id, model: textField(message, 'model'), role: textField(message, 'role') } as const;
  return [start, ...updateUsage(message, state)];
}

/** content_block_start; some blocks arrive whole in it (deviation 5). */
function startBlock(payload: JsonObject): ReplyEvent[] {
  const [raw, index] = [objectField(payload, 'contentBlock') ?? {}, numberField(payload, 'index')];
  return [{ type: 'block-start', raw, index }, ...foundInBlock(raw, index)];
}

/** The sources that a block cites, or found. */
function foundInBlock(raw: JsonObject, index?: number): ReplyEvent[] {
  const citations = listField(raw, 'citations');
  const cited = citations ? sourceEvents(citations, index) : [];
  return textField(raw, 'type')?.endsWith('_tool_result') ? [...cited, ...searchResultEvents(raw)] : cited;
}

/** content_block_delta; kinds that are not known mean nothing. */
function readDelta(payload: JsonObject): ReplyEvent[] {
  const delta = payload['delta'];
  if (!isObject(delta) || typeof delta['type'] !== 'string') throw badReply('a delta of the stream has no type');
  const index = numberField(payload, 'index');
  const { type, signature, citation } = delta;
  if (type === 'text_delta') return [{ type: 'text', text: readDeltaText(delta, 'text'), index }];
  if (type === 'thinking_delta') return [{ type: 'thinking', text: readDeltaText(delta, 'thinking'), index }];
  if (type === 'input_json_delta') return [{ type: 'tool-input', json: readDeltaText(delta, 'partial_json'), index }];
  if (type === 'signature_delta' && typeof signature === 'string') return [{ type: 'signature', signature, index }];
  if (type === 'citations_delta' && isObject(citation))
    return [{ type: 'citation', citation, index }, ...sourceEvents([citation], index)];
  return [];
}

function readDeltaText(delta: JsonObject, name: string): string {
  const text = delta[name] ?? '';
  if (typeof text !== 'string') throw badReply(`the ${name} of a delta of the stream is not text`);
  return text;
}

/** message_delta; there may be several, and each field that is not null is the newest (deviation 34). */
function changeMessage(payload: JsonObject, state: MessageState): ReplyEvent[] {
  const counts = updateUsage(payload, state);
  const delta = payload['delta'] ?? {};
  if (!isObject(delta)) throw badReply('a message_delta of the stream cannot be read');
  const reason = delta['stop_reason'] ?? '';
  if (typeof reason !== 'string') throw badReply('the stop reason of the stream is not text');
  if (reason !== '' && state.progress === 'open') state.progress = 'stopped';
  const sequence = textField(delta, 'stopSequence');
  return [
    ...counts,
    { type: 'candidate', reason: reason || undefined, sequence, details: delta['stop_details'] ?? undefined },
  ];
}

function updateUsage(payload: JsonObject, state: MessageState): ReplyEvent[] {
  const { usage } = payload;
  state.rates = updateRates(state.rates, payload);
  if (!isObject(usage)) return tierEvents(state.rates);
  state.usage = readUsage(usage, state.usage);
  return [...usageEvents(state.usage), ...tierEvents(state.rates)];
}

function endMessage(_payload: JsonObject, state: MessageState): ReplyEvent[] {
  if (state.progress === 'ended') return [];
  state.progress = 'ended';
  return [{ type: 'end' }];
}

/** `[DONE]` and `done` belong to other formats: they end a reply that gave its stop reason, and mean nothing else (deviation 23). */
function endStream(payload: JsonObject, state: MessageState): ReplyEvent[] {
  return state.progress === 'open' ? [] : endMessage(payload, state);
}

/**
 * Reads a whole messages-format reply as gateways are known to send it (formats 3 and 6): content as a string, nulls, image
 * blocks, wrapped in an array or in `response`, `message` or `data`. Throws bad-reply if it is not a message.
 */
function readWholeMessage(json: unknown): ReplyEvent[] {
  const message = findReply(json, isMessage, ['response', 'message', 'data']);
  if (!message) throw foreignReply(json, 'messages');
  return [
    {
      type: 'start',
      id: textField(message, 'id'),
      model: textField(message, 'model'),
      role: textField(message, 'role'),
    },
    ...blockEvents(message['content']),
    {
      type: 'candidate',
      reason: textField(message, 'stopReason') || undefined,
      sequence: textField(message, 'stopSequence'),
      details: field(message, 'stopDetails'),
    },
    ...usageEvents(readUsage(objectField(message, 'usage') ?? {}, {})),
    ...tierEvents(updateRates({}, message)),
  ];
}

/** Words of a message that decide its price: the service tier, the speed and the region. */
type Rates = { [name in 'serviceTier' | 'speed' | 'inferenceGeo']?: string | undefined };

/** The texts of a later usage object over earlier ones. Some gateways have the tier beside the usage. */
function updateRates(before: Rates, message: JsonObject): Rates {
  const usage = objectField(message, 'usage') ?? {};
  return {
    serviceTier: textField(usage, 'serviceTier') ?? textField(message, 'serviceTier') ?? before.serviceTier,
    speed: textField(usage, 'speed') ?? before.speed,
    inferenceGeo: textField(usage, 'inferenceGeo') ?? before.inferenceGeo,
  };
}

/** The service tier, followed by the words of other prices: `standard fast us`. */
function tierEvents({ serviceTier, speed = '', inferenceGeo = '' }: Rates): ReplyEvent[] {
  const besides = [speed, inferenceGeo].filter((word) => !usualTiers.has(word));
  const tier = [serviceTier, ...besides].filter(Boolean).join(' ');
  return tier ? [{ type: 'facts', facts: { serviceTier: tier } }] : [];
}

function isMessage(json: JsonObject): boolean {
  if (json['type'] === 'message') return true;
  const content = json['content'];
  return Array.isArray(content) || (typeof content === 'string' && field(json, 'role') !== undefined);
}

/** The blocks of a message, or a plain string (deviation 43). A value that is not a block is skipped. */
function blockEvents(content: JsonValue | undefined): ReplyEvent[] {
  if (typeof content === 'string') return content === '' ? [] : wholeBlock({ type: 'text', text: content });
  if (!Array.isArray(content)) return [];
  return content.flatMap((raw) => {
    if (typeof raw === 'string') return wholeBlock({ type: 'text', text: raw });
    return isObject(raw) ? wholeBlock(raw) : [];
  });
}

function wholeBlock(raw: JsonObject): ReplyEvent[] {
  return [{ type: 'block-start', raw }, ...foundInBlock(raw), { type: 'block-stop' }];
}

/** The counts so far: usage in a stream is cumulative, field by field, and each may be absent (formats 4, deviation 34). */
function readUsage(raw: JsonObject, before: Usage): Usage {
  const details = objectField(raw, 'outputTokensDetails') ?? {};
  const tools = objectField(raw, 'serverToolUse') ?? {};
  const written = objectField(raw, 'cacheCreation') ?? {};
  const inputTokens = numberField(raw, 'inputTokens') ?? before.inputTokens;
  const outputTokens = numberField(raw, 'outputTokens') ?? before.outputTokens;
  const cachedInputTokens = numberField(raw, 'cacheReadInputTokens') ?? before.cachedInputTokens;
  const cacheWriteInputTokens = numberField(raw, 'cacheCreationInputTokens') ?? before.cacheWriteInputTokens;
  const cacheWriteLongInputTokens =
    numberField(written, 'ephemeral_1h_input_tokens') ?? before.cacheWriteLongInputTokens;
  const searches = numberField(tools, 'webSearchRequests') ?? before.searches;
  const isKnown = inputTokens !== undefined && outputTokens !== undefined;
  return {
    inputTokens,
    outputTokens,
    thinkingTokens: numberField(details, 'thinkingTokens') ?? before.thinkingTokens,
    cachedInputTokens,
    ...(cacheWriteInputTokens !== undefined && { cacheWriteInputTokens }),
    ...(searches !== undefined && { searches }),
    ...(cacheWriteLongInputTokens && { cacheWriteLongInputTokens }),
    // The total counts the cache too, which inputTokens of this format leaves out (formats 3).
    totalTokens: isKnown
      ? inputTokens + outputTokens + (cachedInputTokens ?? 0) + (cacheWriteInputTokens ?? 0)
      : undefined,
  };
}

function usageEvents(usage: Usage): ReplyEvent[] {
  return Object.values(usage).every((count) => count === undefined) ? [] : [{ type: 'facts', facts: { usage } }];
}
