import { hintOf } from '../advice.ts';
import { monotonic } from '../clock.ts';
import { type Certainty, GatewayError, isGatewayError, type RetryNotice, usageError } from '../errors.ts';
import { type Ask, readTurns } from '../formats/ask.ts';
import type { StreamDelta } from '../formats/events.ts';
import { loadFormat, postOf } from '../formats/format.ts';
import type { JsonValue } from '../json.ts';
import { isAspect } from '../images/aspect.ts';
import { quirksOf, services, type Use } from '../services.ts';
import type {
  AskRequest,
  CallOptions,
  Client,
  ClientOptions,
  ContentRequest,
  FilePicture,
  FolderOptions,
  MemoryPicture,
  MessagesRequest,
  MessageStream,
  Picture,
  Received,
  Reply,
  MediaInput,
} from './client-types.ts';
import { outcomeOf } from './read-reply.ts';
import { createSender, perform, type Performed, type Sender, targetOf } from './send.ts';
import { type Deadline, endOf, within } from './deadline.ts';
import { folderSink, memorySink, type PictureSink } from './picture-sink.ts';
import { verdictOf } from './verdict.ts';
import type { FormatName, Quirks } from '../formats/types.ts';
import { fileOf, readInputImage, type Spooling } from '../images/input.ts';
import { sniffType } from '../images/image-type.ts';
import { createUpload, type Upload } from '../body.ts';

/**
 * A client of one gateway. Nothing is connected or read yet, and nothing is shared with other clients.
 * Throws GatewayError usage for an invalid base URL.
 */
export function createClient(options: ClientOptions): Client {
  const sender = createSender(options);
  const service = services[options.service ?? 'gateway'];
  const { href } = targetOf(options).target.baseUrl;
  const formatOf = (use: Use): FormatName => {
    const format = options.format ?? service.formats[use];
    if (format === undefined) throw usageError(`${service.title} makes no images`, 'choose another service');
    return format;
  };
  const callOf = (request: AnyRequest, call: CallOptions = {}): ClientCall => ({
    sender,
    quirksIn: (format) => quirksOf(service.name, format, href),
    use: 'text',
    format: formatOf('text'),
    request,
    call,
    onRetry: (notice) => (call.onRetry ?? options.onRetry)?.({ ...notice, error: withHint(notice.error) }),
    stream: false,
  });
  function generateImages(request: AnyRequest, call: FolderOptions): Promise<Reply<FilePicture>>;
  function generateImages(request: AnyRequest, call?: CallOptions): Promise<Reply>;
  async function generateImages(
    request: AnyRequest,
    call: CallOptions & { folder?: string } = {},
  ): Promise<Reply<FilePicture> | Reply> {
    const use = request.media?.length ? 'edit' : 'image';
    const clientCall: ClientCall = { ...callOf(request, call), use, format: formatOf(use), stream: undefined };
    if (call.folder === undefined) return reply(clientCall, memorySink());
    return reply(clientCall, await folderSink(call.folder));
  }
  return {
    generate: async (request, call) => reply(callOf(request, call), memorySink()),
    stream: (request, call) => stream(callOf(request, call)),
    generateContent: async (request, call) => reply({ ...callOf(request, call), format: 'content' }, memorySink()),
    streamContent: (request, call) => stream({ ...callOf(request, call), format: 'content' }),
    generateImages,
    messages: async (request, call) =>
      reply({ ...callOf(request, call), use: 'chat', format: 'messages', stream: undefined }, memorySink()),
    streamMessages: (request, call) => stream({ ...callOf(request, call), use: 'chat', format: 'messages' }),
    close: () => sender.close(),
  };
}

/** What is thrown out of the library: an error that has a reason gets its hint here, in words about options. */
function withHint<Thrown>(thrown: Thrown): Thrown {
  if (!isGatewayError(thrown)) return thrown;
  const hint = hintOf(thrown, 'library');
  if (hint !== undefined) thrown.details.hint = hint;
  return thrown;
}

async function reply<Image extends Picture>(clientCall: ClientCall, sink: PictureSink<Image>): Promise<Reply<Image>> {
  try {
    return await outcomeOf(sendCall(clientCall, sink));
  } catch (error) {
    throw withHint(error);
  }
}

function stream(clientCall: ClientCall): MessageStream {
  const progress: SendProgress = { attempts: 0, sent: 'no', billed: 'no' };
  const deltas = sendCall({ ...clientCall, stream: true, progress }, memorySink());
  return openStream(deltas, progress, clientCall.call.signal);
}

/** How far the sending of a call is. */
interface SendProgress {
  attempts: number;
  sent: Certainty;
  billed: Certainty;
}

type AnyRequest = AskRequest | ContentRequest | MessagesRequest;

interface ClientCall {
  sender: Sender;
  quirksIn: (format: FormatName) => Quirks;
  use: Use;
  format: FormatName;
  request: AnyRequest;
  call: CallOptions;
  onRetry: (notice: RetryNotice) => void;
  stream: boolean | undefined;
  progress?: SendProgress;
}

/** Sends a request, and returns its reply, or throws the error that the reply means. */
async function* sendCall<Image extends Picture>(
  { sender, quirksIn, use, format: name, request, call, onRetry, stream, progress }: ClientCall,
  sink: PictureSink<Image>,
): AsyncGenerator<StreamDelta, Reply<Image>> {
  const started = monotonic();
  const deadline = sender.startDeadline(call);
  const { media = [], mask }: Pick<AskRequest, 'media' | 'mask'> = request;
  const opened = await within(deadline, openMedia(mask ? [...media, mask] : media, deadline.signal));
  try {
    const modelAsk = askOf(request, { use, stream });
    const format = await loadFormat(name);
    const inputs = { media: opened.inline.slice(0, media.length), mask: opened.inline[media.length] };
    const post = postOf({ ...modelAsk, ...inputs }, format, quirksIn(name));
    const options = { deadline, onRetry, store: sink.store, ...(progress && follow(progress)) };
    const deltas = perform({ post, model: modelAsk.model, candidates: modelAsk.candidates }, sender, options);
    const { result, error, attempts } = yield* flatten(deltas, call.signal, deadline);
    const kept = await sink.keep(result, deadline.signal);
    call.signal?.throwIfAborted();
    const reply = { ...kept, attempts, durationMs: Math.round(monotonic() - started) };
    const images = use === 'image' || use === 'edit' ? 1 : 0;
    const wanted = { images, requireComplete: call.requireComplete === true };
    const verdict = verdictOf({ result, error: error ?? endOf(deadline) }, wanted);
    if (verdict.error) throw new ResponseError(verdict.error, reply);
    if (verdict.warning) reply.warnings.push(verdict.warning.message);
    return reply;
  } finally {
    deadline.end();
    await opened.cleanup();
    await sink.store.discard();
  }
}

/** Keeps the progress of a call while it is sent. */
function follow(progress: SendProgress) {
  return {
    onSent() {
      progress.attempts++;
      progress.sent = 'yes';
      progress.billed = 'unknown';
    },
    beforeRead: () => void (progress.billed = 'yes'),
  };
}

/** The ask of a request. Throws GatewayError usage. */
function askOf(request: AnyRequest, { use, stream }: Pick<Ask, 'use' | 'stream'>): Ask {
  const { media: _media, contents, messages, turns, ...rest } = { ...request } as Record<string, unknown>;
  const ask = { ...rest, use, stream } as Ask;
  if (ask.aspect !== undefined && !isAspect(ask.aspect))
    throw usageError(`aspect takes width:height, not ${JSON.stringify(ask.aspect)}`, 'for example: 16:9');
  // In JavaScript an omitted field may be null.
  const ownTurns = contents ?? messages ?? undefined;
  return {
    ...ask,
    ...((turns ?? undefined) !== undefined && { turns: readTurns(listOf('turns', turns), 'turns') }),
    ...(ownTurns !== undefined && { ownTurns: listOf(contents ? 'contents' : 'messages', ownTurns) }),
  };
}

function listOf(name: string, value: unknown): JsonValue[] {
  if (Array.isArray(value)) return value as JsonValue[];
  throw usageError(`${name} is not an array`, 'give a list of turns');
}

/** Deltas one by one. Some may have arrived already: an abort drops them at once, and after the time limit the reply is read without them. */
async function* flatten(
  deltas: AsyncGenerator<StreamDelta[], Performed>,
  signal: CallOptions['signal'],
  deadline: Deadline,
): AsyncGenerator<StreamDelta, Performed> {
  try {
    for (;;) {
      const next = await deltas.next();
      if (next.done) return next.value;
      for (const delta of next.value) {
        signal?.throwIfAborted();
        if (!deadline.signal.aborted) yield delta;
      }
    }
  } finally {
    await deltas.return(undefined as never);
  }
}

/** Gives the deltas of a generator to the caller's loop, and keeps what it returns or throws for `reply`. */
function openStream(
  deltas: AsyncGenerator<StreamDelta, Reply<MemoryPicture>>,
  progress: SendProgress,
  signal: AbortSignal | undefined,
): MessageStream {
  let text = '';
  let outcome: { reply: Reply } | { error: unknown } | undefined;
  async function next(): Promise<IteratorResult<StreamDelta, undefined>> {
    try {
      const step = await deltas.next();
      if (!step.done) {
        if (step.value.type === 'text') text += step.value.text;
        return step;
      }
      outcome ??= step.value === undefined ? undefined : { reply: step.value };
      return { done: true, value: undefined };
    } catch (error) {
      outcome ??= { error };
      if (isGatewayError(error)) progress.billed = error.billed;
      throw withHint(error);
    }
  }
  async function leave(): Promise<IteratorResult<StreamDelta, undefined>> {
    await deltas.return(undefined as never);
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
    received: (): Received => ({ text, ...progress }),
  };
}

/** A reply came, but it is cut, blocked, or lacks what was requested. `reply` has what came. */
export class ResponseError extends GatewayError {
  readonly reply: Reply<Picture>;

  constructor(error: GatewayError, reply: Reply<Picture>) {
    super(error.class, error.message, { ...error.details, cause: error });
    this.reply = reply;
  }
}

/** Whether something thrown is a ResponseError, of any copy of the package. */
export function isResponseError(error: unknown): error is ResponseError {
  return isGatewayError(error) && 'reply' in error;
}

/** Media ready to be sent. */
interface OpenedMedia {
  inline: { mimeType: string; data: Upload }[];
  /** Removes what was spooled. */
  cleanup(): Promise<void>;
}

/** Finds type and size of each medium. Throws GatewayError usage: unreadable, or of no known image type and none given. */
async function openMedia(media: readonly MediaInput[], signal: AbortSignal): Promise<OpenedMedia> {
  const cleanups: (() => Promise<void>)[] = [];
  const cleanup = async (): Promise<void> => {
    for (const remove of cleanups) await remove();
  };
  try {
    const inline: OpenedMedia['inline'] = [];
    for (const medium of media)
      inline.push(await openOne(medium, { signal, atEnd: (remove) => void cleanups.push(remove) }));
    return { inline, cleanup };
  } catch (error) {
    await cleanup();
    throw error;
  }
}

async function openOne(medium: MediaInput, spooling: Spooling): Promise<OpenedMedia['inline'][number]> {
  if ('path' in medium) {
    const label = JSON.stringify(medium.path);
    const path = await fileOf(medium.path, { ...spooling, label });
    const image = await readInputImage(path, { label });
    return { mimeType: image.mimeType, data: createUpload(path, image.bytes) };
  }
  const data = medium instanceof Uint8Array ? medium : medium.data;
  const mimeType = medium instanceof Uint8Array ? sniffType(medium) : medium.mimeType;
  if (mimeType === undefined) throw usageError('the bytes are not an image of a known type', 'give { data, mimeType }');
  return { mimeType, data: createUpload(data) };
}
