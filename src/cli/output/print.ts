import { escapeForTerminal } from '../../terminal/escape.ts';
import { isReadByCi } from '../../terminal/wrap-output.ts';
import type { Io } from '../../terminal/io.ts';
import { wantsColor } from '../../terminal/style.ts';
import type { Context } from '../context.ts';
import { isPrintedAtEnd } from './select.ts';
import type { Answer } from '../../client/result.ts';
import type { StreamDelta } from '../../formats/events.ts';
import { verdictOf, type Wanted } from '../../client/verdict.ts';
import { jsonLine } from '../../terminal/escape.ts';
import type { Progress } from '../../terminal/progress.ts';

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

/** Flags that say how an answer is shown. */
export interface PrintFlags {
  thinking?: true;
  jsonl?: true;
}

/** How an answer is shown. */
interface Shown extends PrintFlags {
  /** Whether its Markdown is formatted, where stdout can. */
  isMarkdown: boolean;
  /** Runs while nothing is printed. The caller stops it at the end. */
  progress: Progress;
  /** Told of the text of the answer as it comes. */
  onText?: ((text: string) => void) | undefined;
}

/** A wait that cannot move ends with the head of the reply. */
export function stopPlain(progress: Progress, { io }: Context): void {
  if (!io.stderr.isTTY) progress.stop();
}

/** Prints deltas as they arrive: those of one chunk in one write. */
export async function printStream<Outcome>(
  deltas: AsyncGenerator<StreamDelta[], Outcome>,
  shown: Shown,
  context: Context,
): Promise<Outcome> {
  const { progress } = shown;
  const payload = await startPayload(context, {
    isMarkdown: shown.isMarkdown && !shown.jsonl,
    onOutput: () => progress.stop(),
  });
  const printing: Printing = { payload, shown, context, isInThought: false };
  try {
    for (;;) {
      const next = await deltas.next();
      if (next.done) return next.value;
      await printDeltas(next.value, printing);
    }
  } finally {
    await payload.end();
    await deltas.return(undefined as never);
  }
}

async function printDeltas(deltas: readonly StreamDelta[], printing: Printing): Promise<void> {
  const { shown, context } = printing;
  if (shown.jsonl) {
    shown.progress.stop();
    await context.io.stdout.write(deltas.map(jsonLine).join(''));
    return;
  }
  const thinking = deltas.map((delta) => (delta.type === 'thinking' ? delta.text : '')).join('');
  if (shown.thinking && thinking !== '') await think(thinking, printing);
  const text = deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('');
  shown.onText?.(text);
  if (text !== '' && !isPrintedAtEnd(context)) await answer(text, printing);
}

interface Printing {
  payload: Payload;
  shown: Shown;
  context: Context;
  /** The line on the terminal is one of `--thinking` that has not ended. */
  isInThought: boolean;
}

/** What is formatted begins and ends with a line of its own. */
async function think(text: string, printing: Printing): Promise<void> {
  const { payload, context } = printing;
  if (payload.isFormatted) await payload.end();
  await context.ui.think(text);
  printing.isInThought = payload.isFormatted && context.io.stderr.isTTY && !text.endsWith('\n');
}

async function answer(text: string, printing: Printing): Promise<void> {
  const { payload, context, isInThought } = printing;
  if (isInThought) await context.io.stderr.write('\n');
  printing.isInThought = false;
  await payload.write(text);
}

/** The last line of `--jsonl`: how the answer ended, and the error that this means. */
export function endLine(
  answer: Answer,
  wanted: Wanted,
  { ui: { redact, clean }, report }: Pick<Context, 'ui' | 'report'>,
): object {
  const { result, error } = answer;
  const { stopReason, usage, responseId, modelVersion, toolCalls } = result;
  const message = verdictOf(answer, wanted).error?.message;
  return clean({
    type: 'result',
    complete: result.complete && error === undefined,
    stopReason,
    usage,
    cost: report.meter?.total,
    responseId,
    modelVersion,
    toolCalls,
    error: message && redact(message),
  });
}
