import { monotonic } from '../clock.ts';
import { chooseHint } from '../reasons.ts';
import { GatewayError, isGatewayError, usageError } from '../errors.ts';
import { type Media, type PlainRequest, readTurns } from '../formats/plain-request.ts';
import type { StreamDelta } from '../formats/events.ts';
import { encodeFlexibly, encodeRequest, loadFormat, requirePictures } from '../formats/format.ts';
import type { FormatName, Quirks } from '../formats/types.ts';
import type { JsonValue } from '../json.ts';
import { imageFacts, pixelsOf, sniffType } from '../images/image-type.ts';
import { makeRereadable, readInputImage, type Spooling } from '../images/input.ts';
import { chooseFormat, getQuirks, services, type Use } from '../vendors/services.ts';
import { createUpload, type Upload } from '../body.ts';
import type {
  AskRequest,
  CallOptions,
  ClientOptions,
  MediaInput,
  MemoryPicture,
  Picture,
  Reply,
  Sender,
} from './client-types.ts';
import { checkFields } from './check-options.ts';
import type { Endpoint } from './endpoint.ts';
import { changeDeltas, drainDeltas } from './deltas.ts';
import { checkEnd, chooseDeadline, type Deadline, within } from './deadline.ts';
import { folderSink, type ImageSink, memorySink } from './image-sink.ts';
import type { CallEvent } from './events.ts';
import type { PreparedRequest } from './ask.ts';
import { judgeAnswer, listLinkedImages } from './verdict.ts';
import { refuseEmptyMask } from '../images/mask.ts';

/** The error of a reply that came, but is cut, blocked, or lacks requested parts. `reply` has the parts that came. */
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

/** A call of one of a client's methods. */
export interface ClientCall {
  ask: Sender['ask'];
  options: ClientOptions;
  endpoint: Pick<Endpoint, 'service' | 'baseUrl'>;
  request: AskRequest;
  call: CallOptions;
  use: Use;
  stream: boolean | undefined;
  /** Gets the events of the call first. */
  listener?: (event: CallEvent) => void;
}

/** The reply of a call, its images in memory or in a folder. */
export async function readCall(call: ClientCall, folder?: string): Promise<Reply> {
  const sink = folder === undefined ? memorySink() : await folderSink(folder).catch(throwWithHint);
  return drainDeltas(sendCall(call, sink as ImageSink<MemoryPicture>));
}

/** The deltas of a call, and its reply. */
export function streamCall(call: ClientCall): AsyncGenerator<StreamDelta, Reply> {
  return sendCall(call, memorySink());
}

/** The request that a call would send. */
export function prepareForCaller(call: ClientCall, deadline: Deadline): ReturnType<typeof prepareCall> {
  return prepareCall(call, deadline).catch(throwWithHint);
}

/** Gives an error that leaves the library the hint for its reason, if it has one, in words about options. */
function withHint<Thrown>(thrown: Thrown): Thrown {
  if (!isGatewayError(thrown)) return thrown;
  const hint = chooseHint(thrown, 'library');
  if (hint !== undefined) thrown.details.hint = hint;
  return thrown;
}

function throwWithHint(thrown: unknown): never {
  throw withHint(thrown);
}

/** Makes the request of a call. Throws GatewayError usage, and the end of the deadline. */
async function prepareCall(
  { options, endpoint, use, request, call, stream }: ClientCall,
  deadline: Deadline,
): Promise<PreparedRequest & { close(): Promise<void> }> {
  const { service, baseUrl } = endpoint;
  const named = call.format ?? options.format;
  const name = named ?? chooseFormat(service, use, baseUrl.href);
  if (name === undefined) throw usageError(`${services[service].title} makes no images`, 'choose another service');
  const quirksIn = (format: FormatName): Quirks => getQuirks(service, format, baseUrl.href);
  const fallback = call.fallback ?? options.fallback;
  if (typeof request !== 'object' || request === null)
    throw usageError('a call takes a request', "for example: generate({ model: 'some-model', prompt: 'hi' })");
  const fields = checkFields(request);
  const { media = [], mask }: Pick<AskRequest, 'media' | 'mask'> = fields;
  const { inline, cleanup } = await within(deadline, openMedia(mask ? [...media, mask] : media, deadline.signal));
  try {
    const asked = toPlainRequest(fields, { use, stream });
    const format = await loadFormat(name);
    const inputs = { media: inline.slice(0, media.length), mask: inline[media.length] };
    if (inputs.mask) await refuseEmptyMask(inputs.mask.data, 'the mask');
    const plain = { ...asked, ...inputs };
    const post = named ? encodeRequest(plain, format, quirksIn(name)) : encodeFlexibly(plain, format, quirksIn);
    requirePictures(post, use);
    if (fallback !== undefined) post.encodeEffort?.(fallback);
    return { post, model: asked.model, fallback, close: cleanup };
  } catch (error) {
    await cleanup();
    throw error;
  }
}

/** Sends a request, and returns its reply, or throws the error that the reply means. */
async function* sendCall<Image extends Picture>(
  clientCall: ClientCall,
  sink: ImageSink<Image>,
): AsyncGenerator<StreamDelta, Reply<Image>> {
  const { ask, options, use, call, listener } = clientCall;
  const { onEvent = options.onEvent } = call;
  const started = monotonic();
  const deadline = chooseDeadline(call, options);
  let request: Awaited<ReturnType<typeof prepareCall>> | undefined;
  try {
    request = await prepareCall(clientCall, deadline);
    const deltas = ask(request, {
      deadline,
      onEvent(event) {
        listener?.(event);
        if ('error' in event) withHint(event.error);
        return onEvent?.(event);
      },
      maxTurns: call.maxTurns,
      store: sink.store,
    });
    const { result, error, attempts } = yield* changeDeltas(deltas, (arrived) =>
      listWanted(arrived, call.signal, deadline),
    );
    const kept = await sink.keep(result, deadline.signal);
    call.signal?.throwIfAborted();
    const links = [...new Set(result.candidates.flatMap(({ text }) => listLinkedImages(text)))];
    const durationMs = Math.round(monotonic() - started);
    const reply: Reply<Image> = { ...kept, ...(links.length > 0 && { links }), attempts, durationMs };
    const images = use === 'image' || use === 'edit' ? 1 : 0;
    const wanted = { images, requireComplete: call.requireComplete === true };
    const verdict = judgeAnswer({ result, error: error ?? checkEnd(deadline) }, wanted);
    if (verdict.error) throw new ResponseError(verdict.error, reply);
    const notes = [request.post.note, verdict.warning?.message].filter((each) => each !== undefined);
    return { ...reply, warnings: [...reply.warnings, ...notes] };
  } catch (error) {
    throw withHint(error);
  } finally {
    deadline.end();
    await request?.close();
    await sink.store.discard();
  }
}

/** The plain request of a call. Throws GatewayError usage. */
function toPlainRequest(
  request: Readonly<Record<string, unknown>>,
  { use, stream }: Pick<PlainRequest, 'use' | 'stream'>,
): PlainRequest {
  const { media: _, turns, ...fields } = request;
  if (typeof fields['model'] !== 'string' || fields['model'] === '')
    throw usageError('the request names no model', "give it: { model: 'some-model', prompt: 'hi' }");
  return {
    ...(fields as unknown as PlainRequest),
    use,
    stream,
    ...(turns !== undefined && { turns: readTurns(requireList(turns), 'turns') }),
  };
}

function requireList(turns: unknown): JsonValue[] {
  if (Array.isArray(turns)) return turns as JsonValue[];
  throw usageError('turns is not an array', 'give a list of turns');
}

/**
 * The deltas that arrived together, one by one as the caller takes them: an abort drops the rest at once, and after the time limit
 * the reply is read without them.
 */
function* listWanted(
  arrived: readonly StreamDelta[],
  signal: CallOptions['signal'],
  deadline: Deadline,
): Generator<StreamDelta, void> {
  for (const delta of arrived) {
    signal?.throwIfAborted();
    if (!deadline.signal.aborted) yield delta;
  }
}

/** Media that are ready to be sent. */
interface OpenedMedia {
  inline: (Pick<Media, 'mimeType' | 'pixels'> & { data: Upload })[];
  /** Removes spooled files. */
  cleanup(): Promise<void>;
}

/**
 * Finds type and size of each medium. Throws GatewayError usage for a medium that is unreadable, or of no known image type and
 * without a given one.
 */
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
    const path = await makeRereadable(medium.path, { ...spooling, label });
    const image = await readInputImage(path, { label });
    return { mimeType: image.mimeType, data: createUpload(path, image.bytes), pixels: pixelsOf(image) };
  }
  const data = medium instanceof Uint8Array ? medium : medium.data;
  const mimeType = medium instanceof Uint8Array ? sniffType(medium) : medium.mimeType;
  if (mimeType === undefined) throw usageError('the bytes are not an image of a known type', 'give { data, mimeType }');
  const pixels = mimeType.startsWith('image/') ? pixelsOf(imageFacts(data)) : undefined;
  return { mimeType, data: createUpload(data), pixels };
}
