import type { Answer } from '../../client/content.ts';
import type { StreamDelta } from '../../formats/messages/types.ts';
import { verdictOf, type Wanted } from '../../client/verdict.ts';
import { jsonLine } from '../../terminal/json-line.ts';
import type { Progress } from '../../terminal/progress.ts';
import type { Context } from '../context.ts';
import { type Payload, startPayload } from './payload.ts';
import { isPrintedAtEnd } from './selection.ts';

/** Flags that say how an answer is shown. */
export interface PrintFlags {
  thinking?: true;
  jsonl?: true;
}

/** How an answer is shown. */
interface Shown extends PrintFlags {
  /** Whether its Markdown is formatted, where stdout can. */
  isMarkdown: boolean;
  /** Runs while nothing is printed; where it cannot move, it ends with the wait for the reply. The caller stops it at the end. */
  progress: Progress;
  /** Told of the text of the answer as it comes. */
  onText?: ((text: string) => void) | undefined;
}

/** Prints deltas as they arrive: those of one chunk in one write. */
export async function printStream(
  deltas: AsyncGenerator<StreamDelta[], Answer>,
  shown: Shown,
  context: Context,
): Promise<Answer> {
  const { progress } = shown;
  if (!context.io.stderr.isTTY) progress.stop();
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
