import { formatDuration } from './duration.ts';
import type { CommandResult } from './key.ts';

const maxOutput = 64 * 1024;

/**
 * Runs a key command without a shell: no stdin (it would eat the prompt), output kept up to 64 KiB. Rejects with an Error
 * where it cannot be started or takes longer than `timeoutMs`; then it is killed.
 */
export async function runCommand(argv: readonly string[], timeoutMs: number): Promise<CommandResult> {
  const { execFile } = await import('node:child_process');
  const [program = '', ...words] = argv;
  return new Promise((resolve, reject) => {
    // When the time is up Node closes the pipes too: a grandchild may hold them open for ever.
    const options = { maxBuffer: maxOutput, timeout: timeoutMs, killSignal: 'SIGKILL', windowsHide: true } as const;
    const child = execFile(program, words, options, (error, stdout, stderr) => {
      if (error === null) resolve({ status: 0, stdout, stderr });
      else if (error.killed) reject(new Error(`no key after ${formatDuration(timeoutMs)}`));
      else if (typeof error.code === 'number') resolve({ status: error.code, stdout, stderr });
      else if (typeof error.signal === 'string') resolve({ status: `ended by ${error.signal}`, stdout, stderr });
      else reject(error);
    });
    child.stdin?.end();
  });
}
