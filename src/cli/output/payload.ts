import { escapeForTerminal } from '../../terminal/escape.ts';
import type { Io } from '../../terminal/io.ts';

/** Model text on its way to stdout: escaped on a terminal, its colours too; exact in a pipe. */
export interface Payload {
  write(text: string): Promise<void>;
  /** Ends with a newline where the text has none. Nothing written, nothing added. */
  end(): Promise<void>;
}

/** Starts the payload of one answer. */
export function startPayload({ stdout }: Pick<Io, 'stdout'>): Payload {
  let last = '';
  return {
    async write(text) {
      last = text.at(-1) ?? last;
      await stdout.write(stdout.isTTY ? escapeForTerminal(text) : text);
    },
    async end() {
      if (last !== '' && last !== '\n') await stdout.write('\n');
      last = '';
    },
  };
}
