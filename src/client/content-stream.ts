import { GatewayError } from '../errors.ts';
import { decodeContentPieces, decodeContentReply, joinContentReplies } from '../formats/content/reply.ts';
import type { ContentPart, ContentReply } from '../formats/content/types.ts';
import { readEvents, type ServerEvent } from '../transport/sse.ts';
import type { HttpReply } from '../transport/types.ts';
import { isCut, parseReply } from './read-json.ts';

/** What came of a reply, if anything did, and the error that ended it early. */
export interface Decoded {
  decoded: ContentReply | undefined;
  cut: GatewayError | undefined;
}

/** As for a message: a document has the text several times, with escapes. */
const mostCharacters = 64 * 1024 * 1024;
/** What a part takes beside its text. */
const partCost = 64;

/**
 * Reads the pieces of a reply that a gateway streams though nobody asked (deviation 37). An error in the middle ends it,
 * and what came before is kept. Throws GatewayError when nothing came before.
 */
export async function readPieces(reply: HttpReply): Promise<Decoded> {
  const broken: { by?: GatewayError } = {};
  const pieces = createPieces(reply);
  try {
    for await (const events of readEvents(untilCut(reply.body, broken))) events.forEach(pieces.add);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (pieces.isEnded() && isCut(error)) return { decoded: pieces.decoded, cut: undefined };
    if (pieces.decoded === undefined && !isCut(error)) throw error;
    return { decoded: pieces.decoded, cut: isCut(error) ? (broken.by ?? error) : error };
  }
  if (pieces.isEnded()) return { decoded: pieces.decoded, cut: undefined };
  if (pieces.decoded === undefined && broken.by === undefined) decodeContentReply(pieces.first);
  const unended = new GatewayError('incomplete', 'the stream ended without a finish reason', { sent: 'yes' });
  return { decoded: pieces.decoded, cut: broken.by ?? unended };
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
  /** Throws GatewayError: an error in the stream's place, what is no JSON, JSON that breaks off, or more than anybody says. */
  add(event: ServerEvent): void;
  /** Whether every candidate said why it ended. */
  isEnded(): boolean;
}

function createPieces(reply: HttpReply): Pieces {
  let size = 0;
  const pieces = {
    decoded: undefined as ContentReply | undefined,
    first: undefined as unknown,
    add({ data }: ServerEvent): void {
      if (data.trim() === '' || data.trim() === '[DONE]') return;
      const { value, cut } = parseReply({ text: data, cut: undefined }, reply, 'content');
      pieces.first ??= value;
      const piece = decodeContentPieces(Array.isArray(value) ? value : [value]);
      size += piece === undefined ? 0 : sizeOf(piece);
      if (size > mostCharacters) throw tooLong();
      if (piece) pieces.decoded = pieces.decoded ? joinContentReplies(pieces.decoded, piece) : piece;
      if (cut) throw cut;
    },
    isEnded(): boolean {
      const { blockReason, candidates = [] } = pieces.decoded ?? {};
      const isEvery = candidates.length > 0 && candidates.every(({ finishReason }) => finishReason !== undefined);
      return blockReason !== undefined || isEvery;
    },
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

function tooLong(): GatewayError {
  const what = `the answer is longer than ${mostCharacters} characters`;
  return new GatewayError('bad-reply', what, { sent: 'yes', retryable: false });
}
