import { untilAborted } from '../clock.ts';
import { getErrorCode, GatewayError } from '../errors.ts';
import type { Fetch, HttpReply, HttpRequest } from '../transport/types.ts';
import {
  type RecordingEnd,
  parseHead,
  parseRecordingLine,
  readFirstLine,
  readRecordingLines,
  type RecordingHead,
  type RecordingLine,
} from './format.ts';
import { openExchangeRecorder, type ExchangeRecorder, type ExchangeRecorderOptions } from './recorder.ts';
import { openGrowingIndex, openIndex } from './recording-index.ts';
import { describeRequest, type RequestKey } from './request-key.ts';

/**
 * Answers requests from the recordings of a folder, chunk by chunk without waits; nothing is sent. The fetch throws
 * GatewayError usage if no recording matches, bad-reply if one cannot be read.
 */
export async function openReplay(folder: string): Promise<Fetch> {
  const take = await openIndex(folder, isWholeFile);
  return async (request, { signal, onSent }) => {
    signal.throwIfAborted();
    const path = await take(await describeRequest(request), signal);
    onSent?.();
    return playRecording(path, request, { signal });
  };
}

/** How a folder is used as a cache. */
interface CacheOptions extends ExchangeRecorderOptions {
  /** Older recordings are not used, in ms. */
  maxAgeMs?: number | undefined;
  isComplete: IsComplete;
}

/** Reads a reply to its end; false if it is cut or damaged. `path` is that of the request, below the base URL. */
type IsComplete = (path: string, reply: HttpReply) => Promise<boolean>;

/**
 * Answers from the recordings of a folder, and sends and records other requests. Only complete replies with status 200 are
 * used. Of equal requests at the same time one is sent, and the others wait for its recording. Throws GatewayError like
 * `openExchangeRecorder`.
 */
export async function openCache(options: CacheOptions): Promise<Pick<ExchangeRecorder, 'record' | 'close'>> {
  const recorder = await openExchangeRecorder({ ...options, onRecorded: (key, path) => index.add(key, path) });
  const index = await openGrowingIndex(options.folder);
  const acquire = createNamedLocks();
  const find = createFinder(options);
  return {
    record: (next) => async (request, call) => {
      const { signal } = call;
      const key = await describeRequest(request);
      const release = await acquire(`${key.hash} ${key.scope} ${request.sample ?? 0}`, signal);
      try {
        const found = await find(index.find(key), key, request.sample);
        if (found !== undefined) {
          release();
          const reply = await playRecording(found.path, request, { signal, endsWell: true });
          return { ...reply, recordedAt: found.at };
        }
        const reply = await recorder.recordOne(key, () => next(request, call), signal);
        // A reader that leaves before it began to read ends no loop over the body.
        signal.addEventListener('abort', release, { once: true });
        if (signal.aborted) release();
        const end = () => {
          signal.removeEventListener('abort', release);
          release();
        };
        return { ...reply, body: endingWith(reply.body, end) };
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
      // A recording that cannot be read is skipped.
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
async function checkRecording(path: string, isComplete: IsComplete): Promise<UsableRecording | undefined> {
  try {
    const head = parseHead(readFirstLine(path));
    if (head === undefined) return undefined;
    const request = { method: head.request.method, url: new URL('http://recording') };
    const { signal } = new AbortController();
    const reply = await playRecording(path, request, { signal });
    if (reply.status !== 200) {
      // Its file stays open until it is read.
      for await (const _ of reply.body);
      return undefined;
    }
    if (!(await isComplete(head.request.path, reply))) return undefined;
    const { hash, scope, at } = head;
    return { path, hash, scope, at };
  } catch (error) {
    if (error instanceof GatewayError || getErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** A lock for each name. Resolves with the function that releases it; rejects with the signal's reason. */
function createNamedLocks(): (name: string, signal: AbortSignal) => Promise<() => void> {
  /** Each promise resolves when its lock is released. */
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

/** How errors name a request. */
type RequestName = Pick<HttpRequest, 'method' | 'url'>;

/**
 * The reply of a recording. With `endsWell`, a reply that was cut after its reader had all it needed ends without an error.
 * Throws GatewayError like `openReplay`'s fetch.
 */
async function playRecording(
  path: string,
  request: RequestName,
  { signal, endsWell = false }: { signal: AbortSignal; endsWell?: boolean },
): Promise<HttpReply> {
  const lines = readRecording(path);
  async function* playBody(): AsyncGenerator<Uint8Array> {
    for await (const line of lines) {
      signal.throwIfAborted();
      if (line.kind === 'chunk') yield line.bytes;
      if (line.kind === 'reply') break;
      if (line.kind !== 'ended') continue;
      if (line.ended === 'end' || endsWell) return;
      throw lossIn('body', line.ended, request);
    }
    throw broken(path, undefined);
  }
  try {
    const { value: reply } = await lines.next();
    if (reply?.kind === 'ended' && reply.ended !== 'end') throw lossIn('head', reply.ended, request);
    if (reply?.kind !== 'reply') throw broken(path, 2);
    return { status: reply.status, headers: reply.headers, body: playBody() };
  } catch (error) {
    await lines.return(undefined);
    throw error;
  }
}

/** Whether a recording can be read to its end. */
async function isWholeFile(path: string): Promise<boolean> {
  let last: RecordingLine | undefined;
  try {
    for await (const line of readRecording(path)) last = line;
  } catch {
    return false;
  }
  return last?.kind === 'ended';
}

/** The lines after the first. */
async function* readRecording(path: string): AsyncGenerator<RecordingLine> {
  let number = 0;
  for await (const text of readRecordingLines(path)) {
    if (++number === 1 || text === '') continue;
    const line = parseRecordingLine(text);
    if (!line) throw broken(path, number);
    yield line;
  }
}

const lossReasons = {
  cut: 'the connection was closed',
  reset: 'the connection was reset (ECONNRESET)',
  left: 'the recording ends here',
};

/** The error of the recorded exchange, whose connection was lost in a part of the reply; after `left` there is nothing more to replay. */
function lossIn(
  part: 'head' | 'body',
  ended: Exclude<RecordingEnd, 'end'>,
  { method = 'POST', url }: RequestName,
): GatewayError {
  const words = lossReasons[ended];
  const code = ended === 'reset' ? 'ECONNRESET' : 'UND_ERR_SOCKET';
  const request = `${method} ${url.origin}${url.pathname}`;
  const facts = { sent: 'yes', request, cause: Object.assign(new Error(words), { code }) } as const;
  if (part === 'body')
    return new GatewayError('incomplete', `the reply was cut: ${words}`, { ...facts, retryable: true });
  const more = { reason: 'recorded-loss', retryable: false } as const;
  return new GatewayError('no-reply', `no reply was recorded: ${words}`, { ...facts, ...more });
}

function broken(path: string, line: number | undefined): GatewayError {
  const where = line === undefined ? 'it has no end' : `line ${line} is not one of a recording`;
  return new GatewayError('bad-reply', `cannot replay ${path}: ${where}`, {
    reason: 'recording-broken',
    sent: 'no',
    billed: 'no',
    retryable: false,
  });
}
