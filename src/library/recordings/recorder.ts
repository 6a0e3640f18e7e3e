import { readdir } from 'node:fs/promises';
import { getErrorCode, GatewayError, usageError } from '../errors.ts';
import { describeWriteError } from '../files/file-reason.ts';
import { clearDeadParts, partNonce } from '../files/process-mark.ts';
import { createTempFile, makeFolder, newFileMode, removeFile, type TempFile, writeFully } from '../files/temp-file.ts';
import type { FetchWrapper, HttpReply } from '../transport/types.ts';
import { placeRecording } from './folder.ts';
import { encodeHead, encodeLine, type RecordingEnd } from './format.ts';
import { createChunkMasker, type Mask, recordedHeaders } from './mask.ts';
import { nameRequest, type RequestName } from './request-name.ts';

/** The folder of new recordings, and the parts that writing needs. */
export interface ExchangeRecorderOptions {
  /** The absolute path of the folder; it is made if it is missing. */
  folder: string;
  mask: Mask;
  /** Wall clock, ms since 1970. */
  now: () => number;
  /** Called if a recording could not be written; the exchange continues. */
  onFailure: (error: unknown) => void;
}

/** Records exchanges. */
export interface ExchangeRecorder {
  /** Wraps a fetch, so that its exchanges are recorded. */
  record: FetchWrapper;
  /** Records one fetch of a request whose name is known. */
  recordOne(name: RequestName, fetch: () => Promise<HttpReply>, recording: OneRecording): Promise<HttpReply>;
  /** Ends recordings that are still open. */
  close(): Promise<void>;
}

interface OneRecording {
  signal: AbortSignal;
  /** Called when a recording that was begun has ended. */
  onEnd?: (() => void) | undefined;
}

/** Opens the folder. Throws GatewayError usage if it cannot be made or written. */
export async function openExchangeRecorder(options: ExchangeRecorderOptions): Promise<ExchangeRecorder> {
  await openRecordingFolder(options.folder);
  const open = new Set<RecordingWriter>();
  let last = 0;
  const recordOne: ExchangeRecorder['recordOne'] = async (name, fetch, { signal, onEnd }) => {
    // Equal requests are answered in the order of their times, so no two have the same time.
    const at = (last = Math.max(options.now(), last + 1));
    const start = (reply?: HttpReply): RecordingWriter => {
      const { chunk, end } = startRecording({ name, at, reply }, options);
      const leave = (): void => void writer.end('left');
      const forget = (): void => {
        signal.removeEventListener('abort', leave);
        open.delete(writer);
        onEnd?.();
      };
      const writer: RecordingWriter = { chunk, end: (ended) => end(ended).finally(forget) };
      open.add(writer);
      // A reader that leaves before it began to read ends no loop over the body.
      signal.addEventListener('abort', leave, { once: true });
      if (signal.aborted) leave();
      return writer;
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
    record: (next) => async (request, call) =>
      recordOne(await nameRequest(request), () => next(request, call), { signal: call.signal }),
    async close() {
      await Promise.all([...open].map((writer) => writer.end('left')));
    },
  };
}

async function openRecordingFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder);
    // A file is created and removed, so that a folder that cannot be written is an error before anything is sent.
    await newFileMode(folder);
    await clearDeadParts(folder, await readdir(folder));
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
 * Opens a temporary file (0600) in the folder; it becomes a recording when the exchange has ended. There is no reply if the
 * connection was lost before its head.
 */
function startRecording(
  { name, at, reply }: { name: RequestName; at: number; reply: HttpReply | undefined },
  { folder, mask, onFailure }: ExchangeRecorderOptions,
): RecordingWriter {
  const masker = createChunkMasker(mask);
  let pending = encodeHead({ scope: name.scope, at }, mask.hide(name.text));
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
        await placeRecording(file.path, { folder, request: name.folder, bytes: written });
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
  // The failure is reported with the first write.
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
