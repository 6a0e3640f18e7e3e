import { createHash, randomBytes } from 'node:crypto';
import { link, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { codeOf } from '../errors.ts';
import { parseObject } from '../json.ts';
import { isRunning, ownMark, type ProcessMark } from './process-mark.ts';
import { ignoreMissing, linkErrors, randomNonce, removeFile } from './temp-file.ts';

/** A lock file, held until its release or the end of its process. */
export interface ProcessLock {
  release(): Promise<void>;
}

/**
 * Takes the lock file at `path`, or takes it over if its process has ended. Returns a description of the holder, such as
 * `process 4711`, if another process has it. Throws errors of the system.
 */
export async function takeProcessLock(path: string): Promise<ProcessLock | { heldBy: string }> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const own = ownLockText();
    if (await createFile(path, own)) return heldLock(path);
    const found = await readText(path);
    if (found === undefined) continue;
    if (!isDead(found)) return { heldBy: describeHolder(found) };
    if (await takeOver({ path, dead: found, own, isDead })) return heldLock(path);
  }
  return { heldBy: describeHolder('') };
}

/** The text of a lock of this process, which is unique. */
export function ownLockText(): string {
  return JSON.stringify({ ...ownMark(), nonce: randomBytes(8).toString('hex') });
}

/** Releases only once: later the file may be another's. */
function heldLock(path: string): ProcessLock {
  let released: Promise<void> | undefined;
  return { release: () => (released ??= removeFile(path).catch(() => {})) };
}

/** Whether the process of a lock ran on this machine and has ended. An incomplete text is still being written. */
export function isDead(text: string): boolean {
  const mark = parseMark(text);
  return mark !== undefined && isRunning(mark) === false;
}

export function parseMark(text: string): ProcessMark | undefined {
  const { host, pid, namespace, started } = parseObject(text);
  if (typeof host !== 'string' || typeof pid !== 'number') return undefined;
  return {
    host,
    pid,
    namespace: typeof namespace === 'string' ? namespace : undefined,
    started: typeof started === 'string' ? started : undefined,
  };
}

function describeHolder(text: string): string {
  const [mark, own] = [parseMark(text), ownMark()];
  if (mark === undefined) return 'another process';
  if (mark.host !== own.host) return `process ${mark.pid} of another machine`;
  return `process ${mark.pid}${mark.namespace === own.namespace ? '' : ' of another container'}`;
}

/** A dead lock file, and the one that replaces it. */
export interface Takeover {
  path: string;
  /** The text of the dead lock, as it was read. */
  dead: string;
  /** The text of the new lock; it must be unique (a nonce). */
  own: string;
  /** Whether the process that wrote a text has certainly ended. */
  isDead(text: string): boolean;
  /** Called with the claim held, for a lock that its holder can renew. */
  isStillDead?(): Promise<boolean>;
}

/**
 * Replaces a dead lock by an own one; true if it did. Only one of many concurrent processes succeeds: the claim to replace a
 * lock is a file of its own, named by the content of the dead lock, and the lock is replaced by a rename, only while it is
 * still the dead one. The claim of a process that died can be claimed in the same way. Throws errors of the system.
 */
export async function takeOver({ path, dead, own, isDead, isStillDead }: Takeover): Promise<boolean> {
  const claims = await claimTakeover({ path, dead, own, isDead });
  if (claims === undefined) return false;
  try {
    if ((await readText(path)) !== dead || (await isStillDead?.()) === false) return false;
    const next = `${path}.${idOf(own)}.new`;
    await createFile(next, own);
    await rename(next, path);
    return true;
  } finally {
    await releaseClaims(claims);
  }
}

/** The files that make up the claim to replace a lock, the own one last; undefined if a running process has the claim. */
export async function claimTakeover({ path, dead, own, isDead }: Takeover): Promise<string[] | undefined> {
  const claims: string[] = [];
  for (let of = dead; claims.length < 100;) {
    const claim = `${path}.${idOf(of)}`;
    claims.push(claim);
    if (await createFile(claim, own)) return claims;
    const holder = await readText(claim);
    if (holder === undefined) claims.pop();
    else if (isDead(holder)) of = holder;
    else return undefined;
  }
  return undefined;
}

/** Removes the claim: it is useless for a lock that was replaced, and free again for one that was not. */
export async function releaseClaims(claims: readonly string[]): Promise<void> {
  for (const claim of claims) await unlink(claim).catch(() => undefined);
}

function idOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/**
 * Creates a file; false if it exists. It appears with its whole text: an empty file of a process that was killed meanwhile
 * would lock forever without a holder.
 */
export async function createFile(path: string, text: string): Promise<boolean> {
  const whole = `${path}.${randomNonce()}.new`;
  try {
    await writeFile(whole, text, { flag: 'wx', mode: 0o600 });
    await link(whole, path).catch((error: unknown) => {
      if (!linkErrors.has(codeOf(error) ?? '')) throw error;
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

/** A file's text; undefined if it does not exist. */
export function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(ignoreMissing);
}
