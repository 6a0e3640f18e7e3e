import { randomBytes } from 'node:crypto';
import { open, stat, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError } from '../errors.ts';
import { isObject } from '../json.ts';
import { createFile, readText, takeOver } from '../lock/takeover.ts';
import { isRunning, ownMark, type ProcessMark } from '../lock/processes.ts';
import { cannotWrite } from './synced-file.ts';
import { batchFiles } from './types.ts';
import { shellWord } from '../shell-word.ts';

/** The right to write into a batch's folder, held until `release`. */
export interface Lock {
  /** Whose lock was found dead and taken over. */
  takenFrom: ProcessMark | undefined;
  release(): Promise<void>;
}

/** The holder touches the file so often; only machines that cannot see each other's processes look at it. */
const beatMs = 10_000;
/** A lock of another machine that was not touched for so long is dead. */
const deadMs = 60_000;

interface Held {
  mark: ProcessMark;
  nonce: string;
}

interface Found extends Held {
  /** The file as it was read. */
  text: string;
}

/** Takes the lock of a folder, by O_EXCL; a dead process's lock is taken over. Throws GatewayError batch-locked. */
export async function takeLock(folder: string): Promise<Lock> {
  const path = join(folder, batchFiles.lock);
  const own: Held = { mark: ownMark(), nonce: randomBytes(8).toString('hex') };
  for (let tries = 0; tries < 5; tries++) {
    if (await create(path, own)) return hold(path, own, undefined);
    const found = await read(path);
    if (found === undefined) continue;
    if (!(await isDead(path, found, folder))) throw lockedError(path, found.mark);
    if (await replace(path, found, own)) return hold(path, own, found.mark);
  }
  throw lockedError(path, undefined);
}

/** Whose lock stands in a folder, where its holder lives. */
export async function findHolder(folder: string): Promise<ProcessMark | undefined> {
  const path = join(folder, batchFiles.lock);
  const found = await read(path);
  return found === undefined || isRunning(found.mark) === false ? undefined : found.mark;
}

function hold(path: string, own: Held, takenFrom: ProcessMark | undefined): Lock {
  const beat = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => undefined), beatMs).unref();
  return {
    takenFrom,
    async release() {
      clearInterval(beat);
      const found = await read(path);
      if (found?.nonce === own.nonce) await unlink(path).catch(() => undefined);
    },
  };
}

async function create(path: string, own: Held): Promise<boolean> {
  return createFile(path, textOf(own)).catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
}

function textOf({ mark, nonce }: Held): string {
  return `${JSON.stringify({ mark, nonce })}\n`;
}

/** Undefined where it is gone again. A lock that is not written yet, or is none, is somebody's whom nobody knows. */
async function read(path: string): Promise<Found | undefined> {
  const text = await readText(path).catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
  return text === undefined ? undefined : { ...parse(text), text };
}

function parse(text: string): Held {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value) && isObject(value['mark'])) return value as unknown as Held;
  } catch {
    // Its writer was killed between two system calls, or is between them now: its age decides.
  }
  return { mark: { host: '', pid: 0 }, nonce: text };
}

async function isDead(path: string, { mark }: Held, folder: string): Promise<boolean> {
  const running = isRunning(mark);
  if (running !== undefined) return !running;
  const touched = await stat(path).catch(() => undefined);
  return touched !== undefined && (await folderTime(folder)) - touched.mtimeMs > deadMs;
}

/** The file system's own time: the clocks of two machines may differ. */
async function folderTime(folder: string): Promise<number> {
  const path = join(folder, `.gateway-cli-${randomBytes(8).toString('hex')}.part`);
  const handle = await open(path, 'wx', 0o600);
  try {
    return (await handle.stat()).mtimeMs;
  } finally {
    await handle.close();
    await unlink(path);
  }
}

function hasGone(text: string): boolean {
  return isRunning(parse(text).mark) === false;
}

/** False where somebody else was faster. */
async function replace(path: string, dead: Found, own: Held): Promise<boolean> {
  return takeOver({ path, dead: dead.text, own: textOf(own), isDead: hasGone }).catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
}

function lockedError(path: string, mark: ProcessMark | undefined): GatewayError {
  const who = mark === undefined || mark.pid === 0 ? 'another run' : `process ${mark.pid} on ${mark.host}`;
  return new GatewayError('batch-locked', `${who} works in this folder`, {
    hint: `wait for it; if it is dead: rm ${shellWord(path)}`,
    sent: 'no',
    retryable: true,
  });
}
