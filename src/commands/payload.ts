import { createCiGuard, isReadByCi } from '../terminal/ci-commands.ts';
import { escapeForTerminal } from '../terminal/escape.ts';
import type { Io } from '../terminal/io.ts';

/**
 * Model text on its way to stdout: escaped on a terminal, exact in a pipe (design.md section 2). Where GitHub's runner reads
 * along, it cannot give the runner commands (faults.md 2c).
 */
export interface Payload {
  write(text: string): Promise<void>;
  /** Ends with a newline where the text has none. Nothing written, nothing added. */
  end(): Promise<void>;
}

/** Starts the payload of one answer. */
export function startPayload({ stdout, env }: Pick<Io, 'stdout' | 'env'>): Payload {
  const guard = isReadByCi(env, stdout) ? createCiGuard() : undefined;
  let last = '';
  return {
    async write(text) {
      last = text.at(-1) ?? last;
      const safe = guard ? guard(text) : text;
      await stdout.write(stdout.isTTY ? escapeForTerminal(safe) : safe);
    },
    async end() {
      if (last !== '' && last !== '\n') await stdout.write(guard ? guard('\n') : '\n');
      last = '';
    },
  };
}
