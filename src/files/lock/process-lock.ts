import { randomBytes } from 'node:crypto';
import { removeFile } from '../temp-file.ts';
import { parseObject } from '../../json.ts';
import { isRunning, ownMark, type ProcessMark } from './processes.ts';
import { createFile, readText, takeOver } from './takeover.ts';

/** A lock file that is held until its release, or until its process ends. */
export interface ProcessLock {
  release(): Promise<void>;
}

/**
 * Takes the lock file at `path`; a lock whose process has ended is taken over. Returns the holder's description, such as
 * `process 4711`, where another process has it. Throws what the system says.
 */
export async function takeProcessLock(path: string): Promise<ProcessLock | { heldBy: string }> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const own = JSON.stringify({ ...ownMark(), nonce: randomBytes(8).toString('hex') });
    if (await createFile(path, own)) return heldLock(path);
    const owner = await readText(path);
    if (owner === undefined) continue;
    if (!isStale(owner)) return { heldBy: describeHolder(owner) };
    if (await takeOver({ path, dead: owner, own, isDead: isStale })) return heldLock(path);
  }
  return { heldBy: describeHolder('') };
}

/** Releases once: afterwards the file may be another's. */
function heldLock(path: string): ProcessLock {
  let released: Promise<void> | undefined;
  return { release: () => (released ??= removeFile(path).catch(() => {})) };
}

/** Whether its process, of this machine, has ended. Half a lock is being written by its owner. */
function isStale(owner: string): boolean {
  const mark = parseMark(owner);
  return mark !== undefined && isRunning(mark) === false;
}

function parseMark(owner: string): ProcessMark | undefined {
  const { host, pid, namespace, started } = parseObject(owner);
  if (typeof host !== 'string' || typeof pid !== 'number') return undefined;
  return {
    host,
    pid,
    namespace: typeof namespace === 'string' ? namespace : undefined,
    started: typeof started === 'string' ? started : undefined,
  };
}

function describeHolder(owner: string): string {
  const [mark, own] = [parseMark(owner), ownMark()];
  if (mark === undefined) return 'another process';
  if (mark.host !== own.host) return `process ${mark.pid} of another machine`;
  return `process ${mark.pid}${mark.namespace === own.namespace ? '' : ' of another container'}`;
}
