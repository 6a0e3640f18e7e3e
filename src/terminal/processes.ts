import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { kill, pid } from 'node:process';

/** A process, told apart from a later one with the same number. */
export interface ProcessMark {
  host: string;
  pid: number;
  /** When it began, by its own machine; absent where the system does not tell. */
  started?: string | undefined;
}

/** The mark of this process. */
export function ownMark(): ProcessMark {
  return { host: hostname(), pid, started: startOf(pid) };
}

/** Whether the process of a mark still runs. Undefined: it is another machine's, so nobody here can tell. */
export function isRunning(mark: ProcessMark): boolean | undefined {
  const own = ownMark();
  if (mark.host !== own.host) return undefined;
  // A container that starts again has the same name and the same small number: only the start tells them apart.
  if (mark.pid === own.pid) return mark.started === own.started;
  if (!exists(mark.pid)) return false;
  const started = startOf(mark.pid);
  return mark.started === undefined || started === undefined || started === mark.started;
}

function exists(of: number): boolean {
  try {
    return kill(of, 0);
  } catch (error) {
    // EPERM: it runs, and belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Linux: the boot and the tick of the process's start. */
function startOf(of: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${of}/stat`, 'utf8');
    // The name in brackets may hold spaces and brackets itself; the start is the 20th field behind it.
    const tick = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return tick === undefined ? undefined : `${boot}/${tick}`;
  } catch {
    return undefined;
  }
}
