import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import { listAt, objectAt, textAt } from '../fields/read.ts';
import { splitWords } from '../models/tokens.ts';

/**
 * Splits a whole reply into the pieces of a stream: the text by words, everything else in one piece each; only the last
 * piece of a candidate has its finish reason, only the last of all the final usage.
 */
export function* replyPieces(reply: JsonObject): Generator<JsonObject> {
  const { candidates, usageMetadata, ...rest } = reply;
  const list = Array.isArray(candidates) ? candidates : [];
  const pieces = list.filter(isObject).flatMap(candidatePieces);
  if (pieces.length === 0) return yield reply;
  for (const [index, piece] of pieces.entries()) {
    const last = index === pieces.length - 1;
    yield { candidates: [piece], ...(last && usageMetadata !== undefined && { usageMetadata }), ...rest };
  }
}

function candidatePieces(candidate: JsonObject): JsonObject[] {
  const parts = listAt(objectAt(candidate, 'content'), 'parts').filter(isObject).flatMap(partPieces);
  const { content, finishReason, safetyRatings, ...rest } = candidate;
  const end = {
    ...(finishReason !== undefined && { finishReason }),
    ...(safetyRatings !== undefined && { safetyRatings }),
  };
  if (parts.length === 0) return [{ ...(content !== undefined && { content }), ...end, ...rest }];
  return parts.map((part, index) => ({
    content: { parts: [part], role: 'model' },
    ...(index === parts.length - 1 && end),
    ...rest,
  }));
}

function partPieces(part: JsonObject): JsonObject[] {
  const text = textAt(part, 'text');
  if (text === undefined || text === '') return [part];
  return splitWords(text).map((word) => ({ ...part, text: word }));
}
