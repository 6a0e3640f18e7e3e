import { type JsonObject, isObject } from '../../json.ts';
import { listAt, objectAt, textAt } from '../fields/read.ts';
import type { StreamEvent, OperationStream } from '../format.ts';
import { splitWords } from '../models/tokens.ts';
import { Problem } from '../problem.ts';
import type { GatewayRequest } from '../types.ts';
import { contentError } from './errors.ts';

/** `?alt=sse` gives events with CRLF line ends, otherwise the pieces are a JSON list, as the public service has it. */
export const contentStream: OperationStream = {
  contentType: (request) => (isSse(request) ? 'text/event-stream' : 'application/json; charset=UTF-8'),
  events: replyPieces,
  encode({ data }, index, request) {
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    if (isSse(request)) return `data: ${text}\r\n\r\n`;
    return (index === 0 ? '[' : ',\r\n') + text;
  },
  end: (request) => (isSse(request) ? '' : ']'),
  failure: {
    data: contentError(new Problem(503, 'The model is overloaded. Please try again later.')),
    step: 'end',
  },
  broken: { data: '{"candidates":[{"content":{oops', step: 'delta' },
};

function isSse({ query }: GatewayRequest): boolean {
  return query.get('alt') === 'sse';
}

/**
 * Splits a whole reply into the pieces of a stream: the text by words, everything else in one piece each; only the last
 * piece of a candidate has its finish reason, only the last of all the final usage.
 */
function* replyPieces(reply: JsonObject): Generator<StreamEvent> {
  const { candidates, usageMetadata, ...rest } = reply;
  const list = Array.isArray(candidates) ? candidates : [];
  const pieces = list.filter(isObject).flatMap(candidatePieces);
  if (pieces.length === 0) return yield { data: reply, step: 'end' };
  for (const [index, piece] of pieces.entries()) {
    const last = index === pieces.length - 1;
    const data = { candidates: [piece], ...(last && usageMetadata !== undefined && { usageMetadata }), ...rest };
    yield { data, step: last ? 'end' : 'delta', waits: index > 0 };
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
