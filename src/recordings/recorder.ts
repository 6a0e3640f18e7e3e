import { readdir } from 'node:fs/promises';
import { codeOf, GatewayError, usageError } from '../errors.ts';
import { writeReason } from '../files/file-reason.ts';
import { makeFolder } from '../files/temp-file.ts';
import { newFileMode } from '../files/temp-file.ts';
import type { Exchange, HttpReply } from '../transport/types.ts';
import { readRecordingName, shownHash, clearDeadParts } from './parts.ts';
import type { Ended } from './format.ts';
import { type RecorderOptions, type RecordingWriter, startRecording } from './recording-writer.ts';
import { describeRequest, type RequestKey } from './request-key.ts';

/** Keeps exchanges as recordings. */
export interface Recorder {
  /** The same exchange, recorded; `base` is what the paths of the service begin behind. */
  record(exchange: Exchange, base: URL): Exchange;
  /** Records one exchange of a request that was described already. */
  keep(key: RequestKey, exchange: () => Promise<HttpReply>, signal: AbortSignal): Promise<HttpReply>;
  /** Ends what is still open. */
  close(): Promise<void>;
}

/** Opens the folder. Throws GatewayError usage when it cannot be had, or takes no file. */
export async function openRecorder(options: RecorderOptions): Promise<Recorder> {
  const nextNumber = await openCounter(options.folder);
  const open = new Set<RecordingWriter>();
  const keep: Recorder['keep'] = async (key, exchange, signal) => {
    const asked = { key, number: nextNumber(key.hash), started: options.elapsed(), at: options.now() };
    const start = (reply?: HttpReply): RecordingWriter => {
      const writer = startRecording({ ...asked, reply }, options);
      open.add(writer);
      return { ...writer, end: (ended) => writer.end(ended).finally(() => open.delete(writer)) };
    };
    try {
      const reply = await exchange();
      return { ...reply, body: recorded(reply.body, start(reply), signal) };
    } catch (error) {
      if (isLost(error) && !signal.aborted) await start().end(endedBy(error));
      throw error;
    }
  };
  return {
    keep,
    record: (exchange, base) => async (request, exchangeOptions) =>
      keep(await describeRequest(request, base), () => exchange(request, exchangeOptions), exchangeOptions.signal),
    async close() {
      await Promise.all([...open].map((writer) => writer.end('left')));
    },
  };
}

/** Numbers equal requests in the order in which they were sent, behind those that are in the folder already. */
async function openCounter(folder: string): Promise<(hash: string) => number> {
  const names = await openFolder(folder);
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

async function openFolder(folder: string): Promise<string[]> {
  try {
    await makeFolder(folder);
    // A file that comes and goes: whether one can be kept is known before anything is sent.
    await newFileMode(folder);
    const names = await readdir(folder);
    await clearDeadParts(folder, names);
    return names;
  } catch (error) {
    const reason = codeOf(error) === 'EEXIST' ? 'it is not a folder' : writeReason(error);
    throw usageError(`'${folder}': ${reason}`, 'name a folder that can be written', error);
  }
}

async function* recorded(
  body: AsyncIterable<Uint8Array>,
  writer: RecordingWriter,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let ended: Ended = 'left';
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

/** Whether a request went out and the connection was lost before the head of its reply. */
function isLost(error: unknown): boolean {
  return error instanceof GatewayError && error.class === 'no-reply';
}

function endedBy(error: unknown): Ended {
  return codeOf(error) === 'ECONNRESET' ? 'reset' : 'cut';
}
