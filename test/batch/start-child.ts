import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../helpers/bundle.ts';
import type { CountingServer } from './counting-server.ts';
import { type BatchFolder, environmentFor } from './with-batch.ts';

/** A batch in a process of its own. */
export interface Child {
  ended: Promise<NodeJS.Signals | number | null>;
  stderr(): string;
  kill(signal?: NodeJS.Signals): void;
}

export interface ChildOptions {
  /** The command in front of the program: `unshare`, another clock. */
  before?: readonly string[];
  /** The step that kills it and its number, then flags. */
  argv?: readonly string[];
  /** Beside the settings. */
  env?: Record<string, string>;
}

/** Bundles the program of a child once; resolves with what starts it in a folder. */
export async function childProgram(): Promise<
  (folder: BatchFolder, server: Pick<CountingServer, 'url'>, options?: ChildOptions) => Child
> {
  const program = await bundle('test/batch/kill-child.ts');
  return (folder, server, { before = [], argv = ['none'], env = {} } = {}) => {
    const [command = '', ...rest] = [...before, process.execPath, program, ...argv];
    const child = spawn(command, rest, {
      cwd: folder.cwd,
      env: {
        PATH: process.env['PATH'],
        XDG_STATE_HOME: join(folder.cwd, 'state'),
        GATEWAY_CONFIG: join(folder.cwd, 'none.json'),
        ...environmentFor(server),
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text));
    const pid = child.pid as number;
    return {
      stderr: () => stderr,
      kill: (signal = 'SIGKILL') => void process.kill(before.includes('unshare') ? childOf(pid) : pid, signal),
      ended: once(child, 'close').then(([code, signal]) => (signal ?? code) as NodeJS.Signals | number | null),
    };
  };
}

/** The first process of a namespace, as it is numbered outside. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}
