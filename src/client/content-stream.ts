import { GatewayError } from '../errors.ts';
import { decodeContentPieces, decodeContentReply, joinContentReplies } from '../formats/content/reply.ts';
import type { ContentPart, ContentReply } from '../formats/content/types.ts';
import type { StreamDelta } from '../formats/messages/types.ts';
import { divertBase64 } from '../scan/json-scan.ts';
import { readEvents, type ServerEvent } from '../transport/sse.ts';
import type { Base64Diversion } from '../scan/json-scan.ts';
import type { HttpReply } from '../transport/types.ts';
import { readWhilePatient } from './deadline.ts';
import { parseReply } from './parse-reply.ts';
import { isCut } from './read-body.ts';
import { createMarkdownImageSplitter, type MarkdownPiece } from '../images/markdown.ts';

/** What came of a reply, if anything did, and the error that ended it early. */
export interface Decoded {
  decoded: ContentReply | undefined;
  cut: GatewayError | undefined;
}

/** As for a message: a document has the text several times, with escapes. */
const mostCharacters = 64 * 1024 * 1024;
/** What a part takes beside its text. */
const partCost = 64;

/** Of other formats: nothing follows (deviation 23). */
const done = '[DONE]';
/** Behind it the end of the body is only good for using the connection again (deviation 24). */
const patienceMs = 200;

/**
 * Reads the pieces of a streamed reply, also where nobody asked for a stream (deviation 37), and yields the deltas of one
 * arriving chunk together. An error in the middle ends it, and what came before is kept. Throws GatewayError when nothing
 * came before.
 */
export async function* readPieces(reply: HttpReply, store: Base64Diversion): AsyncGenerator<StreamDelta[], Decoded> {
  const broken: { by?: GatewayError } = {};
  const pieces = createPieces(reply);
  const patient = readWhilePatient(reply.body, () => (pieces.isDone() ? patienceMs : undefined));
  const body = untilCut(divertBase64(patient, store, { mode: 'sse' }), broken);
  let failure: GatewayError | undefined;
  try {
    for await (const events of readEvents(body)) {
      try {
        events.forEach(pieces.add);
      } finally {
        if (pieces.deltas.length > 0) yield pieces.deltas.splice(0);
      }
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    failure = error;
  }
  const rest = pieces.end();
  if (rest.length > 0) yield rest;
  return { decoded: pieces.decoded, cut: cutOf(pieces, failure, broken.by) };
}

/** Why the reply is not whole, if it is not. Throws GatewayError where nothing came. */
function cutOf(
  pieces: Pieces,
  failure: GatewayError | undefined,
  broken: GatewayError | undefined,
): GatewayError | undefined {
  const hasBroken = failure !== undefined && failure.class !== 'incomplete';
  if (pieces.isEnded() && !hasBroken) return undefined;
  if (hasBroken) {
    if (pieces.decoded === undefined) throw failure;
    // Where pieces came, the address is right.
    return failure.details.reason === 'address' ? badStream('an event of the stream is not JSON') : failure;
  }
  const cut = broken ?? failure;
  if (cut !== undefined) return cut;
  if (pieces.first === undefined) throw badStream('the stream held no reply');
  if (pieces.decoded === undefined) decodeContentReply(pieces.first);
  return withoutReason();
}

/** Reads the pieces that came as one JSON array, which is what a stream is without `alt=sse`. Throws bad-reply. */
export function readPieceList(list: readonly unknown[]): Decoded {
  const decoded = decodeContentReply(list);
  return { decoded, cut: isEnded(decoded) ? undefined : withoutReason() };
}

/** Whether every candidate said why it ended. */
function isEnded({ blockReason, candidates }: ContentReply): boolean {
  const isEvery = candidates.length > 0 && candidates.every(({ finishReason }) => finishReason !== undefined);
  return blockReason !== undefined || isEvery;
}

function withoutReason(): GatewayError {
  return new GatewayError('incomplete', 'the stream ended without a finish reason', { sent: 'yes', retryable: false });
}

/** A body that breaks off ends there: the event that it leaves open may hold words. */
async function* untilCut(body: AsyncIterable<Uint8Array>, broken: { by?: GatewayError }): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    if (!isCut(error)) throw error;
    broken.by = error;
  }
}

interface Pieces {
  readonly decoded: ContentReply | undefined;
  /** The first value that came, whatever it was. */
  readonly first: unknown;
  /** What was added and nobody took yet. */
  readonly deltas: StreamDelta[];
  /** Throws GatewayError: an error in the stream's place, what is not JSON, JSON that breaks off, or more than anybody says. */
  add(event: ServerEvent): void;
  /** Whether every candidate said why it ended. */
  isEnded(): boolean;
  /** The same, and nothing follows: `[DONE]` came. */
  isDone(): boolean;
  /** The last deltas. */
  end(): StreamDelta[];
}

function createPieces(reply: HttpReply): Pieces {
  const told = createContentDeltas();
  let size = 0;
  let isDone = false;
  const pieces = {
    decoded: undefined as ContentReply | undefined,
    first: undefined as unknown,
    deltas: [] as StreamDelta[],
    add({ data, unterminated }: ServerEvent): void {
      const text = data.trim();
      isDone ||= text === done;
      if (text === '' || text === done || text.startsWith(':') || (unterminated && done.startsWith(text))) return;
      const { value, cut } = parseReply({ text, cut: undefined }, reply, 'content');
      pieces.first ??= value;
      const piece = decodeContentPieces(Array.isArray(value) ? value : [value]);
      size += piece === undefined ? 0 : sizeOf(piece);
      if (size > mostCharacters) throw badStream(`the answer is longer than ${mostCharacters} characters`);
      if (piece) {
        pieces.deltas.push(...told.take(piece));
        pieces.decoded = pieces.decoded ? joinContentReplies(pieces.decoded, piece) : piece;
      }
      if (cut) throw cut;
    },
    isEnded: () => pieces.decoded !== undefined && isEnded(pieces.decoded),
    isDone: () => isDone && pieces.isEnded(),
    end: () => told.end(pieces.decoded, pieces.isEnded()),
  };
  return pieces;
}

function sizeOf({ candidates }: ContentReply): number {
  const parts = candidates.flatMap((candidate) => candidate.parts);
  return parts.reduce((sum, part) => sum + partCost + lengthOf(part), candidates.length * partCost);
}

function lengthOf(part: ContentPart): number {
  if (part.kind === 'text') return part.text.length;
  if (part.kind === 'blob') return part.data.length;
  return JSON.stringify(part).length;
}

function badStream(what: string): GatewayError {
  return new GatewayError('bad-reply', what, { sent: 'yes', retryable: false });
}

/** Says what the pieces of a streamed content reply mean to a reader: the same deltas as of a message. */
export interface ContentDeltas {
  /** Those of one piece: text and thoughts of the first candidate, without the pictures that stand in the text. */
  take(piece: ContentReply): StreamDelta[];
  /** What was held back, and how the reply ended, where it did. */
  end(reply: ContentReply | undefined, isEnded: boolean): StreamDelta[];
}

/** One serves one reply. Text and thoughts that follow each other are blocks of their own; calls are told by the result. */
export function createContentDeltas(): ContentDeltas {
  const splitter = createMarkdownImageSplitter();
  let candidate: number | undefined;
  let isBegun = false;
  let open: 'text' | 'thinking' | 'code' | undefined;
  let block = -1;

  function close(): StreamDelta[] {
    if (open === undefined) return [];
    open = undefined;
    return [{ type: 'block-stop', block }];
  }

  function show(type: 'text' | 'thinking' | 'code', text: string): StreamDelta[] {
    if (text === '') return [];
    const begun: StreamDelta[] = [];
    if (open !== type) {
      begun.push(...close(), { type: 'block-start', block: ++block, blockType: type });
      open = type;
    }
    return [...begun, { type: type === 'thinking' ? type : 'text', text, block }];
  }

  return {
    take({ candidates, responseId, modelVersion }) {
      const deltas: StreamDelta[] = isBegun ? [] : [{ type: 'start', id: responseId, model: modelVersion }];
      isBegun = true;
      candidate ??= candidates[0]?.index;
      const own = candidates.filter(({ index }) => index === candidate);
      for (const part of own.flatMap(({ parts }) => parts)) {
        if (part.kind === 'code')
          deltas.push(...show('text', textOf(splitter.finish())), ...show('code', part.markdown));
        if (part.kind !== 'text') continue;
        if (part.thought) deltas.push(...show('thinking', part.text));
        else deltas.push(...show('text', textOf(splitter.feed(part.text))));
      }
      return deltas;
    },
    end(reply, isEnded) {
      const held = show('text', textOf(splitter.finish()));
      if (!isEnded) return held;
      const stopReason = reply?.candidates[0]?.finishReason ?? reply?.blockReason;
      return [...held, ...close(), { type: 'stop', stopReason }, { type: 'end' }];
    },
  };
}

function textOf(pieces: readonly MarkdownPiece[]): string {
  return pieces.map((piece) => (piece.type === 'text' ? piece.text : '')).join('');
}
