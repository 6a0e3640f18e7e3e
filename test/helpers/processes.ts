import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { ownMark, type ProcessMark } from '../../src/library/files/process-mark.ts';
import { isFull } from './full.ts';

/** The mark of another process, without the time of its start. */
export function markOf(pid: number): ProcessMark {
  return { ...ownMark(), pid, started: undefined };
}

/** A process that has ended: its number is free, for now. */
export async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '0']);
  await once(child, 'exit');
  return child.pid as number;
}

/** Starts a program in a PID namespace of its own, with a /proc of its own: as in a container. */
export const unshare = ['unshare', '-pf', '--mount-proc', '--kill-child'] as const;

/** Whether this machine lets us make namespaces; the full run demands it. */
export const canUnshare = isFull || runs([...unshare, 'true']);

/** Whether the clocks of programs can be set; the full run demands it. */
export const canFakeTime = isFull || runs(['faketime', '-f', '-5m', 'true']);

/**
 * Starts a program whose clock is off by so much. The program `faketime` itself cannot start two in containers at once, and ends where
 * one of its own number was killed before: so it is asked for its library alone, again where that happens.
 */
export function offBy(offset: string): string[] {
  for (let count = 0; count < 20; count++) {
    const { stdout } = spawnSync('faketime', ['-f', offset, 'printenv', 'LD_PRELOAD'], { encoding: 'utf8' });
    if (stdout) return ['env', `LD_PRELOAD=${stdout.trim()}`, `FAKETIME=${offset}`];
  }
  throw new Error('faketime does not start: see its package');
}

function runs([command = '', ...argv]: readonly string[]): boolean {
  return spawnSync(command, argv).status === 0;
}
