import { randomBytes } from 'node:crypto';
import { removeFile } from '../temp-file.ts';
import { parseObject } from '../../json.ts';
import { createFile, readText, takeOver } from './takeover.ts';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { kill, pid } from 'node:process';
import { codeOf } from '../../errors.ts';

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

/** A process, told apart from a later one with the same number. */
export interface ProcessMark {
  host: string;
  pid: number;
  /** The PID namespace in which the number counts; absent where the system knows none. */
  namespace?: string | undefined;
  /** When it began, by its own machine; absent where the system does not tell. */
  started?: string | undefined;
}

/** The mark of this process. */
export function ownMark(): ProcessMark {
  return { host: hostname(), pid, namespace: ownNamespace(), started: factsOf(pid)?.started };
}

/** Whether the process of a mark still runs. Undefined: its number counts on another machine or in another container, so nobody here can tell. */
export function isRunning(mark: ProcessMark): boolean | undefined {
  if (mark.host !== hostname() || mark.namespace !== ownNamespace()) return undefined;
  if (!exists(mark.pid)) return false;
  const facts = factsOf(mark.pid);
  if (facts === undefined) return true;
  // A container that starts again has the same name and the same small numbers: only the start tells them apart.
  return !facts.isZombie && (mark.started === undefined || mark.started === facts.started);
}

/** Containers can share a host name, and all of them have small numbers. */
function ownNamespace(): string | undefined {
  return /\d+/.exec(targetOf('/proc/self/ns/pid') ?? '')?.[0];
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}

function exists(of: number): boolean {
  try {
    return kill(of, 0);
  } catch (error) {
    // EPERM: it runs, and belongs to somebody else.
    return codeOf(error) === 'EPERM';
  }
}

/** The boot of this machine, where the system tells it: what was written during it is there, synced or not. */
export function bootMark(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Linux alone tells. The dead keep their number until they are buried, and in a container nobody may bury them. */
function factsOf(of: number): { isZombie: boolean; started: string } | undefined {
  // Where /proc is that of an outer namespace, the numbers in it are other processes'.
  if (targetOf('/proc/self') !== String(pid)) return undefined;
  try {
    const stat = readFileSync(`/proc/${of}/stat`, 'latin1');
    // The name in brackets may hold spaces and brackets itself; behind it the state is the first field, the start the 20th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { isZombie: fields[0] === 'Z', started: `${bootMark()}/${fields[19]}` };
  } catch {
    return undefined;
  }
}
