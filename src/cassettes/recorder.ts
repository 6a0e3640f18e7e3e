import { readdir } from 'node:fs/promises';
import { codeOf, GatewayError, usageError } from '../errors.ts';
import { makeFolder } from '../files/make-folder.ts';
import { newFileMode } from '../files/place-file.ts';
import type { Exchange, HttpReply } from '../transport/types.ts';
import { readCassetteName, shownHash } from './file-name.ts';
import { clearDeadParts } from './parts.ts';
import { recordReason } from './record-reason.ts';
import { keptHeaders } from './reply-headers.ts';
import { type Recording, startRecording } from './recording.ts';
import { describeRequest, type RequestLine } from './request-line.ts';
import type { Ended, Mask } from './types.ts';

/** What a recorder needs. */
export interface RecorderOptions {
  /** Absolute path; made where it is missing. */
  folder: string;
  mask: Mask;
  /** Monotonic clock, ms. */
  elapsed: () => number;
  /** Told when a cassette could not be written; the exchange itself goes on. */
  onFailure: (error: unknown) => void;
}

/** Keeps exchanges as cassettes. */
export interface Recorder {
  /** The same exchange, recorded; `base` is what the paths of the service begin behind. */
  record(exchange: Exchange, base: URL): Exchange;
  /** Ends what is still open. */
  close(): Promise<void>;
}

/** Opens the folder. Throws GatewayError usage when it cannot be had, or takes no file. */
export async function openRecorder(options: RecorderOptions): Promise<Recorder> {
  const nextNumber = await openCounter(options.folder);
  const open = new Set<Tape>();
  return {
    record: (exchange, base) => async (request, exchangeOptions) => {
      const line = await describeRequest(request, base);
      const number = nextNumber(line.hash);
      const started = options.elapsed();
      const begin = (reply?: HttpReply): Tape => {
        const tape = startTape({ line, number, started, reply }, options, () => open.delete(tape));
        open.add(tape);
        return tape;
      };
      try {
        const reply = await exchange(request, exchangeOptions);
        return { ...reply, body: tapped(reply.body, begin(reply), exchangeOptions.signal) };
      } catch (error) {
        if (isLost(error) && !exchangeOptions.signal.aborted) await begin().end(endedBy(error));
        throw error;
      }
    },
    async close() {
      await Promise.all([...open].map((tape) => tape.end('left')));
    },
  };
}

/** Numbers equal requests in the order in which they were sent, behind those that are in the folder already. */
async function openCounter(folder: string): Promise<(hash: string) => number> {
  const names = await openFolder(folder);
  const last = new Map<string, number>();
  for (const name of names.map(readCassetteName)) {
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
    throw usageError(`--record '${folder}': ${recordReason(error)}`, 'name a folder that can be written', error);
  }
}

interface Tape {
  chunk(bytes: Uint8Array): Promise<void>;
  end(ended: Ended): Promise<void>;
}

interface TapeStart {
  line: RequestLine;
  number: number;
  /** When the request went out, by the clock. */
  started: number;
  /** Absent where none came. */
  reply: HttpReply | undefined;
}

/** A recording with its clock. A failure to write ends it, not the exchange. */
function startTape(start: TapeStart, options: RecorderOptions, onOver: () => void): Tape {
  const { folder, mask, elapsed, onFailure } = options;
  const { line, number, started, reply } = start;
  let last = 0;
  // Rounded from the start on, so that the sum of all delays stays right.
  const delay = (): number => {
    const now = Math.round(elapsed() - started);
    const waited = now - last;
    last = now;
    return waited;
  };
  const head = reply && { status: reply.status, headers: keptHeaders(reply.headers), delay: delay() };
  const opening = startRecording({ folder, mask, line, number, reply: head });
  // Told with the first chunk or at the end, whichever comes first.
  opening.catch(() => undefined);
  let failed = false;
  const attempt = async (act: (recording: Recording) => Promise<void>): Promise<void> => {
    if (failed) return;
    try {
      await act(await opening);
    } catch (error) {
      failed = true;
      await opening.then((recording) => recording.discard()).catch(() => undefined);
      onFailure(error);
    }
  };
  // One after the other: whoever closes the recorder may come while a chunk is being written.
  let tail = Promise.resolve();
  const next = (act: (recording: Recording) => Promise<void>): Promise<void> => (tail = tail.then(() => attempt(act)));
  let ending: Promise<void> | undefined;
  return {
    chunk(bytes) {
      const chunk = { bytes, delay: delay() };
      return next((recording) => recording.chunk(chunk));
    },
    end(ended) {
      if (ending) return ending;
      const waited = delay();
      ending = next((recording) => recording.finish(ended, waited)).finally(onOver);
      return ending;
    },
  };
}

async function* tapped(body: AsyncIterable<Uint8Array>, tape: Tape, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let ended: Ended = 'left';
  try {
    for await (const chunk of body) {
      await tape.chunk(chunk);
      yield chunk;
    }
    ended = 'end';
  } catch (error) {
    if (!signal.aborted) ended = endedBy(error);
    throw error;
  } finally {
    await tape.end(ended);
  }
}

/** Whether a request went out and the connection was lost before the head of its reply. */
function isLost(error: unknown): boolean {
  return error instanceof GatewayError && error.class === 'no-reply';
}

function endedBy(error: unknown): Ended {
  return codeOf(error) === 'ECONNRESET' ? 'reset' : 'cut';
}
