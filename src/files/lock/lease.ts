import { readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { monotonic } from '../../clock.ts';
import { codeOf } from '../../errors.ts';
import { statNewFile } from '../temp-file.ts';
import { acquireRight, returnRight } from './takeover.ts';

/** How long a lock holds whose process nobody here can see. */
export interface LeaseTimes {
  /** Its holder writes to the file so often. */
  beatMs: number;
  /** A lock that nobody wrote to for so long is free. */
  leaseMs: number;
}

/** A lock file, as long as it is its holder's. */
export interface Lease {
  /** Whether nobody can have taken it over, by the time that has passed since it was last renewed. Looks at no file. */
  isSure(): boolean;
  /** Reads the file again, and renews what is not sure; false from the moment on that it is not the holder's any more. */
  confirm(): Promise<boolean>;
  /** Renews it no more. */
  end(): void;
}

export interface LeaseOptions extends LeaseTimes {
  path: string;
  /** The lock's text: no other lock has the same. */
  text: string;
  /** The moment before the file was written. */
  since: Moment;
  /** Whether the process that wrote such a text has surely gone. */
  isDead(text: string): boolean;
}

/** Two clocks: the one stands still while the machine sleeps, the other can be set back. */
interface Moment {
  monotonic: number;
  wall: number;
}

export function moment(): Moment {
  return { monotonic: monotonic(), wall: Date.now() };
}

function msSince(then: Moment): number {
  const now = moment();
  return Math.max(now.monotonic - then.monotonic, now.wall - then.wall);
}

/**
 * Keeps a lock file alive. Others judge it by the file system's clock alone; its holder, whose clock may be slower, trusts it
 * for three quarters of the time only.
 */
export function holdLease({ path, text, since, isDead, beatMs, leaseMs }: LeaseOptions): Lease {
  const state = { renewedAt: since, isLost: false };
  let renewing: Promise<void> | undefined;
  const isLate = (): boolean => msSince(state.renewedAt) > (leaseMs * 3) / 4;

  async function renew(): Promise<void> {
    const began = moment();
    const isOwn = isLate() ? await renewLate() : await touch(path, text);
    if (isOwn) state.renewedAt = began;
    else state.isLost = true;
  }

  /** Somebody may be about to take it over: only who has the right to replace it may touch it. */
  async function renewLate(): Promise<boolean> {
    const rights = await acquireRight({ path, dead: text, own: text, isDead });
    if (rights === undefined) return false;
    return touch(path, text).finally(() => returnRight(rights));
  }

  const renewOnce = (): Promise<void> => (renewing ??= renew().finally(() => (renewing = undefined)));
  // What cannot be renewed now is tried again, and is not sure in the end.
  const beat = setInterval(() => void renewOnce().catch(() => undefined), beatMs).unref();
  return {
    isSure: () => !state.isLost && !isLate(),
    async confirm() {
      while (!state.isLost && isLate()) await renewOnce();
      if (!state.isLost && readNow(path) !== text) state.isLost = true;
      return !state.isLost;
    },
    end: () => clearInterval(beat),
  };
}

/** At once, as the journal is written: a turn through Node's threads would cost each group of jobs more than the read itself. */
function readNow(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** False where the lock is another's, or gone. */
async function touch(path: string, text: string): Promise<boolean> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, 'r+');
    if ((await handle.readFile('utf8')) !== text) return false;
    // The byte that stands there: the file system itself writes down when.
    await handle.write(text.slice(0, 1), 0);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  } finally {
    await handle?.close();
  }
}

/** How long a lock still holds, in ms; negative: it has run out. Undefined where it is gone. By the file system's own clock alone. */
export async function leaseLeft(path: string, leaseMs: number): Promise<number | undefined> {
  const renewedAt = await renewalOf(path);
  if (renewedAt === undefined) return undefined;
  // What it takes for now: the clocks of two machines may differ.
  const { mtimeMs } = await statNewFile(dirname(path));
  return leaseMs - (mtimeMs - renewedAt);
}

/** Of a file that was opened a network file system tells no time from its memory. */
async function renewalOf(path: string): Promise<number | undefined> {
  const handle = await open(path, 'r').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  try {
    return (await handle?.stat())?.mtimeMs;
  } finally {
    await handle?.close();
  }
}
