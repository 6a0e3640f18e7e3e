import { escapeForTerminal } from '../../terminal/escape.ts';
import { isReadByCi } from '../../terminal/github.ts';
import type { Io } from '../../terminal/io.ts';
import { wantsColor } from '../../terminal/style.ts';
import type { Context } from '../context.ts';
import { isPrintedAtEnd } from './selection.ts';

/** Model text on its way to stdout: escaped on a terminal, its colours too; exact in a pipe. */
export interface Payload {
  /** Whether its Markdown is formatted. */
  readonly isFormatted: boolean;
  write(text: string): Promise<void>;
  /** Ends with a newline where the text has none. Nothing written, nothing added. */
  end(): Promise<void>;
}

/** How an answer is written. */
interface PayloadOptions {
  isMarkdown: boolean;
  /** Called before each output. */
  onOutput?: () => void;
}

/** Starts the payload of one answer. Its Markdown is formatted where that is wanted and stdout is a terminal that can. */
export async function startPayload(context: Context, { isMarkdown, onOutput }: PayloadOptions): Promise<Payload> {
  return isMarkdown && canFormat(context) ? formattedPayload(context, onOutput) : plainPayload(context.io, onOutput);
}

/** GitHub's runner reads lines, also where it gives them a terminal. */
function canFormat(context: Context): boolean {
  const { stdout, env } = context.io;
  return stdout.isTTY && env['TERM'] !== 'dumb' && !isPrintedAtEnd(context) && !isReadByCi(env, stdout);
}

async function formattedPayload({ io, root }: Context, onOutput: PayloadOptions['onOutput']): Promise<Payload> {
  const { startMarkdown } = await import('../../terminal/markdown-stream.ts');
  const { stdout, env } = io;
  const colored = wantsColor({ env, isTTY: true, color: root.color });
  return { ...startMarkdown({ stdout, colored, onOutput }), isFormatted: true };
}

function plainPayload({ stdout }: Pick<Io, 'stdout'>, onOutput: PayloadOptions['onOutput']): Payload {
  let last = '';
  return {
    isFormatted: false,
    async write(text) {
      last = text.at(-1) ?? last;
      onOutput?.();
      await stdout.write(stdout.isTTY ? escapeForTerminal(text) : text);
    },
    async end() {
      if (last !== '' && last !== '\n') await stdout.write('\n');
      last = '';
    },
  };
}
