import { GatewayError } from '../errors.ts';
import { contentPath } from '../formats/content/model.ts';
import { contentText, contentThoughts, decodeContentReply, mergeContentReplies } from '../formats/content/reply.ts';
import type { Candidate, ContentReply } from '../formats/content/types.ts';
import { looksLikeSse } from '../formats/sniff-body.ts';
import type { BlobStore } from '../images/types.ts';
import { readEvents } from '../transport/sse.ts';
import type { HttpReply } from '../transport/types.ts';
import type { Body } from '../upload.ts';
import type { Post } from './target.ts';
import { keepGoodPictures, type PictureStore } from './picture-store.ts';
import { located } from './located.ts';
import { picturesInText, pictureOf, withoutDrafts } from './pictures.ts';
import { isBare, parseReply, type ReadBody, readDiverted } from './read-json.ts';
import type { Result, ResultImage, ToolCall } from './result.ts';
import { isCutByLimit } from './verdict.ts';

/** A result, and the error that goes with it when the reply was cut, or a picture of it was bad: what came is kept. */
export interface Answer {
  result: Result;
  error: GatewayError | undefined;
}

/** The post of a content-format request (spec.md 4.1). `use` decides the form of authentication (spec.md 5). */
export function contentPost(model: string, use: 'text' | 'image', body: Body): Post {
  return { path: contentPath(model), use, body };
}

/** Reads a content-format reply to its end; pictures go to the store. Throws GatewayError. */
export async function readContent(reply: HttpReply, reading: { store: BlobStore; model: string }): Promise<Answer> {
  try {
    const { result, error } = await readWhole(reply, reading);
    return { result, error: error && located(error, reply) };
  } catch (error) {
    throw located(error, reply);
  }
}

async function readWhole(reply: HttpReply, { store, model }: { store: BlobStore; model: string }): Promise<Answer> {
  const pictures = keepGoodPictures(store);
  const body = await readDiverted(reply.body, pictures);
  const isStream = looksLikeSse(Buffer.from(body.text.slice(0, 64)));
  const { value, cut } = isStream ? await readStreamed(body, reply) : parseReply(body, reply, 'content');
  if (isBare(value) && cut) return { result: emptyResult(model), error: cut };
  const result = await contentResult(decodeContentReply(value), { store: pictures, model });
  return { result, error: cut ?? pictures.failure() };
}

/**
 * A gateway that streams though nobody asked (wire.md 6 #37): the pieces of one reply. An error in the middle ends it, and
 * what came before is kept.
 */
async function readStreamed(body: ReadBody, reply: HttpReply): Promise<{ value: unknown[]; cut?: GatewayError }> {
  const value: unknown[] = [];
  try {
    for await (const events of readEvents(once(Buffer.from(body.text)))) {
      for (const { data } of events) {
        if (data.trim() === '' || data.trim() === '[DONE]') continue;
        const parsed = parseReply({ text: data, cut: undefined }, reply, 'content');
        value.push(parsed.value);
        if (parsed.cut) throw parsed.cut;
      }
    }
  } catch (error) {
    if (!(error instanceof GatewayError) || value.length === 0) throw error;
    return { value, cut: error };
  }
  if (isEnded(value)) return { value };
  const cut = new GatewayError('incomplete', 'the stream ended without a finish reason', { sent: 'yes' });
  return { value, cut: body.cut ?? cut };
}

function isEnded(pieces: readonly unknown[]): boolean {
  const { blockReason, candidates } = mergeContentReplies(pieces);
  return blockReason !== undefined || candidates.some(({ finishReason }) => finishReason !== undefined);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** From the decoded reply to the one result shape. */
async function contentResult(
  reply: ContentReply,
  { store, model }: { store: PictureStore; model: string },
): Promise<Result> {
  const first = reply.candidates[0];
  const result = emptyResult(model);
  result.modelVersion = reply.modelVersion;
  result.responseId = reply.responseId;
  result.role = first?.role;
  result.promptFeedback = reply.promptFeedback;
  result.usage = reply.usage;
  result.stopReason = first?.finishReason ?? reply.blockReason;
  result.thinking = (first && contentThoughts(first)) || undefined;
  for (const candidate of reply.candidates) await addCandidate(result, candidate, store);
  result.images = withoutDrafts(result.images);
  result.text = result.candidates[0]?.text ?? '';
  // The JSON came whole, so the reply is; only the token limit may have cut the answer itself.
  result.complete = !isCutByLimit(result);
  return result;
}

async function addCandidate(result: Result, candidate: Candidate, store: PictureStore): Promise<void> {
  const { text, images } = await picturesInText(
    contentText(candidate),
    { candidate: candidate.index, draft: false },
    store,
  );
  const { index, finishReason, finishMessage, safetyRatings } = candidate;
  result.candidates.push({ index, text, finishReason, finishMessage, safetyRatings });
  result.images.push(...(await inlinePictures(candidate, store)), ...images);
  result.toolCalls.push(...candidate.parts.flatMap(toolCall));
}

async function inlinePictures(candidate: Candidate, store: PictureStore): Promise<ResultImage[]> {
  const images: ResultImage[] = [];
  for (const part of candidate.parts) {
    if (part.kind !== 'blob') continue;
    const image = await pictureOf(part, { candidate: candidate.index, draft: part.thought }, store);
    if (image) images.push(image);
  }
  return images;
}

function toolCall(part: Candidate['parts'][number]): ToolCall[] {
  return part.kind === 'call' ? [{ id: part.id, name: part.name, input: part.input }] : [];
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
    attempts: 1,
    durationMs: 0,
  };
}
