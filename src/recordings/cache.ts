import { stat } from 'node:fs/promises';
import { untilAborted } from '../clock.ts';
import { codeOf, GatewayError } from '../errors.ts';
import type { HttpReply } from '../transport/types.ts';
import { parseHead, readFirstLine, type RecordingHead } from './format.ts';
import { openRecorder, type Recorder, type RecorderOptions } from './recorder.ts';
import { openGrowingIndex } from './recording-index.ts';
import { playRecording } from './replay.ts';
import { describeRequest, type RequestKey } from './request-key.ts';

/** How a folder is used as a cache. */
interface CacheOptions extends RecorderOptions {
  /** Older recordings are not used, in ms. */
  maxAgeMs?: number | undefined;
  isComplete: IsComplete;
}

/** Reads a reply to its end; false if it is cut or damaged. `path` is that of the request, below the base URL. */
type IsComplete = (path: string, reply: HttpReply) => Promise<boolean>;

/**
 * Answers from the recordings of a folder, and sends and records other requests. Only complete replies with status 200 are
 * used. Of equal requests at the same time one is sent, and the others wait for its recording. Throws GatewayError like
 * `openRecorder`.
 */
export async function openCache(options: CacheOptions): Promise<Pick<Recorder, 'record' | 'close'>> {
  const recorder = await openRecorder({ ...options, onRecorded: (key, path) => index.add(key, path) });
  const index = await openGrowingIndex(options.folder);
  const acquire = createNamedLocks();
  const find = createFinder(options);
  return {
    record: (exchange, base) => async (request, exchangeOptions) => {
      const { signal } = exchangeOptions;
      const key = await describeRequest(request, base);
      const release = await acquire(`${key.hash} ${key.scope} ${request.sample ?? 0}`, signal);
      try {
        const found = await find(index.find(key), key, request.sample);
        if (found !== undefined) {
          release();
          const reply = await playRecording(found.path, request, { signal, endsWell: true });
          return { ...reply, recordedAt: found.at };
        }
        const reply = await recorder.recordOne(key, () => exchange(request, exchangeOptions), signal);
        return { ...reply, body: endingWith(reply.body, release) };
      } catch (error) {
        release();
        throw error;
      }
    },
    close: () => recorder.close(),
  };
}

async function* endingWith(body: AsyncIterable<Uint8Array>, end: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    end();
  }
}

/** A recording that can answer. */
interface UsableRecording extends Pick<RecordingHead, 'hash' | 'scope'> {
  path: string;
  /** When it was recorded, ms since 1970. */
  at: number;
}

/** Finds the answer with a number, from 0, among the recordings of a request. Each file is checked once. */
function createFinder({
  now,
  maxAgeMs = Infinity,
  isComplete,
}: CacheOptions): (paths: readonly string[], key: RequestKey, sample?: number) => Promise<UsableRecording | undefined> {
  const checks = new Map<string, Promise<UsableRecording | undefined>>();
  return async (paths, { hash, scope }, sample = 0) => {
    let left = sample;
    for (const path of paths) {
      // One that cannot be read is not used; the others are.
      const check = checks.get(path) ?? checkRecording(path, isComplete).catch(() => undefined);
      checks.set(path, check);
      const found = await check;
      if (found?.hash !== hash || found.scope !== scope || now() - found.at > maxAgeMs) continue;
      if (left-- === 0) return found;
    }
    return undefined;
  };
}

/** Undefined if the file is not a recording of a complete reply with status 200, or was removed. */
export async function checkRecording(path: string, isComplete: IsComplete): Promise<UsableRecording | undefined> {
  try {
    const head = parseHead(await readFirstLine(path));
    if (head === undefined) return undefined;
    const request = { method: head.request.method, url: new URL('http://recording') };
    const { signal } = new AbortController();
    const reply = await playRecording(path, request, { signal });
    if (reply.status !== 200 || !(await isComplete(head.request.path, reply))) return undefined;
    const { hash, scope } = head;
    return { path, hash, scope, at: head.at ?? (await stat(path)).mtimeMs };
  } catch (error) {
    if (error instanceof GatewayError || codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** A lock for each name. Resolves with the function that releases it; rejects with the signal's reason. */
function createNamedLocks(): (name: string, signal: AbortSignal) => Promise<() => void> {
  /** Each resolves at its release. */
  const held = new Map<string, Promise<void>>();
  return async (name, signal) => {
    signal.throwIfAborted();
    for (let lock = held.get(name); lock !== undefined; lock = held.get(name)) await untilAborted(lock, signal);
    let release!: () => void;
    const own = new Promise<void>((resolve) => (release = resolve));
    held.set(name, own);
    return () => {
      if (held.get(name) === own) held.delete(name);
      release();
    };
  };
}
