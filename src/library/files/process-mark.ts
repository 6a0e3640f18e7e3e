import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { kill, pid } from 'node:process';
import { getErrorCode } from '../errors.ts';
import { randomNonce, removeFile } from './temp-file.ts';

/** A process, distinguished from a later one with the same number. */
export interface ProcessMark {
  host: string;
  pid: number;
  /** The PID namespace of the number; absent if the system has none. */
  namespace?: string | undefined;
  /** When it started, by its own machine; absent if the system does not report it. */
  started?: string | undefined;
}

let own: ProcessMark | undefined;

export function ownMark(): ProcessMark {
  return (own ??= { host: hostname(), pid, namespace: ownNamespace(), started: readProcessStatus(pid)?.started });
}

/** Whether the process of a mark is running; undefined if it belongs to another machine or container, where it cannot be looked for. */
export function isRunning(mark: ProcessMark): boolean | undefined {
  if (mark.host !== ownMark().host || mark.namespace !== ownMark().namespace) return undefined;
  try {
    kill(mark.pid, 0);
  } catch (error) {
    // EPERM: it runs as another user.
    if (getErrorCode(error) !== 'EPERM') return false;
  }
  const status = readProcessStatus(mark.pid);
  // After a restart of the machine or container, another process can have the same number.
  return status === undefined || (!status.hasEnded && (mark.started ?? status.started) === status.started);
}

/** The namespace of process numbers: containers can share a host name, and all of them have small process numbers. */
function ownNamespace(): string | undefined {
  return /\d+/.exec(ifKnown(() => readlinkSync('/proc/self/ns/pid')) ?? '')?.[0];
}

/** The value that the system reports; undefined if it reports none. */
function ifKnown<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The boot of this machine, if the system reports it: data written since then exists, synced or not. */
export function bootMark(): string | undefined {
  return (boot ??= ifKnown(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()));
}

let boot: string | undefined;

/**
 * The status of a process; undefined on other systems than Linux. A process that ended keeps its number until its parent asks for
 * its end, which in a container may never happen.
 */
function readProcessStatus(of: number): { hasEnded: boolean; started: string } | undefined {
  const stat = ifKnown(() => readFileSync(`/proc/${of}/stat`, 'latin1'));
  if (stat === undefined) return undefined;
  // The name in brackets can contain spaces and brackets; after it the state is the first field, the start time the 20th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A part of the boot is enough beside the time, and fits into the names of part files.
  return { hasEnded: fields[0] === 'Z', started: `${bootMark()?.slice(0, 8)}/${fields[19]}` };
}

let ownText: string | undefined;

/** A nonce for part files that later processes may remove: it contains the mark of this process, and random bits. */
export function partNonce(): string {
  if (ownText === undefined) {
    const { host, pid, namespace = '', started = '' } = ownMark();
    ownText = Buffer.from([host, pid, namespace, started].join('/')).toString('base64url');
  }
  return `${ownText}-${randomNonce()}`;
}

/** Removes the part files of processes that were killed. Processes that run, or ran on another machine, keep theirs. */
export async function clearDeadParts(folder: string, names: readonly string[]): Promise<void> {
  const dead = names.filter(isDeadPart).map((name) => removeFile(join(folder, name)));
  // A file that cannot be removed is ignored by all readers.
  await Promise.allSettled(dead);
}

function isDeadPart(name: string): boolean {
  const [, mark = ''] = /^\.gateway-cli-([\w-]+)-[0-9a-f]{24}\.part$/.exec(name) ?? [];
  const [host, pid, namespace, ...rest] = Buffer.from(mark, 'base64url').toString().split('/');
  if (host === undefined || !/^[1-9]\d*$/.test(pid ?? '')) return false;
  const started = rest.join('/') || undefined;
  return isRunning({ host, pid: Number(pid), namespace: namespace || undefined, started }) === false;
}
