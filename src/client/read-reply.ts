import { GatewayError } from '../errors.ts';
import type { Decoder, ServerEvent, StreamDelta, TextRun } from '../formats/events.ts';
import type { Format } from '../formats/format-types.ts';
import { parseReply } from '../formats/parse-reply.ts';
import type { BlobStore } from '../images/types.ts';
import { divertBase64 } from '../scan/json-scan.ts';
import { readEvents } from '../transport/sse.ts';
import type { HttpReply } from '../transport/types.ts';
import { createWatch, readWhilePatient } from './deadline.ts';
import { createFold, type Fold } from './fold.ts';
import { keepGoodPictures, type PictureStore, type ReplyBounds } from './picture-store.ts';
import { isBare, isCut, located, looksLikeSse, peek, readDiverted, readPlain } from './read-body.ts';
import { type Answer, answerOf, emptyResult } from './result.ts';

/** What was asked for, and where the pictures of the reply go. */
export interface Reading extends ReplyBounds {
  store: BlobStore;
  model: string;
  /** Candidates that were asked for; 1 by default. */
  candidates?: number | undefined;
  /** Text deltas of one block that arrive together may be one: for readers that join them anyway. */
  joined?: true | undefined;
  /** How long the body's end is waited for, in ms, instead of what the format says. */
  patience?: Format['patience'] | undefined;
}

/** So many candidates are read beside those that were asked for. */
const moreCandidates = 64;

/**
 * Reads a reply of a format, streamed or not, whatever was asked for (deviations 37 and 38). Yields the deltas of one arriving
 * chunk together; text comes without the Base64 of pictures, which go to the store. The answer is what the generator returns,
 * also after a cut or an error event, so that what came is kept. Throws GatewayError where nothing came, and the reason of the
 * caller's abort.
 */
export async function* readReply(
  reply: HttpReply,
  reading: Reading,
  format: Format,
): AsyncGenerator<StreamDelta[], Answer> {
  try {
    const { result, error } = yield* readBody(reply, reading, format);
    return { result, error: error && located(error, reply) };
  } catch (error) {
    throw located(error, reply);
  }
}

interface Reader {
  format: Format;
  decoder: Decoder;
  fold: Fold;
  store: PictureStore;
  reading: Reading;
}

async function* readBody(reply: HttpReply, reading: Reading, format: Format): AsyncGenerator<StreamDelta[], Answer> {
  const store = keepGoodPictures(reading.store, reading);
  // From here on: to parse and decode a large reply takes long, too.
  const watch = createWatch(reading.endOf);
  const mostCandidates = (reading.candidates ?? 1) + moreCandidates;
  const fold = createFold({ model: reading.model, mostCandidates, store });
  const reader = { format, decoder: format.createDecoder(reply), fold, store, reading };
  const begun = await peek(reply.body).catch((error: unknown) => {
    if (isCut(error)) return { cut: error };
    throw error;
  });
  if ('cut' in begun) return answerOf(emptyResult(reading.model), begun.cut);
  const { head, chunks } = begun;
  const isStream = looksLikeSse(head);
  const cut = isStream
    ? yield* readStream({ ...reply, body: chunks }, reader)
    : await readWhole({ ...reply, body: chunks }, reader);
  const late = await watch();
  const { result, error } = fold.result();
  result.format = format.name;
  if (!isStream && result.text !== '') yield [{ type: 'text', text: result.text, block: 0 }];
  return answerOf(result, cut ?? store.failure() ?? late ?? error);
}

/** Why the reply is not whole, if it is not. */
async function readWhole(
  reply: HttpReply,
  { format, decoder, fold, store }: Reader,
): Promise<GatewayError | undefined> {
  const body = await readDiverted(reply.body, store);
  const { value, cut } = readPlain(body) ?? parseReply(body, reply, format.name);
  if (isBare(value) && cut) return cut;
  const events = decoder.whole(value);
  let failure: GatewayError | undefined;
  try {
    fold.add(events);
  } catch (error) {
    failure = keepable(error);
  }
  fold.end(true);
  await fold.store();
  const broken = events.find((event) => event.type === 'broken');
  return cut ?? failure ?? broken?.error;
}

/** The same of a stream. */
async function* readStream(reply: HttpReply, reader: Reader): AsyncGenerator<StreamDelta[], GatewayError | undefined> {
  const { decoder, fold, store, format } = reader;
  const broken: { by?: GatewayError } = {};
  const patience = reader.reading.patience ?? format.patience;
  const waits = { open: undefined, ...patience };
  const patient = readWhilePatient(reply.body, () => waits[decoder.progress]);
  const body = untilCut(divertBase64(patient, store, { mode: 'sse' }), broken);
  let failure: GatewayError | undefined;
  try {
    for await (const events of readEvents(body, { shortcut: shortcutOf(reader) })) {
      if (decoder.progress === 'ended') continue;
      const deltas: StreamDelta[] = [];
      try {
        for (const event of events) feed(event, { decoder, fold, deltas });
      } finally {
        if (deltas.length > 0) yield deltas;
      }
      await fold.store();
    }
  } catch (error) {
    if (decoder.progress !== 'ended') failure = keepable(error);
  }
  let last: StreamDelta[] = [];
  try {
    last = fold.add(decoder.end());
  } catch (error) {
    const said = keepable(error);
    failure ??= broken.by ?? said;
  }
  const rest = [...last, ...fold.end(decoder.progress !== 'open')];
  if (rest.length > 0) yield rest;
  await fold.store();
  return whyCut(reader, failure, broken.by);
}

function shortcutOf({ format: { shortcut }, reading }: Reader) {
  const most = reading.joined ? Infinity : 1;
  return shortcut && ((text: string, at: number) => shortcut(text, at, most));
}

function feed(
  event: ServerEvent | TextRun,
  { decoder, fold, deltas }: Pick<Reader, 'decoder' | 'fold'> & { deltas: StreamDelta[] },
): void {
  const events = decoder.feed(event);
  for (const delta of fold.add(events)) deltas.push(delta);
  const last = events.at(-1);
  if (last?.type === 'broken') throw last.error;
}

/** Failures of the reply itself leave what came; our own (disk full, abort by the user) are thrown on. */
function keepable(thrown: unknown): GatewayError {
  const kept = ['incomplete', 'bad-reply', 'gateway', 'quota', 'auth', 'rejected', 'no-result'];
  if (thrown instanceof GatewayError && kept.includes(thrown.class)) return thrown;
  throw thrown;
}

/** Why a stream is not whole, if it is not. Throws GatewayError where nothing came. */
function whyCut(
  { decoder, fold, format }: Reader,
  failure: GatewayError | undefined,
  broken: GatewayError | undefined,
): GatewayError | undefined {
  if (failure !== undefined && failure.class !== 'incomplete') {
    if (fold.isEmpty) throw failure;
    // Where pieces came, the address is right.
    return failure.details.reason === 'address' ? badStream('an event of the stream is not JSON') : failure;
  }
  if (decoder.progress !== 'open') return undefined;
  const cut = broken ?? failure;
  if (cut !== undefined) return cut;
  if (fold.isEmpty) throw badStream('the stream held no reply');
  return new GatewayError('incomplete', format.missingEnd, { sent: 'yes', retryable: false });
}

function badStream(what: string): GatewayError {
  return new GatewayError('bad-reply', what, { sent: 'yes', retryable: false });
}

/** A body that breaks off ends there: the event that it leaves open may hold words. */
async function* untilCut(body: AsyncIterable<Uint8Array>, broken: { by?: GatewayError }): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    if (!isCut(error)) throw error;
    broken.by = error;
  }
}
