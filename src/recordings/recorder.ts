import { chmod, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { getErrorCode, GatewayError, usageError } from '../errors.ts';
import { describeWriteError } from '../files/file-reason.ts';
import { clearDeadParts, partNonce } from '../files/process-mark.ts';
import {
  createTempFile,
  makeFolder,
  newFileMode,
  placeFile,
  removeFile,
  type TempFile,
  writeFully,
} from '../files/temp-file.ts';
import type { FetchWrapper, HttpReply } from '../transport/types.ts';
import { encodeHead, encodeLine, type RecordingEnd, readRecordingName, recordingName, shownHash } from './format.ts';
import { createChunkMasker, type Mask, recordedHeaders } from './mask.ts';
import { describeRequest, type RequestKey } from './request-key.ts';

/** Where recordings are written, and what that needs. */
export interface ExchangeRecorderOptions {
  /** Absolute path; made if it is missing. */
  folder: string;
  mask: Mask;
  /** Wall clock, ms since 1970. */
  now: () => number;
  /** Called if a recording could not be written; the exchange continues. */
  onFailure: (error: unknown) => void;
  /** Called for every complete recording. */
  onRecorded?: ((key: RequestKey, path: string) => void) | undefined;
}

/** Records exchanges. */
export interface ExchangeRecorder {
  /** Records what is fetched. */
  record: FetchWrapper;
  /** Records one fetch of a request with a known key. */
  recordOne(key: RequestKey, fetch: () => Promise<HttpReply>, signal: AbortSignal): Promise<HttpReply>;
  /** Ends recordings that are still open. */
  close(): Promise<void>;
}

/** Opens the folder. Throws GatewayError usage if it cannot be made or written. */
export async function openExchangeRecorder(options: ExchangeRecorderOptions): Promise<ExchangeRecorder> {
  const nextNumber = await openCounter(options.folder);
  const open = new Set<RecordingWriter>();
  const recordOne: ExchangeRecorder['recordOne'] = async (key, fetch, signal) => {
    const sent = { key, number: nextNumber(key.hash), at: options.now() };
    const start = (reply?: HttpReply): RecordingWriter => {
      const writer = startRecording({ ...sent, reply }, options);
      open.add(writer);
      return { ...writer, end: (ended) => writer.end(ended).finally(() => open.delete(writer)) };
    };
    try {
      const reply = await fetch();
      return { ...reply, body: recorded(reply.body, start(reply), signal) };
    } catch (error) {
      const isLost = error instanceof GatewayError && error.class === 'no-reply';
      if (isLost && !signal.aborted) await start().end(endedBy(error));
      throw error;
    }
  };
  return {
    recordOne,
    record: (next) => async (request, call) => {
      const key = await describeRequest(request);
      return recordOne(key, () => next(request, call), call.signal);
    },
    async close() {
      await Promise.all([...open].map((writer) => writer.end('left')));
    },
  };
}

/** Numbers equal requests in the order in which they are sent, after those in the folder. */
async function openCounter(folder: string): Promise<(hash: string) => number> {
  const names = await openRecordingFolder(folder);
  const last = new Map<string, number>();
  for (const name of names.map(readRecordingName)) {
    if (name) last.set(name.shownHash, Math.max(name.number, last.get(name.shownHash) ?? 0));
  }
  return (hash) => {
    const number = (last.get(shownHash(hash)) ?? 0) + 1;
    last.set(shownHash(hash), number);
    return number;
  };
}

async function openRecordingFolder(folder: string): Promise<string[]> {
  try {
    await makeFolder(folder);
    // Creates and removes a file, so that a folder that cannot be written is an error before anything is sent.
    await newFileMode(folder);
    const names = await readdir(folder);
    await clearDeadParts(folder, names);
    return names;
  } catch (error) {
    const reason = getErrorCode(error) === 'EEXIST' ? 'it is not a folder' : describeWriteError(error);
    throw usageError(`'${folder}': ${reason}`, 'name a folder that can be written', error);
  }
}

async function* recorded(
  body: AsyncIterable<Uint8Array>,
  writer: RecordingWriter,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let ended: RecordingEnd = 'left';
  try {
    for await (const chunk of body) {
      await writer.chunk(chunk);
      yield chunk;
    }
    ended = 'end';
  } catch (error) {
    if (!signal.aborted) ended = endedBy(error);
    throw error;
  } finally {
    await writer.end(ended);
  }
}

function endedBy(error: unknown): RecordingEnd {
  return getErrorCode(error) === 'ECONNRESET' ? 'reset' : 'cut';
}

/** Writes one exchange into a file. A failure to write ends the recording, not the exchange. */
interface RecordingWriter {
  chunk(bytes: Uint8Array): Promise<void>;
  /** Writes the end and gives the file its name. Only the first call counts. */
  end(ended: RecordingEnd): Promise<void>;
}

/** Lines stay in memory until this many characters can be written together. */
const blockLength = 64 * 1024;

/**
 * Opens a temporary file (0600) in the folder; it becomes a recording when the exchange has ended. `number` is that among equal
 * requests, from 1; there is no reply if the connection was lost before its head.
 */
function startRecording(
  { key, number, at, reply }: { key: RequestKey; number: number; at: number; reply: HttpReply | undefined },
  options: ExchangeRecorderOptions,
): RecordingWriter {
  const { folder, mask, onFailure, onRecorded } = options;
  const masker = createChunkMasker(mask);
  let pending = encodeHead({ hash: key.hash, scope: key.scope, at }, mask.hide(key.text));
  if (reply) {
    const { status, headers } = reply;
    pending += mask.hide(encodeLine({ kind: 'reply', status, headers: recordedHeaders(headers) }));
  }
  let written = 0;
  const flushFile = async ({ handle }: TempFile): Promise<void> => {
    const bytes = Buffer.from(pending);
    pending = '';
    await writeFully(handle, bytes, written);
    written += bytes.byteLength;
  };
  const writeChunks = async (file: TempFile, chunks: Uint8Array[]): Promise<void> => {
    for (const bytes of chunks) {
      pending += encodeLine({ kind: 'chunk', bytes });
      if (pending.length >= blockLength) await flushFile(file);
    }
  };
  const enqueue = createQueue(createTempFile(folder, { nonce: partNonce }), onFailure);
  let ending: Promise<void> | undefined;
  return {
    chunk: (bytes) => enqueue((file) => writeChunks(file, masker.push(bytes))),
    end: (ended) =>
      (ending ??= enqueue(async (file) => {
        await writeChunks(file, masker.end());
        pending += encodeLine({ kind: 'ended', ended });
        await flushFile(file);
        await file.handle.close();
        const final = await publishRecording(file.path, { folder, key, number, bytes: written });
        onRecorded?.(key, final);
      })),
  };
}

/**
 * Runs writes one after the other: the recorder can be closed while a chunk is being written. After the first failure, which is
 * reported, the file is removed and later writes are ignored.
 */
function createQueue(
  opening: Promise<TempFile>,
  onFailure: (error: unknown) => void,
): (write: (file: TempFile) => Promise<void>) => Promise<void> {
  // Reported with the first write.
  opening.catch(() => undefined);
  let hasFailed = false;
  let tail = Promise.resolve();
  const attemptWrite = async (write: (file: TempFile) => Promise<void>): Promise<void> => {
    if (hasFailed) return;
    try {
      await write(await opening);
    } catch (error) {
      hasFailed = true;
      await opening.then(discard).catch(() => undefined);
      onFailure(error);
    }
  };
  return (write) => (tail = tail.then(() => attemptWrite(write)));
}

async function discard({ path, handle }: TempFile): Promise<void> {
  await handle.close().catch(() => undefined);
  await removeFile(path);
}

/** Gives the file the first free number: another process can have taken it. Returns the path. */
async function publishRecording(
  temp: string,
  { folder, key, number, bytes }: { folder: string; key: RequestKey; number: number; bytes: number },
): Promise<string> {
  for (let at = number; ; at++) {
    const final = join(folder, recordingName(key, at));
    try {
      await placeFile(temp, final, { bytes, replace: false });
      // A file system without links gets a copy, with the mode of an ordinary file.
      await chmod(final, 0o600);
      return final;
    } catch (error) {
      if (getErrorCode(error) !== 'EEXIST') throw error;
    }
  }
}
