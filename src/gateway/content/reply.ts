import { isObject, type JsonObject, toSnakeCase } from '../../library/index.ts';
import { type ModelAnswer, type AnswerPart, type Candidate, sealThoughts, splitForStream } from '../models/task.ts';
import { listAt, textAt } from '../fields/read.ts';
import type { StreamEvent, OperationStream, GatewayRequest, ModelRequest, Path } from '../types.ts';
import { Problem } from '../problem.ts';
import { type Breach, pathText } from '../fields/rule.ts';

/** RPC name of an HTTP status. */
const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  413: 'Request Entity Too Large',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  529: 'UNAVAILABLE',
};

/** The error body of the content format; a stream that breaks off ends with it. */
export function contentError({ status: code, message, extra }: Problem): JsonObject {
  const status = extra.status ?? statuses[code] ?? (code < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
  return { error: { code, message, status, ...(extra.details && { details: extra.details }) } };
}

/** The 400 reply that names the field. */
export function contentViolation(path: Path, breach: Breach): Problem {
  const description = describeBreach(path, breach);
  const field = spellPath(path);
  const fieldViolations = [{ ...(field !== '' && { field }), description }];
  const details = [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }];
  return new Problem(400, description, { details });
}

function describeBreach(path: Path, breach: Breach): string {
  const at = spellPath(path);
  switch (breach.kind) {
    case 'unknown': {
      const where = at === '' ? '' : ` at '${at}'`;
      return `Invalid JSON payload received. Unknown name "${breach.name}"${where}: Cannot find field.`;
    }
    case 'missing':
      return `* GenerateContentRequest.${at}: ${String(path.at(-1))} is not specified`;
    case 'type': {
      const value = JSON.stringify(breach.value);
      const shown = value.length > 100 ? `${value.slice(0, 100)}…` : value;
      return `Invalid value at '${at}' (${breach.expected}), ${shown}`;
    }
    default:
      return `* GenerateContentRequest.${at}: ${breach.text}`;
  }
}

/** `generation_config.image_config.aspect_ratio`, `contents[0].parts[1].inline_data`: names in the spelling of the public service. */
function spellPath(path: Path): string {
  return toSnakeCase(pathText(path));
}

/** A reply of the content format: one candidate for each answer. */
export function contentReply(
  { model, id, candidates, blocked, bare, tokens, drawn }: ModelAnswer,
  { tier, asked = '' }: ModelRequest,
): JsonObject {
  const signature = signingModels.test(asked) ? sealThoughts(id) : undefined;
  const answered: JsonObject = blocked
    ? { promptFeedback: { blockReason: 'SAFETY', safetyRatings: [danger] } }
    : { candidates: candidates.map((candidate, index) => encodeCandidate(candidate, index, signature)) };
  const usageMetadata = { ...encodeUsage(tokens, drawn), ...(tier !== undefined && { serviceTier: tier }) };
  return bare ? answered : { ...answered, usageMetadata, modelVersion: model, responseId: id };
}

/** Models whose calls carry a signature, which they want back. */
const signingModels = /^gemini-(?:[3-9]|\d\d|.*-latest$)/;

const danger: JsonObject = { category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true };

function encodeUsage({ input, thinking, answer }: ModelAnswer['tokens'], drawn: boolean): JsonObject {
  return {
    promptTokenCount: input,
    candidatesTokenCount: answer,
    ...(thinking > 0 && { thoughtsTokenCount: thinking }),
    totalTokenCount: input + answer + thinking,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
    candidatesTokensDetails: [{ modality: drawn ? 'IMAGE' : 'TEXT', tokenCount: answer }],
  };
}

const finishReasons: Readonly<Record<Candidate['ended'], string>> = {
  end: 'STOP',
  'stop-sequence': 'STOP',
  call: 'STOP',
  'max-tokens': 'MAX_TOKENS',
  refused: 'SAFETY',
  'no-image': 'NO_IMAGE',
};

/** A token limit that leaves nothing to say gives a candidate without parts, as the public service does. */
function encodeCandidate(candidate: Candidate, index: number, signature: string | undefined): JsonObject {
  const { thinking, calls = [], ended } = candidate;
  const finishReason = finishReasons[ended];
  if (ended === 'refused') return { index, finishReason, safetyRatings: [danger] };
  const parts: JsonObject[] = [
    ...(thinking ? [{ text: thinking, thought: true }] : []),
    ...calls.map(({ name, input }) => ({
      functionCall: { name, args: input },
      ...(signature !== undefined && { thoughtSignature: signature }),
    })),
    ...candidate.parts.map(encodePart),
  ];
  const content: JsonObject = parts.length > 0 ? { parts, role: 'model' } : { role: 'model' };
  return { content, finishReason, index };
}

function encodePart(part: AnswerPart): JsonObject {
  if (part.text !== undefined) return { text: part.text };
  const { mimeType, data, isDraft } = part.image;
  return { inlineData: { mimeType, data }, ...(isDraft && { thought: true }) };
}

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
 * Splits a whole reply into the pieces of a stream: the text by some words, everything else in one piece each. The last piece of a
 * candidate has its finish reason, and the last of all has the usage.
 */
function* replyPieces(reply: JsonObject, request: ModelRequest): Generator<StreamEvent> {
  const { candidates, usageMetadata, ...rest } = reply;
  const list = (Array.isArray(candidates) ? candidates : []).filter(isObject);
  if (list.length === 0) return yield { data: reply, step: 'end' };
  let waits = false;
  for (const [index, candidate] of list.entries()) {
    const { content, index: place = 0, ...ending } = candidate;
    const parts = splitParts(listAt(content, 'parts').filter(isObject), request);
    const last = parts.pop();
    for (const part of parts) {
      yield { data: { candidates: [{ ...toPiece(part), index: place }], ...rest }, step: 'delta', waits };
      waits = true;
    }
    const piece = {
      ...(last ? toPiece(last) : content !== undefined && { content }),
      ...ending,
      index: place,
    };
    const isLast = index === list.length - 1;
    const data = { candidates: [piece], ...(isLast && usageMetadata !== undefined && { usageMetadata }), ...rest };
    yield { data, step: isLast ? 'end' : 'delta', waits };
    waits = true;
  }
}

function toPiece(part: JsonObject): JsonObject {
  return { content: { parts: [part], role: 'model' } };
}

function splitParts(parts: readonly JsonObject[], request: ModelRequest): JsonObject[] {
  return parts.flatMap((part) => {
    const text = textAt(part, 'text');
    return text ? splitForStream(text, request).map((word) => ({ ...part, text: word })) : [part];
  });
}
