import { isObject, type JsonObject, type JsonValue, parseFlat } from '../../json.ts';
import { countValues, valueCost } from '../count-values.ts';
import { findErrorInReply } from '../error-body.ts';
import { failureOfError } from '../failure.ts';
import { quote } from '../quote.ts';
import {
  badStream,
  addDelta,
  addText,
  flushText,
  startBlock,
  stopBlock,
  type BlockStream,
  type TextFilter,
  type TextRun,
} from './block-stream.ts';
import { closeBlock, serviceTierOf, addCounts, usageOf, type MessageCounts } from './reply.ts';
import type { MessageReply, StreamDelta } from './types.ts';

/** One server-sent event as the stream's parser gives it. */
export interface ServerEvent {
  event?: string | undefined;
  data: string;
}

/** Puts a streamed reply together, event by event. */
export interface MessageAssembler {
  /**
   * Takes the next event and says what it means to a reader. Throws what an `error` event stands for (class by its type),
   * and bad-reply for data that is not JSON, a second message, or more than anybody says; what came before is kept.
   */
  feed(event: ServerEvent | TextRun): StreamDelta[];
  /** What a filter still holds back of blocks that never ended: the stream is over. */
  flush(): StreamDelta[];
  /** The reply as far as it came; also after a throw. */
  finish(): MessageReply;
  /** Whether a stop reason or message_stop was seen. */
  readonly complete: boolean;
}

interface State {
  message: { id: string | undefined; role: string | undefined; model: string | undefined } | undefined;
  readonly blocks: BlockStream;
  stopReason: string | undefined;
  stopSequence: string | undefined;
  stopDetails: JsonValue | undefined;
  counts: MessageCounts;
  serviceTier?: string | undefined;
  /** What is kept: characters of text, thoughts and tool input, and whole events where nothing of them is told. */
  length: number;
  ended: boolean;
}

/** Far below what a string of V8 holds (512 Mi): a document has the text several times, with escapes. */
const mostCharacters = 64 * 1024 * 1024;

const handlers: Readonly<Record<string, (state: State, payload: JsonObject) => StreamDelta[]>> = {
  message_start: startMessage,
  content_block_start: ({ blocks }, payload) => startBlock(blocks, payload),
  content_block_delta: ({ blocks }, payload) => addDelta(blocks, payload),
  content_block_stop: ({ blocks }, payload) => stopBlock(blocks, payload),
  message_delta: changeMessage,
  message_stop: endMessage,
  done: endOfStream,
};

/** Waits for the events of one reply (formats 4, and deviations 22 to 38). */
export function createMessageAssembler({ filter }: { filter?: TextFilter } = {}): MessageAssembler {
  const state: State = {
    message: undefined,
    blocks: { list: [], open: new Map(), filter },
    stopReason: undefined,
    stopSequence: undefined,
    stopDetails: undefined,
    counts: {},
    length: 0,
    ended: false,
  };
  return {
    feed: (event) => feed(state, event),
    flush: () => [...state.blocks.open.values()].flatMap((block) => flushText(state.blocks, block)),
    finish: () => finish(state),
    get complete() {
      return isComplete(state);
    },
  };
}

function feed(state: State, fed: ServerEvent | TextRun): StreamDelta[] {
  if ('index' in fed) return bounded(state, addText(state.blocks, fed.index, { type: 'text', text: fed.text }));
  const { event, data } = fed;
  const text = data.trim();
  if (text.startsWith(':')) return [];
  if (text === '[DONE]') return endOfStream(state);
  const payload = text === '' ? {} : parse(text);
  if (!isObject(payload)) return [];
  const type = typeof payload['type'] === 'string' ? payload['type'] : (event ?? '');
  const handler = Object.hasOwn(handlers, type) ? handlers[type] : undefined;
  if (handler) {
    const deltas = handler(state, payload);
    // Of a delta only what it tells is kept; of a block's start, a signature or a citation all of it.
    return bounded(state, deltas, type === 'content_block_delta' && deltas.length > 0 ? 0 : sizeOf(data));
  }
  if (state.ended) return [];
  throwError(state, type, payload);
  // What has no type is skipped where it tells nothing.
  if (type === '' && isObject(payload['delta'])) throw badStream('an event of the stream has no type');
  return [];
}

function bounded(state: State, deltas: StreamDelta[], silent = 0): StreamDelta[] {
  state.length += silent;
  for (const delta of deltas) {
    if (delta.type === 'text' || delta.type === 'thinking') state.length += delta.text.length;
    else if (delta.type === 'tool-input') state.length += delta.json.length;
  }
  if (state.length > mostCharacters) throw badStream(`the answer is longer than ${mostCharacters} characters`);
  return deltas;
}

function sizeOf(data: string): number {
  return data.length + valueCost * countValues(data);
}

function parse(text: string): unknown {
  // A short text cannot hold so many values.
  if (text.length > mostCharacters / valueCost && countValues(text) > mostCharacters / valueCost)
    throw badStream(`an event of the stream holds more than ${mostCharacters / valueCost} values`);
  try {
    return parseFlat(text);
  } catch (error) {
    throw badStream(`an event of the stream is not JSON: ${quote(text)}`, error);
  }
}

/** Gateways report errors under types of their own (deviations 16 and 17); other unknown events are none. */
function throwError(state: State, type: string, payload: JsonObject): void {
  const error = findErrorInReply(payload);
  const isError = type === 'error' || payload['success'] === false || (payload['error'] ?? '') !== '';
  if (!isError || (!error && type !== 'error')) return;
  throw failureOfError(error ?? { message: '' }, { billed: state.message ? 'unknown' : undefined });
}

function startMessage(state: State, payload: JsonObject): StreamDelta[] {
  const message = isObject(payload['message']) ? payload['message'] : {};
  const id = stringOf(message['id']);
  if (state.message) {
    if (id === undefined || id === state.message.id) return [];
    throw badStream(`a second message (${quote(id)}) begins inside the stream`);
  }
  state.message = { id, role: stringOf(message['role']), model: stringOf(message['model']) };
  addUsage(state, message);
  return [{ type: 'start', id, model: state.message.model }];
}

/** message_delta; there may be several, and each field that is not null is the newest (deviation 34). */
function changeMessage(state: State, payload: JsonObject): StreamDelta[] {
  addUsage(state, payload);
  const delta = payload['delta'] ?? {};
  if (!isObject(delta)) throw badStream('a message_delta of the stream cannot be read');
  state.stopSequence = stringOf(delta['stop_sequence']) ?? state.stopSequence;
  state.stopDetails = delta['stop_details'] ?? state.stopDetails;
  const stopReason = delta['stop_reason'] ?? '';
  if (typeof stopReason !== 'string') throw badStream('the stop reason of the stream is not text');
  if (stopReason === '') return [];
  state.stopReason = stopReason;
  return [{ type: 'stop', stopReason }];
}

function endMessage(state: State): StreamDelta[] {
  if (state.ended) return [];
  state.ended = true;
  return [{ type: 'end' }];
}

/** `[DONE]` and `done` are of other formats: they end a reply that said why it stopped, and mean nothing else (deviation 23). */
function endOfStream(state: State): StreamDelta[] {
  return isComplete(state) ? endMessage(state) : [];
}

function finish(state: State): MessageReply {
  return {
    id: state.message?.id,
    role: state.message?.role,
    model: state.message?.model,
    blocks: state.blocks.list.map(closeBlock),
    stopReason: state.stopReason,
    stopSequence: state.stopSequence,
    stopDetails: state.stopDetails,
    usage: usageOf(state.counts),
    ...(state.serviceTier !== undefined && { serviceTier: state.serviceTier }),
    complete: isComplete(state),
  };
}

function isComplete(state: State): boolean {
  return state.ended || state.stopReason !== undefined;
}

function addUsage(state: State, holder: JsonObject): void {
  const usage = holder['usage'];
  if (isObject(usage)) state.counts = addCounts(state.counts, usage);
  state.serviceTier = serviceTierOf(holder).serviceTier ?? state.serviceTier;
}

function stringOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
