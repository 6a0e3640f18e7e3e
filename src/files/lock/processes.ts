import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { kill, pid } from 'node:process';
import { codeOf } from '../../errors.ts';

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
