import { constants } from 'node:fs';
import { type FileHandle, open, readFile, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  type BodyValue,
  copyAside,
  describeOwner,
  describeReadError,
  describeWriteError,
  GatewayError,
  getErrorCode,
  isUpload,
  type JsonValue,
  type Lock,
  notWritten,
  readFileLines,
  settingError,
  shellWord,
  syncFolder,
  takeLock,
  usageError,
  writeFully,
} from '../../library/index.ts';
import { endsTurn, parseMessage, type SessionMessage } from './message.ts';

/** The content of a session file. */
interface StoredSession {
  messages: SessionMessage[];
  /** End of these messages in the file; the rest is an incomplete turn after a crash. */
  end: number;
  /** Size of the file. */
  size: number;
  /** The last message has no line break. */
  lacksBreak: boolean;
}

/** A session that only this process writes. */
export interface SessionFile {
  readonly path: string;
  readonly messages: readonly SessionMessage[];
  /** Whether the file ends with an incomplete turn after a crash; the next write moves it to `sessionAsideFile`. */
  readonly torn: boolean;
  /** Appends a complete turn and syncs it. Throws GatewayError not-written; then the file is unchanged. */
  append(turn: readonly SessionMessage[]): Promise<void>;
  /** Releases the lock. */
  close(): Promise<void>;
}

/** The file for incomplete turns of a session. */
export function sessionAsideFile(path: string): string {
  return `${path}.aside`;
}

/** The warning about an incomplete turn. */
export function describeCutTurn(path: string): string {
  return `the last turn in ${path} was cut by a crash; it is left out`;
}

/**
 * Reads a session; a missing file is an empty session. An incomplete turn after complete ones, left by a crash, is ignored.
 * Throws GatewayError usage for a file that is not a session.
 */
export async function readSession(path: string): Promise<StoredSession> {
  const messages: SessionMessage[] = [];
  const ends: number[] = [];
  const { size, torn, lacksBreak, kept } = await scanSession(path, (message, end) => {
    messages.push(message);
    ends.push(end);
  });
  const isWhole = !torn && kept === messages.length;
  const end = isWhole ? size : (ends[kept - 1] ?? 0);
  return { messages: messages.slice(0, kept), end, size, lacksBreak: lacksBreak && end === size };
}

/**
 * The number of messages of a session, and its first prompt. The session is not read into memory as a whole: pictures make some
 * large. Throws the errors of `readSession`.
 */
export async function summarizeSession(
  path: string,
): Promise<{ messages: number; prompt: SessionMessage | undefined }> {
  let [count, at] = [0, 0];
  let prompt: SessionMessage | undefined;
  const see = (message: SessionMessage): void => {
    count++;
    if (prompt === undefined && message.role === 'user') [prompt, at] = [message, count];
  };
  const { kept } = await scanSession(path, see, isInsideData);
  return { messages: kept, prompt: at <= kept ? prompt : undefined };
}

/**
 * Whether a block of a line is the middle of a long string such as a picture's: all other JSON of this length has one of these
 * characters.
 */
function isInsideData(block: Buffer, before: Buffer): boolean {
  // The block begins in the middle of an escape such as `\u00e9`.
  if (before.subarray(-6).includes('\\')) return false;
  return !['"', '\\', ',', ' '].some((character) => block.includes(character));
}

/** Reads a session line by line. `kept`: the number of messages in its complete turns. `lacksBreak`: its last line has none. */
async function scanSession(
  path: string,
  onMessage: (message: SessionMessage, end: number) => void,
  leavesOut?: (block: Buffer, before: Buffer) => boolean,
): Promise<Pick<StoredSession, 'size' | 'lacksBreak'> & { torn: boolean; kept: number }> {
  let [size, count, whole, answered] = [0, 0, 0, 0];
  let last: { number: number; isMessage: boolean } | undefined;
  let lacksBreak = false;
  try {
    for await (const lines of readFileLines(path, { maxBytes: Number.POSITIVE_INFINITY, leavesOut }))
      for (const { text, number, bytes, whole: hasBreak } of lines) {
        // A crash can have cut only the last line.
        if (last?.isMessage === false) throw noSession(path, last.number);
        size += bytes;
        lacksBreak = !hasBreak;
        const json = text.replace(/^\uFEFF/, '').trim();
        if (json === '') continue;
        const message = parseMessage(json);
        last = { number, isMessage: message !== undefined };
        if (message === undefined) continue;
        count++;
        if (message.role === 'assistant') answered = count;
        if (endsTurn(message)) whole = count;
        onMessage(message, size);
      }
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw usageError(
      `the session ${JSON.stringify(path)} cannot be read: ${describeReadError(error)}`,
      `look at it: ls -ld ${shellWord(path)}`,
      error,
    );
  }
  const torn = last?.isMessage === false;
  const kept = torn ? whole : answered;
  if (kept === 0 && last !== undefined) throw noSession(path, torn ? last.number : undefined);
  return { size, lacksBreak, torn, kept };
}

/** A file without a complete turn is not a session, so it is never written. */
function noSession(path: string, line: number | undefined): GatewayError {
  const lack = line === undefined ? 'no answered turn' : `no message in line ${line}`;
  return usageError(
    `the session ${JSON.stringify(path)} holds ${lack}`,
    'name another file; a session has a line {"role":"user","content":"…"} for each message, and "assistant" for the answers',
  );
}

/** Locks a session and reads it. Throws GatewayError usage: in use, unreadable, or in a missing folder. */
export async function openSession(named: string): Promise<SessionFile> {
  // A link is resolved: its name and that of its file have one lock.
  const path = await realpath(named).catch(() => named);
  const lock = await lockSession(path);
  try {
    let stored = await readSession(path);
    const update = async (write: () => Promise<StoredSession>): Promise<void> => {
      try {
        requireSessionLock(lock);
        stored = await write();
      } catch (error) {
        throw notWritten(path, error);
      }
    };
    return {
      path,
      get messages() {
        return stored.messages;
      },
      get torn() {
        return stored.end < stored.size;
      },
      append: (turn) => update(() => appendTurn(path, stored, turn)),
      close: () => lock.release(),
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** A conversation that was stopped can lose its session to another machine. */
function requireSessionLock(lock: Lock): void {
  const by = lock.look() ? undefined : lock.takenBy();
  if (by !== undefined) throw new Error(`${describeOwner(by)} took it over meanwhile`);
}

async function appendTurn(
  path: string,
  stored: StoredSession,
  turn: readonly SessionMessage[],
): Promise<StoredSession> {
  const handle = await openToWrite(path, stored);
  try {
    const { size } = await handle.stat();
    if (size !== stored.size) throw new Error('it was changed by another program meanwhile');
    await copySessionTail(path, stored, handle);
    const bytes = Buffer.from((stored.lacksBreak ? '\n' : '') + toSessionLines(turn));
    await writeTail(handle, { bytes, at: stored.end });
    if (stored.size === 0) await syncFolder(dirname(path));
    const end = stored.end + bytes.length;
    return { messages: [...stored.messages, ...turn], end, size: end, lacksBreak: false };
  } finally {
    await handle.close();
  }
}

/** The file is created only for a session without turns: a session that was removed meanwhile would start again in the middle. */
function openToWrite(path: string, { size }: StoredSession): Promise<FileHandle> {
  const create = size === 0 ? constants.O_CREAT : 0;
  return open(path, constants.O_RDWR | create, 0o600).catch((error: unknown) => {
    if (size === 0 || getErrorCode(error) !== 'ENOENT') throw error;
    // The cause is left out: its code says that the folder is missing.
    throw new Error('it was removed by another program meanwhile');
  });
}

/** Copies an incomplete turn to the aside file before it is overwritten. */
async function copySessionTail(path: string, { end, size }: StoredSession, handle: FileHandle): Promise<void> {
  if (end === size) return;
  await copyAside(sessionAsideFile(path), handle, { offset: end, bytes: size - end }, 0o600);
}

/** Removes a partial write. */
async function writeTail(handle: FileHandle, { bytes, at }: { bytes: Uint8Array; at: number }): Promise<void> {
  try {
    await handle.truncate(at);
    await writeFully(handle, bytes, at);
    await handle.sync();
  } catch (error) {
    await handle.truncate(at).catch(() => {});
    throw error;
  }
}

function toSessionLines(messages: readonly SessionMessage[]): string {
  return messages.map((message) => `${JSON.stringify(message)}\n`).join('');
}

/**
 * A part of a request in the form for a session file: images and files as the Base64 that was sent. The session is then one file
 * that can be moved, and a later turn sends the same bytes. A request has at most 32 MB, so it fits into memory.
 */
export async function toStorable(value: BodyValue): Promise<JsonValue> {
  if (isUpload(value)) {
    const bytes = typeof value.source === 'string' ? await readFile(value.source) : Buffer.from(value.source);
    return bytes.toString('base64');
  }
  if (Array.isArray(value)) return Promise.all(value.map(toStorable));
  if (typeof value !== 'object' || value === null) return value;
  const fields = await Promise.all(
    Object.entries(value).map(async ([key, item]) => [key, await toStorable(item)] as const),
  );
  return Object.fromEntries(fields);
}

/**
 * Takes `<path>.lock` from the reading to the last turn, so that only one chat writes a session. Throws GatewayError usage before
 * a request is paid.
 */
async function lockSession(path: string): Promise<Lock> {
  const file = `${path}.lock`;
  const lock = await takeLock(file).catch((error: unknown) => {
    throw settingError(`the session ${JSON.stringify(path)} cannot be written: ${describeWriteError(error)}`, {
      reason: 'session-place',
      cause: error,
    });
  });
  if ('release' in lock) return lock;
  throw usageError(
    `the session ${JSON.stringify(path)} is in use by ${describeOwner(lock.heldBy)}`,
    `wait for it, or if it no longer runs: rm ${shellWord(file)}`,
  );
}

/** Throws GatewayError usage if another process has the session. */
export async function refuseLocked(path: string): Promise<void> {
  const lock = await lockSession(path);
  await lock.release();
}
