import { badReply, GatewayError } from '../errors.ts';
import type { Decoder, ReplyEvent, StreamDelta } from '../formats/events.ts';
import type { Body } from '../body.ts';
import { type Format, loadFormat } from '../formats/format.ts';
import { readFailedReply } from '../formats/failure.ts';
import { readCostHeader } from '../formats/told-cost.ts';
import { jsonLines, parseReply, type ReadText } from '../formats/parse-reply.ts';
import type { BlobStore } from '../images/types.ts';
import { divertBase64 } from '../scan/json-scan.ts';
import { readEvents } from '../transport/sse.ts';
import { readErrorBytes } from '../transport/retry.ts';
import type { HttpReply } from '../transport/types.ts';
import type { FormatName } from '../formats/types.ts';
import { createWatch, type Deadline, checkEnd, readWhilePatient, type Watch } from './deadline.ts';
import { drainDeltas } from './deltas.ts';
import { createAccumulator, type Accumulator } from './accumulator.ts';
import { createMemoryStore } from '../images/store.ts';
import { keepGoodImages, type ImageStore, type ReplyBounds } from './image-store.ts';
import type { Answer, Result } from './result.ts';
import { emptyResult } from './arriving-reply.ts';
import { isCut, looksLikeSse, oneChunk, peek, readDiverted, readOn, untilCut } from './reply-body.ts';
import { readEndHeaders } from '../vendors/model-rules.ts';
import { isObject } from '../json.ts';

/** The options for reading a reply: its limits, and the place of its images. */
export interface ReadOptions extends ReplyBounds {
  store: BlobStore;
  model: string;
  /** Thinking in the tags `<think>` and `</think>` at the head of a text stays in the text. */
  keepThink?: boolean | undefined;
  /**
   * The body of the request, if it is known: it says how many candidates were requested and which tools were offered, and words that an
   * error quotes from it are not the service's own.
   */
  asked?: Body | undefined;
  /** Time to wait for the end of the body, in ms, where that is not the usual one. */
  patience?: typeof usualPatience | undefined;
}

/**
 * Time of silence in ms after which the end of a body is not awaited any more, by the progress of its decoder. After the mark that
 * ends a reply, the end of the body is only good for using the connection again (deviation 24).
 */
const usualPatience = { stopped: 5000, ended: 200 };

/** Maximum number of candidates that are read beyond those that were requested. */
const moreCandidates = 64;

/** A reply that came by another way than a call. */
export interface HeldReply extends Pick<HttpReply, 'status' | 'headers' | 'request'> {
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** The request of a reply, and options for reading it. */
export interface ReadReplyOptions extends Omit<ReadOptions, 'store'> {
  /** The format of the reply. */
  format: FormatName;
  /** The place of the images; memory by default. */
  store?: BlobStore | undefined;
  /** Limits the reading: when its time is over, the parts so far are returned with that error. Its signal ends the reading. */
  deadline?: Deadline | undefined;
}

/**
 * Reads a reply that came by another way: a result that a service's batch has made, a recording, a reply that is passed on.
 * Returns the outcome that a call would have. If the reply is not whole, `result` has its parts so far, and `error` the reason; the
 * caller judges whether a whole reply has the requested result, as after a call. Without an answer it throws the errors of a call:
 * the GatewayError of a status other than 2xx, of a body that is no reply, and the reason of the caller's abort.
 *
 *     const { result, error } = await readReply({ status: 200, headers: {}, body: bytes }, { format, model, store, deadline });
 */
export async function readReply(
  reply: HeldReply,
  { format: name, deadline, store = createMemoryStore(), ...options }: ReadReplyOptions,
): Promise<Answer> {
  const { body } = reply;
  const http = { ...reply, body: body instanceof Uint8Array ? oneChunk(body) : body };
  if (http.status < 200 || http.status > 299) throw await readFailure(http, name);
  const reading = { ...(deadline && { endOf: () => checkEnd(deadline) }), ...options, store };
  return drainDeltas(readDeltas(http, reading, await loadFormat(name)));
}

/** The error that a reply of another status than 2xx means. */
async function readFailure(reply: HttpReply, format: FormatName): Promise<GatewayError> {
  const { status, headers } = reply;
  const body = (await readErrorBytes(reply.body)).toString();
  return withRequest(readFailedReply({ status, headers, body, format }).withDefaults({ status, sent: 'yes' }), reply);
}

/**
 * Reads a reply of a format, streamed or not, whatever was requested (deviations 37 and 38). Yields the deltas of one arriving
 * chunk together; text comes without the Base64 of images, which go to the store. The generator returns the answer, also after a
 * cut or an error event, so that the parts so far are kept. Throws GatewayError if nothing came, and the reason of the caller's
 * abort.
 */
export async function* readDeltas(
  reply: HttpReply,
  options: ReadOptions,
  format: Format,
): AsyncGenerator<StreamDelta[], Answer> {
  // The time is watched from here on: parsing and decoding a large reply takes long, too.
  const watch = createWatch(options.endOf);
  try {
    const reader = openReader(reply, options, format);
    const body = reply.body[Symbol.asyncIterator]();
    const seen: Uint8Array[] = [];
    const begun = await peek(body, seen).catch((error: unknown) => {
      if (isCut(error)) return error;
      throw error;
    });
    if (begun instanceof GatewayError) return { result: emptyResult(options.model), error: withRequest(begun, reply) };
    const finish = (end: BodyEnd): Promise<Answer> => finishReading(end, watch, reply, reader);
    if (looksLikeSse(begun)) return await finish(yield* readStream(readOn(seen, body), reader));
    const text = await readDiverted(body, reader.store, seen);
    const lines = jsonLines(text.text);
    if (lines) return await finish(yield* readStream(toServerSentEvents(lines, text.cut), reader));
    const { deltas, cut } = readWhole(text, reply, reader);
    if (deltas.length > 0) yield deltas;
    await reader.accumulator.store();
    return await finish({ cut, isStreamed: false });
  } catch (error) {
    throw withRequest(error, reply);
  }
}

interface ReplyReader {
  format: Format;
  decoder: Decoder;
  accumulator: Accumulator;
  store: ImageStore;
  options: ReadOptions;
  /** Number of requested candidates. */
  candidates: number;
}

/** The end of a body that was read. */
interface BodyEnd {
  /** The reason that the reply is not whole. */
  cut: GatewayError | undefined;
  /** The deltas of the reply were passed on as they came. */
  isStreamed: boolean;
}

function openReader(reply: Pick<HttpReply, 'status' | 'headers'>, options: ReadOptions, format: Format): ReplyReader {
  const store = keepGoodImages(options.store, options);
  const { keepThink: keepsTags, asked } = options;
  const candidates = asked === undefined ? 1 : format.limits(asked).candidates;
  const { status, headers } = reply;
  // The body may say it, too, and then it counts.
  const facts = { modelEnds: readEndHeaders(headers) };
  const accumulator = createAccumulator({
    model: options.model,
    maxCandidates: candidates + moreCandidates,
    store,
    facts,
  });
  const decoder = format.createDecoder({ status, headers, keepsTags, asked });
  return { format, decoder, accumulator, store, options, candidates };
}

/** The answer of a reply that was read. */
async function finishReading(
  { cut, isStreamed }: BodyEnd,
  watch: Watch,
  reply: Pick<HttpReply, 'status' | 'headers' | 'request'>,
  { decoder, format, accumulator, store }: ReplyReader,
): Promise<Answer> {
  const over = await watch();
  // A stream that said why it ends is whole: the time ran out while its connection was left open.
  const late = isStreamed && decoder.progress !== 'open' ? undefined : over;
  const { result: came, error: cutCall, unfinished } = accumulator.result();
  const told = isStreamed || came.toldCost ? undefined : readCostHeader(reply.headers['x-litellm-response-cost']);
  const error = cut ?? store.failure() ?? late ?? cutCall;
  const result: Result = {
    ...came,
    format: format.name,
    ...(told !== undefined && { toldCost: { amount: told, currency: 'USD' } }),
    // With an error a reply is not complete, whatever it said about itself.
    complete: error === undefined && came.complete,
  };
  return { result, error: withRequest(error, reply), unfinished };
}

/** The events of a body that has one in each line. The last event may be cut. */
async function* toServerSentEvents(
  lines: readonly string[],
  cut: GatewayError | undefined,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(lines.map((line) => `data: ${line}`).join('\n\n'));
  if (cut) throw cut;
}

/** The deltas of a reply that is one JSON value. */
interface WholeReply {
  /** The deltas that a stream of the reply would have. Its images are not stored yet. */
  deltas: StreamDelta[];
  /** The reason that the reply is not whole. */
  cut: GatewayError | undefined;
}

function readWhole(
  body: ReadText,
  reply: HttpReply,
  { decoder, accumulator, format, options: { asked } }: ReplyReader,
): WholeReply {
  const { value, cut } = parseReply(body, { ...reply, asked }, format.name);
  if (isBare(value) && cut) return { deltas: [], cut };
  let events: ReplyEvent[];
  try {
    events = decoder.whole(value);
  } catch (error) {
    // In a cut reply, the part that would show that the address is right may be missing.
    if (isCut(cut) && error instanceof GatewayError && error.details.reason === 'address') return { deltas: [], cut };
    throw error;
  }
  let failure: GatewayError | undefined;
  const deltas: StreamDelta[] = [];
  try {
    for (const event of events) for (const delta of accumulator.add([event])) deltas.push(delta);
  } catch (error) {
    failure = requireReplyError(error);
  }
  for (const delta of accumulator.end(true, isCut(cut))) deltas.push(delta);
  const broken = events.find((event) => event.type === 'broken');
  const error = cut ?? failure ?? broken?.error;
  const shown = deltas.filter(({ type }) => type !== 'end' && (error === undefined || type !== 'stop'));
  return { deltas: error ? shown : [...shown, { type: 'end' }], cut: error };
}

/** Reads a stream, and yields its deltas. */
async function* readStream(
  chunks: AsyncIterable<Uint8Array>,
  reader: ReplyReader,
): AsyncGenerator<StreamDelta[], BodyEnd> {
  const { decoder, accumulator, store } = reader;
  let broken = undefined as GatewayError | undefined;
  let failure: GatewayError | undefined;
  let heard = 0;
  const patient = readWhilePatient(chunks, () => ({ ms: getPatience(reader), heard }));
  const body = untilCut(divertBase64(patient, store, { mode: 'sse' }), (error) => (broken = error));
  try {
    for await (const arrived of readEvents(body)) {
      if (decoder.progress === 'ended') continue;
      const deltas: StreamDelta[] = [];
      try {
        for (const one of arrived) {
          // A server-sent event that only keeps the connection open has no events.
          const events = decoder.feed(one);
          for (const delta of accumulator.add(events)) deltas.push(delta);
          const last = events.at(-1);
          if (last?.type === 'broken') throw last.error;
          heard += events.length;
        }
      } finally {
        if (deltas.length > 0) yield deltas;
      }
      await accumulator.store();
    }
  } catch (error) {
    if (decoder.progress !== 'ended') failure = requireReplyError(error);
  }
  let last: StreamDelta[] = [];
  try {
    last = accumulator.add(decoder.end());
  } catch (error) {
    const said = requireReplyError(error);
    failure ??= broken ?? said;
  }
  const rest = [...last, ...accumulator.end(decoder.progress !== 'open')];
  if (rest.length > 0) yield rest;
  await accumulator.store();
  return { cut: whyCut(reader, failure, broken), isStreamed: true };
}

/** Time to wait for the rest, in ms. Another requested candidate may begin when one has ended. */
function getPatience({ decoder: { progress }, accumulator, options, candidates }: ReplyReader): number | undefined {
  if (progress === 'open' || accumulator.countCandidates() < candidates) return undefined;
  return (options.patience ?? usualPatience)[progress];
}

/** Failures of the reply itself keep its parts so far; our own failures (disk full, abort by the user) are thrown on. */
function requireReplyError(thrown: unknown): GatewayError {
  const kept = ['incomplete', 'bad-reply', 'gateway', 'quota', 'auth', 'rejected', 'no-result'];
  if (thrown instanceof GatewayError && kept.includes(thrown.class)) return thrown;
  throw thrown;
}

/** The reason that a stream is not whole, if it is not. Throws GatewayError if nothing came. */
function whyCut(
  { decoder, accumulator, format }: ReplyReader,
  failure: GatewayError | undefined,
  broken: GatewayError | undefined,
): GatewayError | undefined {
  if (failure !== undefined && failure.class !== 'incomplete') {
    if (accumulator.isEmpty()) throw failure;
    // Earlier events show that the address is right.
    return failure.details.reason === 'address' ? badReply('an event of the stream is not JSON') : failure;
  }
  if (decoder.progress !== 'open') return undefined;
  const cut = broken ?? failure;
  if (cut !== undefined) return cut;
  if (accumulator.isEmpty()) throw badReply('the stream held no reply');
  return new GatewayError('incomplete', format.missingEnd, { sent: 'yes', retryable: false });
}

/** Whether a value is undefined, or the empty object of a reply that was cut at its beginning. */
export function isBare(value: unknown): boolean {
  return value === undefined || (isObject(value) && Object.keys(value).length === 0);
}

/** Adds the destination and status of the request to an error of reading its reply. Failures of this machine stay unchanged. */
export function withRequest<E>(error: E, { request, status }: Pick<HttpReply, 'request' | 'status'>): E | GatewayError {
  if (request === undefined || !(error instanceof GatewayError)) return error;
  return error.details.sent === 'yes' && error.class !== 'not-written'
    ? error.withDefaults({ request, status })
    : error;
}
