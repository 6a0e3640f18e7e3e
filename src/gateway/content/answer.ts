import { type JsonObject, isObject } from '../../json.ts';
import type { Draft } from '../models/task.ts';
import { countInput, draftAnswer } from '../models/text.ts';
import type { ContentRequest } from './request.ts';
import { listAt, objectAt, textAt } from '../fields/read.ts';
import { splitWords } from '../models/tokens.ts';

/** A picture that a model made. */
export interface MadePicture {
  mimeType: string;
  bytes: Uint8Array;
  /** What the model says of it. */
  caption: string;
  /** Output tokens it is counted as. */
  tokens: number;
}

/** What names a reply: the model that answered, and an id that depends on the request alone. */
export interface ReplyName {
  model: string;
  id: string;
}

/** The reply of a text model: one candidate for each that was asked for. */
export function textReply({ task, candidates }: ContentRequest, name: ReplyName): JsonObject {
  const drafts = Array.from({ length: candidates }, (_, index) => draftAnswer(task, index));
  const thoughts = sum(drafts.map(({ usage }) => usage.thinking));
  const answer = sum(drafts.map(({ usage }) => usage.answer));
  return finishReply(drafts.map(textCandidate), name, { prompt: countInput(task), answer, thoughts, modality: 'TEXT' });
}

/** The reply of an image model: each candidate says what the picture is, then holds it. */
export function imageReply(request: ContentRequest, pictures: readonly MadePicture[], name: ReplyName): JsonObject {
  const silent = request.modalities.length > 0 && !request.modalities.includes('TEXT');
  const candidates = pictures.map(({ mimeType, bytes, caption }, index) => {
    const inlineData = { mimeType, data: base64(bytes) };
    const parts = silent ? [{ inlineData }] : [{ text: caption }, { inlineData }];
    return { content: { parts, role: 'model' }, finishReason: 'STOP', index, safetyRatings: [...harmless] };
  });
  const answer = sum(pictures.map(({ tokens }) => tokens));
  return finishReply(candidates, name, { prompt: countInput(request.task), answer, thoughts: 0, modality: 'IMAGE' });
}

interface Counts {
  prompt: number;
  answer: number;
  thoughts: number;
  modality: 'TEXT' | 'IMAGE';
}

const harmless: readonly JsonObject[] = ['HARASSMENT', 'HATE_SPEECH', 'SEXUALLY_EXPLICIT', 'DANGEROUS_CONTENT'].map(
  (harm) => ({
    category: `HARM_CATEGORY_${harm}`,
    probability: 'NEGLIGIBLE',
  }),
);

function finishReply(candidates: JsonObject[], { model, id }: ReplyName, counts: Counts): JsonObject {
  const { prompt, answer, thoughts, modality } = counts;
  return {
    candidates,
    usageMetadata: {
      promptTokenCount: prompt,
      candidatesTokenCount: answer,
      ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
      totalTokenCount: prompt + answer + thoughts,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
      candidatesTokensDetails: [{ modality, tokenCount: answer }],
    },
    modelVersion: model,
    responseId: id,
  };
}

/** A token limit that leaves nothing to say gives a candidate without parts, as the public service does. */
function textCandidate(draft: Draft, index: number): JsonObject {
  const parts: JsonObject[] = [];
  if (draft.thinking !== '') parts.push({ text: draft.thinking, thought: true });
  if (draft.call) parts.push({ functionCall: { name: draft.call.name, args: draft.call.input } });
  if (draft.text !== '') parts.push({ text: draft.text });
  const content: JsonObject = parts.length > 0 ? { parts, role: 'model' } : { role: 'model' };
  const finishReason = draft.ended === 'max-tokens' ? 'MAX_TOKENS' : 'STOP';
  return { content, finishReason, index, safetyRatings: [...harmless] };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

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
