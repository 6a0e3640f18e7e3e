import { createHash, randomBytes } from 'node:crypto';
import { link, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { codeOf } from '../../errors.ts';

/** A lock file whose process has gone, and what shall stand in its place. */
export interface Takeover {
  path: string;
  /** The dead lock's text, as it was read. */
  dead: string;
  /** The new lock's text; it must be unlike any other (a nonce). */
  own: string;
  /** Whether the process that wrote such a text has surely gone. */
  isDead(text: string): boolean;
  /** Asked by who has the right to replace it, where the lock can come to life again. */
  isStillDead?(): Promise<boolean>;
}

/**
 * Puts an own lock in the place of a dead one; true where it did. Of many that try at once one alone does: the right to
 * replace a lock is a file of its own, named by the dead lock's content, and the lock is replaced by a rename, only while it
 * still is the dead one. Who dies holding the right leaves it to the next, by the same rule. Throws what the system says.
 */
export async function takeOver({ path, dead, own, isDead, isStillDead }: Takeover): Promise<boolean> {
  const rights = await acquireRight({ path, dead, own, isDead });
  if (rights === undefined) return false;
  try {
    if ((await readText(path)) !== dead || (await isStillDead?.()) === false) return false;
    const next = `${path}.${idOf(own)}.new`;
    await createFile(next, own);
    await rename(next, path);
    return true;
  } finally {
    await returnRight(rights);
  }
}

/** Of a lock that was replaced nobody can use a right any more; of one that was not, the next may try. */
export async function returnRight(rights: readonly string[]): Promise<void> {
  for (const right of rights) await unlink(right).catch(() => undefined);
}

/** The files that make up the right to replace a lock, the own one last; undefined where somebody who lives has it. */
export async function acquireRight({ path, dead, own, isDead }: Takeover): Promise<string[] | undefined> {
  const rights: string[] = [];
  for (let of = dead; rights.length < 100;) {
    const right = `${path}.${idOf(of)}`;
    rights.push(right);
    if (await createFile(right, own)) return rights;
    const holder = await readText(right);
    if (holder === undefined) rights.pop();
    else if (isDead(holder)) of = holder;
    else return undefined;
  }
  return undefined;
}

/**
 * Writes a file that was not there; false where it was. It is there whole or not at all: an empty one, of a process that was
 * killed meanwhile, would name nobody, and lock for ever.
 */
export async function createFile(path: string, text: string): Promise<boolean> {
  const whole = `${path}.${randomBytes(6).toString('hex')}.new`;
  try {
    await writeFile(whole, text, { flag: 'wx', mode: 0o600 });
    await link(whole, path).catch((error: unknown) => {
      if (!withoutLinks.has(codeOf(error) ?? '')) throw error;
      return writeFile(path, text, { flag: 'wx', mode: 0o600 });
    });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(whole).catch(() => undefined);
  }
}

/** What file systems say that know no hard links. */
const withoutLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** A file's text; undefined where it is gone. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function idOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
