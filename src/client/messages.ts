import { GatewayError } from '../errors.ts';
import { closeCutJson } from '../formats/cut-json.ts';
import { createMessageAssembler, type MessageAssembler } from '../formats/messages/events.ts';
import { decodeMessage, replayableContent } from '../formats/messages/reply.ts';
import { readTextRun, type TextRun } from '../formats/messages/block-stream.ts';
import type { MessageReply, StreamDelta, Block } from '../formats/messages/types.ts';
import { looksLikeSse, located, peek, isBare, readDiverted } from './read-body.ts';
import { parseReply } from './parse-reply.ts';
import type { BlobStore } from '../images/types.ts';
import { divertBase64 } from '../scan/json-scan.ts';
import { readEvents, type ServerEvent } from '../transport/sse.ts';
import type { HttpReply } from '../transport/types.ts';
import type { Body } from '../upload.ts';
import type { Post } from './connection.ts';
import { type Answer, answerOf, emptyResult } from './content.ts';
import { keepGoodPictures, type PictureStore, type ReplyBounds } from './picture-store.ts';
import { blobOf, isPicture, picturesInText } from './pictures.ts';
import { readWhilePatient } from './deadline.ts';
import { createTextCleaner, type TextCleaner } from './text-cleaner.ts';
import { doubtsOfModel, type Result, type ResultImage } from './result.ts';
import { endedWell } from './verdict.ts';

/** Where the pictures of a reply go, and the model that was asked for. */
export interface ReadingOptions extends ReplyBounds {
  store: BlobStore;
  model: string;
  /** Text deltas of one block that arrive together may be one: for readers that join them anyway. */
  joined?: true | undefined;
  /** How long the body's end is waited for, in ms: after a stop reason, and after message_stop (deviation 24). */
  patience?: { stopped: number; ended: number } | undefined;
}

/** After message_stop the end of the body is only good for using the connection again. */
const defaultPatience = { stopped: 5000, ended: 200 };

/** The post of a messages-format request. */
export function messagesPost(body: Body): Post {
  return {
    path: '/v1/messages',
    use: 'messages',
    body,
    ...(body['stream'] === true && { accept: 'text/event-stream' }),
  };
}

/**
 * Reads a messages-format reply, streamed or not, whatever was asked for (deviations 37, 38). Yields the deltas of one
 * arriving chunk together; text comes without the Base64 of pictures. The answer is what the generator returns: also
 * after a cut or an error event, so that what came is kept. Throws GatewayError when there is no answer at all.
 */
export async function* readMessage(reply: HttpReply, options: ReadingOptions): AsyncGenerator<StreamDelta[], Answer> {
  const { head, chunks } = await peek(reply.body);
  const store = keepGoodPictures(options.store, options);
  if (looksLikeSse(head)) return yield* readStream({ ...reply, body: chunks }, { ...options, store });
  const answer = await readWhole({ ...reply, body: chunks }, { store, model: options.model }).catch(
    (error: unknown) => {
      throw located(error, reply);
    },
  );
  if (answer.result.text !== '') yield [{ type: 'text', text: answer.result.text, block: 0 }];
  return { ...answer, error: answer.error && located(answer.error, reply) };
}

/** The same, read to its end. */
export async function readWholeMessage(reply: HttpReply, options: ReadingOptions): Promise<Answer> {
  const deltas = readMessage(reply, { ...options, joined: true });
  for (;;) {
    const next = await deltas.next();
    if (next.done) return next.value;
  }
}

async function readWhole(reply: HttpReply, { store, model }: { store: PictureStore; model: string }): Promise<Answer> {
  const { value, cut } = parseReply(await readDiverted(reply.body, store), reply, 'messages');
  if (isBare(value) && cut) return { result: emptyResult(model), error: cut };
  const message = { ...decodeMessage(value), complete: cut === undefined };
  const result = await messageResult(message, { store, model });
  return answerOf(result, cut ?? store.failure());
}

interface StreamOptions extends Omit<ReadingOptions, 'store'> {
  store: PictureStore;
}

async function* readStream(reply: HttpReply, options: StreamOptions): AsyncGenerator<StreamDelta[], Answer> {
  const cleaner = createTextCleaner(options.store);
  const assembler = createMessageAssembler({ filter: cleaner });
  const { stopped, ended } = options.patience ?? defaultPatience;
  let isEnded = false;
  const patience = () => (isEnded ? ended : assembler.complete ? stopped : undefined);
  const body = divertBase64(readWhilePatient(reply.body, patience), options.store, { mode: 'sse' });
  const most = options.joined ? Infinity : 1;
  const shortcut = (text: string, at: number) => readTextRun(text, at, most);
  let error: GatewayError | undefined;
  try {
    for await (const events of readEvents(body, { shortcut })) {
      if (isEnded) continue;
      const deltas: StreamDelta[] = [];
      try {
        for (const event of events) deltas.push(...feedEvent(assembler, event));
      } finally {
        if (deltas.length > 0) yield deltas;
      }
      await cleaner.store();
      isEnded = deltas.some((delta) => delta.type === 'end');
    }
  } catch (thrown) {
    const kept = keepable(thrown);
    // What follows the end of the message says nothing.
    if (!isEnded) error = kept;
  }
  const rest = assembler.flush();
  if (rest.length > 0) yield rest;
  await cleaner.store();
  const answer = await finishStream(assembler.finish(), { cleaner, error, options });
  return { ...answer, error: answer.error && located(answer.error, reply) };
}

/** An event that the body's end left without its blank line is whole, cut or wrong: a cut one says nothing (deviation 33). */
function feedEvent(assembler: MessageAssembler, event: ServerEvent | TextRun): StreamDelta[] {
  try {
    return assembler.feed(event);
  } catch (error) {
    if ('unterminated' in event && isCutData(event.data.trim())) return [];
    throw error;
  }
}

function isCutData(data: string): boolean {
  return '[DONE]'.startsWith(data) || closeCutJson(data)?.isWrong === false;
}

/** Failures of the reply itself leave what came; our own (disk full, abort by the user) are thrown on. */
function keepable(thrown: unknown): GatewayError {
  const kept = ['incomplete', 'bad-reply', 'gateway', 'quota', 'auth', 'rejected', 'no-result'];
  if (thrown instanceof GatewayError && kept.includes(thrown.class)) return thrown;
  throw thrown;
}

async function finishStream(
  message: MessageReply,
  { cleaner, error, options }: { cleaner: TextCleaner; error: GatewayError | undefined; options: StreamOptions },
): Promise<Answer> {
  const result = await messageResult(message, { ...options, images: cleaner.images });
  if (error && !(message.complete && error.class === 'incomplete')) return answerOf(result, error);
  if (message.complete) return answerOf(result, options.store.failure());
  const nothing = message.id === undefined && message.blocks.length === 0;
  const missing = nothing
    ? new GatewayError('bad-reply', 'the stream held no message', { sent: 'yes', retryable: false })
    : new GatewayError('incomplete', 'the stream ended without its end marker', { sent: 'yes', retryable: false });
  return answerOf(result, missing);
}

/** From a messages reply to the one result shape. Pictures of streamed text were already taken out of it: `images`. */
async function messageResult(
  message: MessageReply,
  { store, model, images }: { store: PictureStore; model: string; images?: readonly ResultImage[] },
): Promise<Result> {
  const result = emptyResult(model);
  result.modelVersion = message.model;
  result.serviceTier = message.serviceTier;
  result.responseId = message.id;
  result.role = message.role;
  result.stopReason = message.stopReason;
  result.stopSequence = message.stopSequence;
  result.stopDetails = message.stopDetails;
  result.usage = message.usage;
  result.content = replayableContent(message);
  for (const block of message.blocks) await addBlock(result, block, { store, streamed: images !== undefined });
  result.images.push(...(images ?? []));
  result.candidates = [{ index: 0, text: result.text, finishReason: message.stopReason }];
  result.warnings.push(...doubtsOfModel(result));
  result.complete = message.complete && endedWell(result);
  return result;
}

const place = { candidate: 0, draft: false };

async function addBlock(
  result: Result,
  block: Block,
  { store, streamed }: { store: PictureStore; streamed: boolean },
): Promise<void> {
  if (block.kind === 'call') result.toolCalls.push({ id: block.id, name: block.name, input: block.input });
  else if (block.kind === 'thinking') result.thinking = (result.thinking ?? '') + block.text;
  else if (block.kind === 'blob') {
    const blob = await blobOf(block, place, store);
    if (blob) (isPicture(blob) ? result.images : (result.files ??= [])).push(blob);
  } else if (block.kind === 'text') {
    const { text, images } = await picturesInText(block.text, place, store);
    result.text += text;
    if (!streamed) result.images.push(...images);
  }
}
