import { once, setMaxListeners } from 'node:events';
import { stat } from 'node:fs/promises';
import { codeOf, GatewayError } from '../errors.ts';
import type { HttpReply } from '../transport/types.ts';
import { parseHead, readFirstLine, type RecordingHead } from './format.ts';
import { openRecorder, type Recorder } from './recorder.ts';
import { openGrowingIndex } from './recording-index.ts';
import type { RecorderOptions } from './recording-writer.ts';
import { playRecording } from './replay.ts';
import { describeRequest, type RequestKey } from './request-key.ts';

/** How a folder is used as a cache. */
export interface CacheOptions extends RecorderOptions {
  /** Recordings that are older do not answer, in ms. */
  maxAgeMs?: number | undefined;
  isWhole: IsWhole;
}

/** Reads a reply to its end; false where it is cut or broken. `path` is that of the request, below the base URL. */
export type IsWhole = (path: string, reply: HttpReply) => Promise<boolean>;

/**
 * Answers from the recordings of a folder, and records what has to be asked. Only whole replies with status 200 answer.
 * Of equal requests at once one is asked, and the others wait for its recording. Throws GatewayError like `openRecorder`.
 */
export async function openCache(options: CacheOptions): Promise<Pick<Recorder, 'record' | 'close'>> {
  const recorder = await openRecorder({ ...options, onKept: (key, path) => index.add(key, path) });
  const index = await openGrowingIndex(options.folder);
  const takeTurn = createTurns();
  const find = createFinder(options);
  return {
    record: (exchange, base) => async (request, exchangeOptions) => {
      const { signal } = exchangeOptions;
      const key = await describeRequest(request, base);
      const endTurn = await takeTurn(`${key.hash} ${key.scope} ${request.sample ?? 0}`, signal);
      try {
        const kept = await find(index.find(key), key, request.sample);
        if (kept !== undefined) {
          endTurn();
          const reply = await playRecording(kept.path, request, { signal, endsWell: true });
          return { ...reply, recordedAt: kept.at };
        }
        const reply = await recorder.keep(key, () => exchange(request, exchangeOptions), signal);
        return { ...reply, body: endingWith(reply.body, endTurn) };
      } catch (error) {
        endTurn();
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

/** A recording that may answer. */
interface Kept extends Pick<RecordingHead, 'hash' | 'scope'> {
  path: string;
  /** When it was recorded, ms since 1970. */
  at: number;
}

/** Finds the answer with a number, from 0, among the recordings of a request. Each file is judged once. */
function createFinder({
  now,
  maxAgeMs = Infinity,
  isWhole,
}: CacheOptions): (paths: readonly string[], key: RequestKey, sample?: number) => Promise<Kept | undefined> {
  const judged = new Map<string, Promise<Kept | undefined>>();
  return async (paths, { hash, scope }, sample = 0) => {
    let left = sample;
    for (const path of paths) {
      // One that cannot be read does not answer; the others do.
      const judging = judged.get(path) ?? judgeRecording(path, isWhole).catch(() => undefined);
      judged.set(path, judging);
      const kept = await judging;
      if (kept?.hash !== hash || kept.scope !== scope || now() - kept.at > maxAgeMs) continue;
      if (left-- === 0) return kept;
    }
    return undefined;
  };
}

/** Undefined where the file is no recording of a whole reply with status 200, or where somebody removed it. */
export async function judgeRecording(path: string, isWhole: IsWhole): Promise<Kept | undefined> {
  try {
    const head = parseHead(await readFirstLine(path));
    if (head === undefined) return undefined;
    const request = { method: head.request.method, url: new URL('http://recording') };
    const { signal } = new AbortController();
    const reply = await playRecording(path, request, { signal });
    if (reply.status !== 200 || !(await isWhole(head.request.path, reply))) return undefined;
    const { hash, scope } = head;
    return { path, hash, scope, at: head.at ?? (await stat(path)).mtimeMs };
  } catch (error) {
    if (error instanceof GatewayError || codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Lets one after the other use a name. The function that it resolves with ends the turn. Rejects with the signal's reason. */
function createTurns(): (name: string, signal: AbortSignal) => Promise<() => void> {
  /** Each aborts when the turn is over. */
  const turns = new Map<string, AbortController>();
  return async (name, signal) => {
    signal.throwIfAborted();
    for (let turn = turns.get(name); turn !== undefined; turn = turns.get(name)) {
      await once(turn.signal, 'abort', { signal }).catch(() => signal.throwIfAborted());
    }
    const own = new AbortController();
    setMaxListeners(0, own.signal);
    turns.set(name, own);
    return () => {
      if (turns.get(name) === own) turns.delete(name);
      own.abort();
    };
  };
}
