import { stat } from 'node:fs/promises';
import { codeOf, GatewayError } from '../errors.ts';
import type { HttpReply, HttpRequest } from '../transport/types.ts';
import { parseHead, readFirstLine } from './format.ts';
import { openRecorder, type Recorder } from './recorder.ts';
import { openGrowingIndex } from './recording-index.ts';
import type { RecorderOptions } from './recording-writer.ts';
import { playRecording, type ReplayOptions } from './replay.ts';
import { describeRequest } from './request-key.ts';

/** How a folder is used as a cache. */
export interface CacheOptions extends RecorderOptions, ReplayOptions {
  /** Recordings that are older do not answer, in ms. */
  maxAgeMs?: number | undefined;
  /** Reads a reply to its end; false where it is cut or broken. `path` is that of the request, below the base URL. */
  isWhole: (path: string, reply: HttpReply) => Promise<boolean>;
}

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
      const endTurn = await takeTurn(`${key.hash} ${request.sample ?? 0}`, signal);
      try {
        const kept = await find(index.find(key), request);
        if (kept !== undefined) {
          endTurn();
          const reply = await playRecording(kept.path, request, { ...options, signal, endsWell: true });
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
interface Kept {
  path: string;
  /** When it was recorded, ms since 1970. */
  at: number;
}

/** Finds the answer to a request among its recordings. Each file is judged once. */
function createFinder(
  options: CacheOptions,
): (paths: readonly string[], request: HttpRequest) => Promise<Kept | undefined> {
  const { now, maxAgeMs = Infinity } = options;
  const judged = new Map<string, Promise<Kept | undefined>>();
  return async (paths, request) => {
    let left = request.sample ?? 0;
    for (const path of paths) {
      const judging = judged.get(path) ?? judge(path, request, options);
      judged.set(path, judging);
      const kept = await judging;
      if (kept === undefined || now() - kept.at > maxAgeMs) continue;
      if (left-- === 0) return kept;
    }
    return undefined;
  };
}

/** Undefined where the file is no recording of a whole reply with status 200, or where somebody removed it. */
async function judge(path: string, request: HttpRequest, options: CacheOptions): Promise<Kept | undefined> {
  try {
    const head = parseHead(await readFirstLine(path));
    if (head === undefined) return undefined;
    const { signal } = new AbortController();
    const reply = await playRecording(path, request, { ...options, speed: 0, signal });
    if (reply.status !== 200 || !(await options.isWhole(head.request.path, reply))) return undefined;
    return { path, at: head.at ?? (await stat(path)).mtimeMs };
  } catch (error) {
    if (error instanceof GatewayError || codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Lets one after the other use a name. The function that it resolves with ends the turn. Rejects with the signal's reason. */
function createTurns(): (name: string, signal: AbortSignal) => Promise<() => void> {
  const turns = new Map<string, Promise<void>>();
  return async (name, signal) => {
    for (let turn = turns.get(name); turn !== undefined; turn = turns.get(name)) await untilEnd(turn, signal);
    signal.throwIfAborted();
    let settle = (): void => undefined;
    const own = new Promise<void>((resolve) => (settle = resolve));
    turns.set(name, own);
    return () => {
      if (turns.get(name) === own) turns.delete(name);
      settle();
    };
  };
}

async function untilEnd(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let leave = (): void => undefined;
  const aborted = new Promise<void>((resolve) => (leave = resolve));
  signal.addEventListener('abort', leave, { once: true });
  await Promise.race([turn, aborted]);
  signal.removeEventListener('abort', leave);
}
