import { untilAborted } from '../clock.ts';
import type { HttpReply } from '../transport/types.ts';
import { listFiles, readRecordings, type Recording } from './folder.ts';
import { type ExchangeRecorder, type ExchangeRecorderOptions, openExchangeRecorder } from './recorder.ts';
import { playRecording } from './replay.ts';
import { nameRequest, type RequestName } from './request-name.ts';

/** The options of a folder that is used as a cache. */
interface CacheOptions extends ExchangeRecorderOptions {
  /** The age after which recordings are not used, in ms. */
  maxAgeMs?: number | undefined;
  isComplete: IsComplete;
}

/** Reads a reply to its end; false if it is cut or damaged. `path` is that of the request, below the base URL. */
type IsComplete = (path: string, reply: HttpReply) => Promise<boolean>;

/**
 * Answers from the recordings of a folder, and sends and records other requests. Only complete replies with status 200 are used. Of
 * equal requests at the same time one is sent, and the others wait for its recording. Throws GatewayError in the same way as
 * `openExchangeRecorder`.
 */
export async function openCache(options: CacheOptions): Promise<Pick<ExchangeRecorder, 'record' | 'close'>> {
  const recorder = await openExchangeRecorder(options);
  const acquire = createNamedLocks();
  return {
    record: (next) => async (request, call) => {
      const { signal } = call;
      const name = await nameRequest(request);
      const release = await acquire(`${name.folder} ${name.scope} ${request.sample ?? 0}`, signal);
      try {
        const found = await findAnswer(name, request.sample ?? 0, options);
        if (found === undefined)
          return await recorder.recordOne(name, () => next(request, call), { signal, onEnd: release });
        release();
        return await playRecording(found.path, request, { signal, endsWell: true });
      } catch (error) {
        release();
        throw error;
      }
    },
    close: () => recorder.close(),
  };
}

/** The answer with an index, from 0, among the recordings of a request that can answer. */
async function findAnswer(
  { folder: request, scope }: RequestName,
  index: number,
  { folder, now, maxAgeMs = Infinity, isComplete }: CacheOptions,
): Promise<Recording | undefined> {
  let left = index;
  for (const recording of readRecordings(listFiles(folder, request))) {
    if (recording.scope !== scope || now() - recording.at > maxAgeMs) continue;
    if ((await canAnswer(recording, isComplete)) && left-- === 0) return recording;
  }
  return undefined;
}

/** Whether a recording has a complete reply with status 200. */
async function canAnswer({ path, request }: Recording, isComplete: IsComplete): Promise<boolean> {
  const { signal } = new AbortController();
  try {
    const asked = { method: request.method, url: new URL('http://recording') };
    const reply = await playRecording(path, asked, { signal });
    if (reply.status === 200) return await isComplete(request.path, reply);
    // The file of the reply stays open until it is read to its end.
    for await (const _ of reply.body);
    return false;
  } catch {
    return false;
  }
}

/** Makes a lock for each name. Resolves with the function that releases the lock; rejects with the signal's reason. */
function createNamedLocks(): (name: string, signal: AbortSignal) => Promise<() => void> {
  /** Each promise resolves when its lock is released. */
  const locks = new Map<string, Promise<void>>();
  return async (name, signal) => {
    signal.throwIfAborted();
    for (let lock = locks.get(name); lock !== undefined; lock = locks.get(name)) await untilAborted(lock, signal);
    let release!: () => void;
    const own = new Promise<void>((resolve) => (release = resolve));
    locks.set(name, own);
    return () => {
      if (locks.get(name) === own) locks.delete(name);
      release();
    };
  };
}
