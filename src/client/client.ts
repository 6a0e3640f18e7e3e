import { monotonic } from '../clock.ts';
import { encodeContentRequest } from '../formats/content/request.ts';
import type { ContentInput } from '../formats/content/types.ts';
import { encodeMessagesRequest } from '../formats/messages/request.ts';
import type { MessagesInput, StreamDelta } from '../formats/messages/types.ts';
import type {
  CallOptions,
  Client,
  ClientOptions,
  ContentRequest,
  FilePicture,
  FolderOptions,
  MessagesRequest,
  Picture,
  Reply,
  MemoryPicture,
  MessageStream,
} from './client-types.ts';
import { createSender, type Sender } from './connection.ts';
import { type Deadline, endOf } from './deadline.ts';
import { contentPost, streamedContentPost } from './content.ts';
import { folderSink, memorySink, type PictureSink } from './picture-sink.ts';
import { openMedia } from './media.ts';
import { messagesPost } from './messages.ts';
import { perform, type Performed } from './perform.ts';
import { ResponseError } from './response-error.ts';
import { verdictOf } from './verdict.ts';
import { usageError, GatewayError } from '../errors.ts';
import { isAspect } from '../images/aspect.ts';

/**
 * A client of one gateway. Nothing is connected or read yet, and nothing is shared with other clients.
 * Throws GatewayError usage for a base URL that is none.
 */
export function createClient(options: ClientOptions): Client {
  const sender = createSender(options);
  function generateImages(request: ContentRequest, call: FolderOptions): Promise<Reply<FilePicture>>;
  function generateImages(request: ContentRequest, call?: CallOptions): Promise<Reply>;
  async function generateImages(
    request: ContentRequest,
    call: CallOptions & { folder?: string } = {},
  ): Promise<Reply<FilePicture> | Reply> {
    const asked = { sender, use: 'image', request, call, stream: false } as const;
    if (call.folder === undefined) return replyTo(askContent(asked, memorySink()));
    return replyTo(askContent(asked, await folderSink(call.folder)));
  }
  return {
    generateContent: (request, call = {}) =>
      replyTo(askContent({ sender, use: 'text', request, call, stream: false }, memorySink())),
    streamContent: (request, call = {}) =>
      openStream(askContent({ sender, use: 'text', request, call, stream: true }, memorySink()), call.signal),
    generateImages,
    messages: (request, call = {}) => replyTo(askMessages({ sender, request, call, stream: undefined })),
    streamMessages: (request, call = {}) =>
      openStream(askMessages({ sender, request, call, stream: true }), call.signal),
    close: () => sender.close(),
  };
}

/** The reply alone. */
async function replyTo<Answered>(asking: AsyncGenerator<StreamDelta, Answered>): Promise<Answered> {
  for (;;) {
    const next = await asking.next();
    if (next.done) return next.value;
  }
}

function requireAspect(aspect: string | undefined): void {
  if (aspect === undefined || isAspect(aspect)) return;
  throw usageError(`aspect takes width:height, not ${JSON.stringify(aspect)}`, 'for example: 16:9');
}

interface Asked<Request> {
  sender: Sender;
  request: Request;
  call: CallOptions;
}

async function* askContent<Image extends Picture>(
  { sender, use, request, call, stream }: Asked<ContentRequest> & { use: 'text' | 'image'; stream: boolean },
  sink: PictureSink<Image>,
): AsyncGenerator<StreamDelta, Reply<Image>> {
  requireAspect(request.aspect);
  const started = monotonic();
  const deadline = sender.startDeadline(call);
  const { media, model, ...fields } = request;
  const opened = await openMedia(media);
  try {
    const body = encodeContentRequest({ ...(fields as ContentInput), inline: opened.inline });
    const post = stream ? streamedContentPost(model, body) : contentPost(model, use, body);
    const options = { deadline, onRetry: call.onRetry, store: sink.store };
    const deltas = perform({ post, model, candidates: fields.candidates }, sender, options);
    const answer = yield* flatten(deltas, { call, deadline });
    return await replyOf(answer, { sink, started, image: use === 'image', call, deadline });
  } finally {
    deadline.end();
    await opened.cleanup();
    await sink.store.discard();
  }
}

async function* askMessages({
  sender,
  request,
  call,
  stream,
}: Asked<MessagesRequest> & { stream: true | undefined }): AsyncGenerator<StreamDelta, Reply> {
  const started = monotonic();
  const deadline = sender.startDeadline(call);
  const { media, ...fields } = request;
  const sink = memorySink();
  const opened = await openMedia(media);
  try {
    const body = encodeMessagesRequest({ ...(fields as MessagesInput), stream, inline: opened.inline });
    const options = { deadline, onRetry: call.onRetry, store: sink.store };
    const deltas = perform({ post: messagesPost(body), model: request.model }, sender, options);
    const answer = yield* flatten(deltas, { call, deadline });
    return await replyOf(answer, { sink, started, image: false, call, deadline });
  } finally {
    deadline.end();
    await opened.cleanup();
    await sink.store.discard();
  }
}

/** Deltas may lie here already: an abort ends them at once, and when time is up the reply is read without them. */
async function* flatten(
  deltas: AsyncGenerator<StreamDelta[], Performed>,
  { call, deadline }: Pick<ReplyParts<never>, 'call' | 'deadline'>,
): AsyncGenerator<StreamDelta, Performed> {
  try {
    for (;;) {
      const next = await deltas.next();
      if (next.done) return next.value;
      for (const delta of next.value) {
        call.signal?.throwIfAborted();
        if (!deadline.signal.aborted) yield delta;
      }
    }
  } finally {
    await deltas.return(undefined as never);
  }
}

interface ReplyParts<Image extends Picture> {
  sink: PictureSink<Image>;
  started: number;
  /** Whether a picture was asked for. */
  image: boolean;
  call: CallOptions;
  deadline: Deadline;
}

/** The reply, or the error that it means. */
async function replyOf<Image extends Picture>(
  { result, error, attempts }: Performed,
  { sink, started, image, call, deadline }: ReplyParts<Image>,
): Promise<Reply<Image>> {
  const kept = await sink.keep(result, deadline.signal);
  call.signal?.throwIfAborted();
  const durationMs = Math.round(monotonic() - started);
  const reply = { ...kept, attempts, durationMs };
  const verdict = verdictOf(
    { result, error: error ?? endOf(deadline) },
    { images: image ? 1 : 0, requireComplete: call.requireComplete === true },
  );
  if (verdict.error) throw new ResponseError(verdict.error, reply);
  if (verdict.doubt) reply.warnings.push(verdict.doubt.message);
  return reply;
}

/** What a generator returns or throws is kept for `reply`; its deltas go to whoever loops. */
function openStream(
  asking: AsyncGenerator<StreamDelta, Reply<MemoryPicture>>,
  signal: AbortSignal | undefined,
): MessageStream {
  let outcome: { reply: Reply } | { error: unknown } | undefined;
  async function next(): Promise<IteratorResult<StreamDelta, undefined>> {
    try {
      const step = await asking.next();
      if (!step.done) return step;
      outcome ??= step.value === undefined ? undefined : { reply: step.value };
      return { done: true, value: undefined };
    } catch (error) {
      outcome ??= { error };
      throw error;
    }
  }
  async function leave(): Promise<IteratorResult<StreamDelta, undefined>> {
    await asking.return(undefined as never);
    return { done: true, value: undefined };
  }
  return {
    [Symbol.asyncIterator]: () => ({ next, return: leave }),
    async reply() {
      while (outcome === undefined) if ((await next()).done) break;
      if (outcome === undefined) signal?.throwIfAborted();
      if (outcome === undefined) throw new GatewayError('incomplete', 'the stream was left before its end');
      if ('error' in outcome) throw outcome.error;
      return outcome.reply;
    },
  };
}
