import { monotonic } from '../clock.ts';
import { GatewayError, usageError } from '../errors.ts';
import { type Ask, readTurns } from '../formats/ask.ts';
import type { StreamDelta } from '../formats/events.ts';
import { loadFormat, postOf } from '../formats/format.ts';
import type { JsonValue } from '../json.ts';
import { isAspect } from '../images/aspect.ts';
import { services, type Use } from '../services.ts';
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
  Reply,
  MediaInput,
} from './client-types.ts';
import { createSender, outcomeOf, perform, type Performed, type Sender, targetOf } from './send.ts';
import { type Deadline, endOf } from './deadline.ts';
import { folderSink, memorySink, type PictureSink } from './picture-sink.ts';
import { verdictOf } from './verdict.ts';
import type { FormatName } from '../formats/types.ts';
import { readInputImage } from '../images/input.ts';
import { sniffType } from '../images/image-type.ts';
import { createUpload, type Upload } from '../body.ts';

/**
 * A client of one gateway. Nothing is connected or read yet, and nothing is shared with other clients.
 * Throws GatewayError usage for an invalid base URL.
 */
export function createClient(options: ClientOptions): Client {
  const sender = createSender(options);
  const service = services[options.service ?? 'gateway'];
  const source = `${service.baseUrl === undefined ? targetOf(options).target.baseUrl.host : service.name}`;
  const formatOf = (use: Use): FormatName => {
    const format = options.format ?? service.formats[use];
    if (format === undefined) throw usageError(`${service.title} makes no images`, 'choose another service');
    return format;
  };
  const asking = (request: AskedRequest, call: CallOptions = {}): Asked => ({
    sender,
    quirks: { ...service.quirks, service: source },
    use: 'text',
    format: formatOf('text'),
    request,
    call,
    stream: false,
  });
  function generateImages(request: AskedRequest, call: FolderOptions): Promise<Reply<FilePicture>>;
  function generateImages(request: AskedRequest, call?: CallOptions): Promise<Reply>;
  async function generateImages(
    request: AskedRequest,
    call: CallOptions & { folder?: string } = {},
  ): Promise<Reply<FilePicture> | Reply> {
    const use = request.media?.length ? 'edit' : 'image';
    const asked: Asked = { ...asking(request, call), use, format: formatOf(use), stream: undefined };
    if (call.folder === undefined) return outcomeOf(ask(asked, memorySink()));
    return outcomeOf(ask(asked, await folderSink(call.folder)));
  }
  return {
    generate: async (request, call) => reply(asking(request, call)),
    stream: (request, call) => stream(asking(request, call)),
    generateContent: async (request, call) => reply({ ...asking(request, call), format: 'content' }),
    streamContent: (request, call) => stream({ ...asking(request, call), format: 'content' }),
    generateImages,
    messages: async (request, call) =>
      reply({ ...asking(request, call), use: 'chat', format: 'messages', stream: undefined }),
    streamMessages: (request, call) => stream({ ...asking(request, call), use: 'chat', format: 'messages' }),
    close: () => sender.close(),
  };
}

function reply(asked: Asked): Promise<Reply> {
  return outcomeOf(ask(asked, memorySink()));
}

function stream(asked: Asked): MessageStream {
  return openStream(ask({ ...asked, stream: true }, memorySink()), asked.call.signal);
}

type AskedRequest = AskRequest | ContentRequest | MessagesRequest;

interface Asked {
  sender: Sender;
  quirks: Parameters<typeof postOf>[2];
  use: Use;
  format: FormatName;
  request: AskedRequest;
  call: CallOptions;
  stream: boolean | undefined;
}

/** Sends a request, and returns its reply, or throws the error that the reply means. */
async function* ask<Image extends Picture>(
  { sender, quirks, use, format: name, request, call, stream }: Asked,
  sink: PictureSink<Image>,
): AsyncGenerator<StreamDelta, Reply<Image>> {
  const started = monotonic();
  const deadline = sender.startDeadline(call);
  const { media = [], mask }: Pick<AskRequest, 'media' | 'mask'> = request;
  const opened = await openMedia(mask ? [...media, mask] : media);
  try {
    const asked = askOf(request, { use, stream });
    const format = await loadFormat(name);
    const inputs = { media: opened.inline.slice(0, media.length), mask: opened.inline[media.length] };
    const post = postOf({ ...asked, ...inputs }, format, {
      ...quirks,
      service: `${quirks.service}/${name}`,
    });
    const options = { deadline, onRetry: call.onRetry, store: sink.store };
    const deltas = perform({ post, model: asked.model, candidates: asked.candidates }, sender, options);
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

/** The ask of a request. Throws GatewayError usage. */
function askOf(request: AskedRequest, { use, stream }: Pick<Ask, 'use' | 'stream'>): Ask {
  const { media: _media, contents, messages, turns, ...rest } = { ...request } as Record<string, unknown>;
  const asked = { ...rest, use, stream } as Ask;
  if (asked.aspect !== undefined && !isAspect(asked.aspect))
    throw usageError(`aspect takes width:height, not ${JSON.stringify(asked.aspect)}`, 'for example: 16:9');
  // In JavaScript what is left out may be null.
  const ownTurns = contents ?? messages ?? undefined;
  return {
    ...asked,
    ...((turns ?? undefined) !== undefined && { turns: readTurns(listOf('turns', turns), 'turns') }),
    ...(ownTurns !== undefined && { ownTurns: listOf(contents ? 'contents' : 'messages', ownTurns) }),
  };
}

function listOf(name: string, value: unknown): JsonValue[] {
  if (Array.isArray(value)) return value as JsonValue[];
  throw usageError(`${name} is not an array`, 'give a list of turns');
}

/** Deltas may lie here already: an abort ends them at once, and when time is up the reply is read without them. */
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

/** What a generator returns or throws is kept for `reply`; its deltas go to the caller's loop. */
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

/** A reply came, but it is cut, blocked, or without what was asked for; what did come is here. */
export class ResponseError extends GatewayError {
  readonly reply: Reply<Picture>;

  constructor(error: GatewayError, reply: Reply<Picture>) {
    super(error.class, error.message, { ...error.details, cause: error });
    this.reply = reply;
  }
}

/** Media ready to be sent. */
interface OpenedMedia {
  inline: { mimeType: string; data: Upload }[];
  /** Removes what was spooled. */
  cleanup(): Promise<void>;
}

/** Finds type and size of each medium. Throws GatewayError usage: unreadable, or of no known image type and none given. */
async function openMedia(media: readonly MediaInput[] = []): Promise<OpenedMedia> {
  const cleanups: (() => Promise<void>)[] = [];
  const cleanup = async (): Promise<void> => {
    for (const remove of cleanups) await remove();
  };
  try {
    const inline: OpenedMedia['inline'] = [];
    for (const medium of media) inline.push(await openOne(medium, (remove) => void cleanups.push(remove)));
    return { inline, cleanup };
  } catch (error) {
    await cleanup();
    throw error;
  }
}

async function openOne(
  medium: MediaInput,
  atEnd: (remove: () => Promise<void>) => void,
): Promise<OpenedMedia['inline'][number]> {
  if ('path' in medium) {
    const image = await readInputImage(medium.path);
    atEnd(image.cleanup);
    return { mimeType: image.mimeType, data: createUpload(image.path, image.bytes) };
  }
  const data = medium instanceof Uint8Array ? medium : medium.data;
  const mimeType = medium instanceof Uint8Array ? sniffType(medium) : medium.mimeType;
  if (mimeType === undefined) throw usageError('the bytes are not an image of a known type', 'give { data, mimeType }');
  return { mimeType, data: createUpload(data) };
}
