import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { scratchFolder } from './scratch.ts';

/** The built program. `npm test` builds it first. */
export const bin = join(import.meta.dirname, '../../bin/gateway-cli.js');

/** An environment with nothing of the machine's in it but the way to Node. */
export function bareEnv(home: string, more: Record<string, string> = {}): Record<string, string> {
  const path = `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
  return { PATH: path, HOME: home, LC_ALL: 'C.UTF-8', BIN: bin, ...more };
}

/** How a shell script ended. */
export interface Shell {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  cwd: string;
}

/** What a script is given. */
export interface ShellOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** Told of every chunk of stdout. */
  onStdout?: (text: string) => void;
}

/** Runs a bash script in a new folder; `$BIN` is the program. stdin is /dev/null. */
export async function shell(script: string, { env = {}, cwd, onStdout }: ShellOptions = {}): Promise<Shell> {
  const folder = cwd ?? scratchFolder();
  const child = spawn('bash', ['-c', script], {
    cwd: folder,
    env: bareEnv(folder, env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out: string[] = [];
  const err: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out.push(text);
    onStdout?.(text);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => void err.push(text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) =>
      resolve({ code, signal, stdout: out.join(''), stderr: err.join(''), cwd: folder }),
    );
  });
}
