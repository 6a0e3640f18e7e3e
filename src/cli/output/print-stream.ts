import type { Answer } from '../../client/content.ts';
import type { StreamDelta } from '../../formats/messages/types.ts';
import { verdictOf, type Wanted } from '../../client/verdict.ts';
import type { Redaction } from '../../settings/redact.ts';
import { jsonLine } from '../../terminal/json-line.ts';
import type { Context } from '../context.ts';
import { type Payload, startPayload } from './payload.ts';

/** Flags that say how an answer is shown. */
export interface PrintFlags {
  thinking?: true;
  jsonl?: true;
}

/** Prints deltas as they arrive: those of one chunk in one write. */
export async function printStream(
  deltas: AsyncGenerator<StreamDelta[], Answer>,
  flags: PrintFlags,
  context: Context,
): Promise<Answer> {
  const payload = startPayload(context.io);
  try {
    for (;;) {
      const next = await deltas.next();
      if (next.done) return next.value;
      await printDeltas(next.value, { payload, flags, context });
    }
  } finally {
    await payload.end();
    await deltas.return(undefined as never);
  }
}

async function printDeltas(deltas: readonly StreamDelta[], { payload, flags, context }: Printing): Promise<void> {
  if (flags.jsonl) {
    await context.io.stdout.write(deltas.map(jsonLine).join(''));
    return;
  }
  const thinking = deltas.map((delta) => (delta.type === 'thinking' ? delta.text : '')).join('');
  if (flags.thinking && thinking !== '') await context.ui.think(thinking);
  if (context.root.json) return;
  await payload.write(deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join(''));
}

interface Printing {
  payload: Payload;
  flags: PrintFlags;
  context: Context;
}

/** The last line of `--jsonl`: how the answer ended, and the error that this means. */
export function endLine(answer: Answer, wanted: Wanted, { redact, clean }: Redaction): object {
  const { result, error } = answer;
  const { stopReason, usage, responseId, modelVersion, toolCalls } = result;
  const message = verdictOf(answer, wanted).error?.message;
  return clean({
    type: 'result',
    complete: result.complete && error === undefined,
    stopReason,
    usage,
    responseId,
    modelVersion,
    toolCalls,
    error: message && redact(message),
  });
}
