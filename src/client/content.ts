import { GatewayError } from '../errors.ts';
import { contentPath } from '../formats/content/request.ts';
import { contentMarkdown, contentText, contentThoughts, decodeContentReply } from '../formats/content/reply.ts';
import type { JoinedCall } from '../formats/content/streamed-call.ts';
import type { Candidate, ContentReply } from '../formats/content/types.ts';
import type { StreamDelta } from '../formats/messages/types.ts';
import { quote } from '../formats/quote.ts';
import { looksLikeSse, located, peek, isBare, isCut, readDiverted, readPlain } from './read-body.ts';
import type { BlobStore } from '../images/types.ts';
import type { HttpReply } from '../transport/types.ts';
import type { Body } from '../upload.ts';
import type { Post } from './connection.ts';
import { createWatch, type Watch } from './deadline.ts';
import { keepGoodPictures, type PictureStore, type ReplyBounds } from './picture-store.ts';
import type { Decoded } from './content-stream.ts';
import { doubtsOfModel, type Result, type ResultImage } from './result.ts';
import { endedWell } from './verdict.ts';

/** A result, and the error that goes with it when the reply was cut, or a picture of it was bad: what came is kept. */
export interface Answer {
  result: Result;
  error: GatewayError | undefined;
}

/** What was read of a reply. With an error it is not complete, whatever it said of itself. */
export function answerOf(result: Result, error: GatewayError | undefined): Answer {
  if (error !== undefined) result.complete = false;
  return { result, error };
}

/** The post of a content-format request. `use` decides the form of authentication. */
export function contentPost(model: string, use: 'text' | 'image', body: Body): Post {
  return { path: contentPath(model), use, body };
}

/** The post of a text request whose reply is streamed. A gateway need not have this operation. */
export function streamedContentPost(model: string, body: Body): Post {
  const path = contentPath(model, 'streamGenerateContent');
  return { path, query: 'alt=sse', use: 'text', body, accept: 'text/event-stream', streamsContent: true };
}

/** Where the pictures of a reply go, and what was asked for. */
export interface ContentReading extends ReplyBounds {
  store: BlobStore;
  model: string;
  /** Candidates that were asked for; 1 by default. */
  candidates?: number | undefined;
}

/** So many candidates are read beside those that were asked for. */
const moreCandidates = 64;

/**
 * Reads a content-format reply to its end; pictures go to the store. Throws GatewayError, and the reason of the caller's
 * abort. An answer that came, but took too long to look through, has the error that says so.
 */
export async function readContent(reply: HttpReply, reading: ContentReading): Promise<Answer> {
  const deltas = readStreamedContent(reply, reading);
  for (;;) {
    const next = await deltas.next();
    if (next.done) return next.value;
  }
}

/**
 * The same, streamed or not, whatever was asked for. Yields the deltas of one arriving chunk together; text comes without
 * the Base64 of pictures.
 */
export async function* readStreamedContent(
  reply: HttpReply,
  reading: ContentReading,
): AsyncGenerator<StreamDelta[], Answer> {
  try {
    const { result, error } = yield* readBody(reply, reading);
    return { result, error: error && located(error, reply) };
  } catch (error) {
    throw located(error, reply);
  }
}

async function* readBody(reply: HttpReply, reading: ContentReading): AsyncGenerator<StreamDelta[], Answer> {
  const { store, model, endOf, candidates = 1 } = reading;
  const pictures = keepGoodPictures(store, reading);
  // From here on: to parse and decode a large reply takes long, too.
  const watch = createWatch(endOf);
  const { decoded, cut, isStreamed } = yield* decodeBody(reply, pictures);
  if (decoded === undefined) return { result: emptyResult(model), error: cut };
  const most = candidates + moreCandidates;
  const found = decoded.candidates.length;
  decoded.candidates.splice(most);
  const calls = await callsOf(decoded);
  const { result, late } = await contentResult(decoded, { store: pictures, model, calls, watch });
  if (!isStreamed && result.text !== '') yield [{ type: 'text', text: result.text, block: 0 }];
  if (found > most) {
    result.warnings.push(`the reply has ${found} candidates; the first ${most} are read`);
    result.complete = false;
  }
  return answerOf(result, cut ?? pictures.failure() ?? late ?? (result.complete ? partOfCall(calls) : undefined));
}

async function* decodeBody(
  reply: HttpReply,
  pictures: PictureStore,
): AsyncGenerator<StreamDelta[], Decoded & { isStreamed?: true }> {
  const begun = await peek(reply.body).catch((error: unknown) => {
    if (isCut(error)) return { cut: error };
    throw error;
  });
  if ('cut' in begun) return { decoded: undefined, ...begun };
  const { head, chunks } = begun;
  if (looksLikeSse(head)) {
    const { readPieces } = await import('./content-stream.ts');
    return { ...(yield* readPieces({ ...reply, body: chunks }, pictures)), isStreamed: true };
  }
  const body = await readDiverted(chunks, pictures);
  const { value, cut } = readPlain(body) ?? (await import('./parse-reply.ts')).parseReply(body, reply, 'content');
  if (Array.isArray(value) && !cut) return (await import('./content-stream.ts')).readPieceList(value);
  return { decoded: isBare(value) && cut ? undefined : decodeContentReply(value), cut };
}

async function callsOf({ candidates }: ContentReply): Promise<JoinedCall[]> {
  if (!candidates.some(({ parts }) => parts.some(({ kind }) => kind === 'call' || kind === 'call-piece'))) return [];
  const { joinCalls } = await import('../formats/content/streamed-call.ts');
  return candidates.flatMap(({ parts }) => joinCalls(parts));
}

/** A reply that ended well may lack arguments of a call that it streamed. */
function partOfCall(calls: readonly JoinedCall[]): GatewayError | undefined {
  const part = calls.find(({ isWhole }) => !isWhole);
  if (part === undefined) return undefined;
  const name = quote(part.name, 60) || 'without a name';
  return new GatewayError('incomplete', `the call ${name} is not whole: its streamed arguments do not end`, {
    sent: 'yes',
    retryable: false,
  });
}

interface Resulting {
  store: PictureStore;
  model: string;
  calls: readonly JoinedCall[];
  watch: Watch;
}

/** From the decoded reply to the one result shape. */
async function contentResult(
  reply: ContentReply,
  { store, model, calls, watch }: Resulting,
): Promise<{ result: Result; late: GatewayError | undefined }> {
  let late: GatewayError | undefined;
  const first = reply.candidates[0];
  const result = emptyResult(model);
  result.modelVersion = reply.modelVersion;
  result.serviceTier = reply.serviceTier;
  result.responseId = reply.responseId;
  result.role = first?.role;
  result.promptFeedback = reply.promptFeedback;
  result.usage = reply.usage;
  result.stopReason = first?.finishReason ?? reply.blockReason;
  result.thinking = (first && contentThoughts(first)) || undefined;
  for (const candidate of reply.candidates) {
    late = await watch();
    await addCandidate(result, candidate, store);
  }
  result.toolCalls = calls.map(({ id, name, input }) => ({ id, name, input }));
  result.images = withoutDrafts(result.images);
  result.text = result.candidates[0]?.text ?? '';
  result.warnings.push(...doubtsOfModel(result));
  result.complete = endedWell(result);
  return { result, late };
}

async function addCandidate(result: Result, candidate: Candidate, store: PictureStore): Promise<void> {
  const plain = contentText(candidate);
  const isPlain = !plain.includes('data:') && candidate.parts.every(({ kind }) => kind !== 'blob');
  const { text, images, files } = isPlain
    ? { text: plain, images: [], files: [] }
    : await (await import('./pictures.ts')).readPictures(candidate, store);
  const { index, finishReason, finishMessage, safetyRatings } = candidate;
  let markdown = contentMarkdown(candidate);
  if (markdown?.includes('data:')) markdown = (await import('../images/markdown.ts')).extractDataUrls(markdown).text;
  result.candidates.push({
    index,
    text,
    ...(markdown !== undefined && { markdown }),
    finishReason,
    finishMessage,
    safetyRatings,
  });
  result.images.push(...images);
  if (files.length > 0) (result.files ??= []).push(...files);
}

/** Drafts are kept only where a reply has no other picture; then the last of them. */
function withoutDrafts(images: readonly ResultImage[]): ResultImage[] {
  const finals = images.filter((image) => !image.draft);
  return finals.length > 0 ? finals : images.slice(-1);
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

/** All that came as bytes, in the order in which it is written. */
export function blobsOf({ images, files = [] }: Pick<Result, 'images' | 'files'>): ResultImage[] {
  return [...images, ...files];
}
