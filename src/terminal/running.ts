import { readFileSync } from 'node:fs';
import process from 'node:process';
import { codeOf } from '../errors.ts';

/** Whether a process of this machine runs; one of another user counts too, one that is dead and not yet buried does not. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !isZombie(pid);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** The number of this process. */
export function ownProcess(): number {
  return process.pid;
}

/** In a container nobody may bury the dead: they keep their number. Linux alone tells (`pid (name) Z …`). */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return /^\) [ZX]/.test(stat.slice(stat.lastIndexOf(')')));
  } catch {
    return false;
  }
}
