import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../errors.ts';
import { placeFile } from '../files/temp-file.ts';
import { createTempFile, removeFile, type TempFile, writeFully } from '../files/temp-file.ts';
import type { HttpReply } from '../transport/types.ts';
import { recordingName, partNonce } from './parts.ts';
import { encodeHead, encodeLine, type Ended } from './format.ts';
import { type RequestKey, secretWord } from './request-key.ts';

/** Lines wait in memory until there is so much to write, in characters. */
const blockLength = 64 * 1024;

/** Where recordings go, and what they need. */
export interface RecorderOptions {
  /** Absolute path; made where it is missing. */
  folder: string;
  mask: Mask;
  /** Monotonic clock, ms. */
  elapsed: () => number;
  /** Wall clock, ms since 1970. */
  now: () => number;
  /** Told when a recording could not be written; the exchange itself goes on. */
  onFailure: (error: unknown) => void;
  /** Told of every recording that has its name. */
  onKept?: ((key: RequestKey, path: string) => void) | undefined;
}

/** One exchange on its way into a file. A failure to write ends the recording, not the exchange. */
export interface RecordingWriter {
  chunk(bytes: Uint8Array): Promise<void>;
  /** Writes the end and gives the file its name. Only the first call counts. */
  end(ended: Ended): Promise<void>;
}

/** What is known of an exchange before its first chunk. */
export interface RecordingStart {
  key: RequestKey;
  /** Which of the equal requests it is, from 1. */
  number: number;
  /** When the request went out, by the monotonic clock. */
  started: number;
  /** The same by the wall clock. */
  at: number;
  /** Absent where the connection was lost before the head. */
  reply: HttpReply | undefined;
}

/** Opens a temporary file (0600) in the folder; it becomes a recording when the exchange has ended. */
export function startRecording(start: RecordingStart, options: RecorderOptions): RecordingWriter {
  const { key, number, started, at, reply } = start;
  const { folder, mask, elapsed, onFailure, onKept } = options;
  const masker = createChunkMasker(mask);
  const delay = delayClock(elapsed, started);
  let pending = encodeHead({ hash: key.hash, scope: key.scope, at }, mask.hide(key.text));
  if (reply) {
    const { status, headers } = reply;
    pending += mask.hide(encodeLine({ kind: 'reply', status, headers: keptHeaders(headers), delay: delay() }));
  }
  let written = 0;
  const flush = async ({ handle }: TempFile): Promise<void> => {
    const bytes = Buffer.from(pending);
    pending = '';
    await writeFully(handle, bytes, written);
    written += bytes.byteLength;
  };
  const writeChunks = async (file: TempFile, chunks: TimedChunk[]): Promise<void> => {
    for (const chunk of chunks) {
      pending += encodeLine({ kind: 'chunk', ...chunk });
      if (pending.length >= blockLength) await flush(file);
    }
  };
  const next = createQueue(createTempFile(folder, { nonce: partNonce }), onFailure);
  let ending: Promise<void> | undefined;
  return {
    chunk(bytes) {
      const chunk = { bytes, delay: delay() };
      return next((file) => writeChunks(file, masker.push(chunk)));
    },
    end(ended) {
      if (ending) return ending;
      const line = encodeLine({ kind: 'ended', ended, delay: delay() });
      ending = next(async (file) => {
        await writeChunks(file, masker.end());
        pending += line;
        await flush(file);
        await file.handle.close();
        const final = await publish(file.path, { folder, key, number, bytes: written });
        onKept?.(key, final);
      });
      return ending;
    },
  };
}

/** Rounded from the start on, so that the sum of all delays stays right. */
function delayClock(elapsed: () => number, started: number): () => number {
  let last = 0;
  return () => {
    const now = Math.round(elapsed() - started);
    const waited = now - last;
    last = now;
    return waited;
  };
}

/**
 * Writes one after the other: whoever closes the recorder may come while a chunk is being written. After the first failure,
 * which is told, the file is removed and nothing more is written.
 */
function createQueue(
  opening: Promise<TempFile>,
  onFailure: (error: unknown) => void,
): (act: (file: TempFile) => Promise<void>) => Promise<void> {
  // Told with the first chunk or at the end, whichever comes first.
  opening.catch(() => undefined);
  let failed = false;
  let tail = Promise.resolve();
  const attempt = async (act: (file: TempFile) => Promise<void>): Promise<void> => {
    if (failed) return;
    try {
      await act(await opening);
    } catch (error) {
      failed = true;
      await opening.then(discard).catch(() => undefined);
      onFailure(error);
    }
  };
  return (act) => (tail = tail.then(() => attempt(act)));
}

async function discard({ path, handle }: TempFile): Promise<void> {
  await handle.close().catch(() => undefined);
  await removeFile(path);
}

/** Takes the next number where another process was faster. Returns the path. */
async function publish(
  temp: string,
  { folder, key, number, bytes }: { folder: string; key: RequestKey; number: number; bytes: number },
): Promise<string> {
  for (let at = number; ; at++) {
    const final = join(folder, recordingName(key, at));
    try {
      await placeFile(temp, final, { bytes, replace: false });
      // A file system without links gets a copy, which has the rights of an ordinary file.
      await chmod(final, 0o600);
      return final;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}

/** Headers of one connection: they say nothing of the reply. */
const hopHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The headers of a reply that are kept: none of the connection's, none that holds a secret. */
function keptHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const named = new Set((headers['connection'] ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const kept = Object.entries(headers).filter(
    ([name]) => !hopHeaders.has(name) && !named.has(name) && !secretWord.test(name),
  );
  return Object.fromEntries(kept);
}

/** Hides secrets in a text, character for character. */
export interface Mask {
  hide(text: string): string;
  /** Length of the longest secret, in characters. */
  reach: number;
}

/** A chunk with the time since the one before, in ms. */
export interface TimedChunk {
  bytes: Uint8Array;
  delay: number;
}

/** Hides secrets in chunks also where one ends in the next: what may still be the beginning of one is held back. */
export interface ChunkMasker {
  /** Takes a chunk; returns those that are settled, in order, each as long as it came. */
  push(chunk: TimedChunk): TimedChunk[];
  /** The rest. */
  end(): TimedChunk[];
}

/** Masks byte for byte, so that every chunk keeps its length and its place. */
export function createChunkMasker({ hide, reach }: Mask): ChunkMasker {
  let held: TimedChunk[] = [];
  const settle = (): void => {
    const whole = Buffer.concat(held.map(({ bytes }) => bytes));
    const text = whole.toString('latin1');
    const hidden = hide(text);
    if (hidden === text) return;
    const masked = Buffer.from(hidden, 'latin1');
    let at = 0;
    held = held.map(({ bytes, delay }) => {
      const part = masked.subarray(at, at + bytes.byteLength);
      at += bytes.byteLength;
      return { bytes: part, delay };
    });
  };
  const release = (keep: number): TimedChunk[] => {
    let kept = 0;
    let from = held.length;
    while (from > 0 && kept < keep) kept += held[--from]?.bytes.byteLength ?? 0;
    return held.splice(0, from);
  };
  return {
    push(chunk) {
      held.push(chunk);
      if (reach === 0) return release(0);
      settle();
      return release(reach - 1);
    },
    end() {
      if (reach > 0) settle();
      return release(0);
    },
  };
}
