import {
  drainDeltas,
  judgeAnswer,
  pickEndFields,
  type Result,
  type StreamDelta,
  totalCost,
  type Wanted,
} from '../../library/index.ts';
import { jsonLine, writeEscaped } from '../terminal/escape.ts';
import type { Output } from '../terminal/io.ts';
import type { Progress } from '../terminal/progress.ts';
import { isReadByCi } from '../terminal/ci-guard.ts';
import { wantsColor } from '../terminal/style.ts';
import type { AnswerContext, Outcome } from '../context.ts';

/** Whether stdout gets nothing while an answer arrives: the document, one value of it or the code is printed at the end. */
export function isPrintedAtEnd({ root, selected }: Pick<AnswerContext, 'root' | 'selected'>): boolean {
  return root.json === true || selected !== undefined;
}

/** Model text for stdout: escaped on a terminal, byte for byte in a pipe. */
interface Payload {
  readonly isFormatted: boolean;
  write(text: string): Promise<void>;
  /** Adds a newline if the text does not end with one, and nothing if nothing was written. */
  end(): Promise<void>;
}

/** Whether stdout is a terminal that can show formatted Markdown. GitHub's runner reads lines, even if it provides one. */
function canFormat({ stdout, env }: AnswerContext['io']): boolean {
  return stdout.isTTY && env['TERM'] !== 'dumb' && !isReadByCi(env, stdout);
}

/** Starts the payload of formatted Markdown. `onOutput` is called before each output. */
async function startFormatted(context: AnswerContext, onOutput?: () => void): Promise<Payload> {
  const { stdout, env } = context.io;
  const { startMarkdown } = await import('../terminal/live-markdown.ts');
  const colored = wantsColor({ env, isTTY: true, color: context.root.color });
  const live = startMarkdown(stdout, colored, onOutput);
  if (context.io.stderr.isTTY) context.ui.printWith(live.makeRoom);
  return { ...live, isFormatted: true };
}

function plainPayload(stdout: Output, onOutput: () => void): Payload {
  let last = '';
  return {
    isFormatted: false,
    async write(text) {
      last = text.at(-1) ?? last;
      onOutput();
      await writeEscaped(stdout, text);
    },
    async end() {
      if (last !== '' && last !== '\n') await stdout.write('\n');
      last = '';
    },
  };
}

interface StreamOptions {
  thinking?: true;
  jsonl?: true;
  isMarkdown: boolean;
  /** Runs until the first output. The caller stops it at the end. */
  progress: Progress;
  /** The text is printed when it has been checked, or if the stream fails before. */
  waitsForCheck?: boolean | undefined;
  /** Receives the text of the answer as it arrives. */
  onText?: ((text: string) => void) | undefined;
}

/** Prints deltas as they arrive; the deltas of one chunk are one write. */
export async function printStream<Outcome>(
  deltas: AsyncGenerator<StreamDelta[], Outcome>,
  options: StreamOptions,
  context: AnswerContext,
): Promise<Outcome> {
  const onOutput = () => options.progress.stop();
  const isFormatted = options.isMarkdown && !options.jsonl && !isPrintedAtEnd(context) && canFormat(context.io);
  const payload = isFormatted ? await startFormatted(context, onOutput) : plainPayload(context.io.stdout, onOutput);
  const printing: PrintState = { payload, options, context, isInThinking: false, waiting: '' };
  try {
    return await drainDeltas(deltas, (arrived) => printDeltas(arrived, printing));
  } catch (error) {
    await payload.write(printing.waiting);
    throw error;
  } finally {
    await payload.end();
  }
}

interface PrintState {
  payload: Payload;
  options: StreamOptions;
  context: AnswerContext;
  /** The cursor is in an unfinished line of `--thinking`. */
  isInThinking: boolean;
  /** Text that waits for its check. */
  waiting: string;
}

async function printDeltas(deltas: readonly StreamDelta[], printing: PrintState): Promise<void> {
  const { options, context } = printing;
  if (options.jsonl) {
    options.progress.stop();
    await context.io.stdout.write(deltas.map(jsonLine).join(''));
    return;
  }
  const thinking = deltas.map((delta) => (delta.type === 'thinking' ? delta.text : '')).join('');
  if (options.thinking && thinking !== '') await printThinking(thinking, printing);
  const text = deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('');
  options.onText?.(text);
  if (text === '' || isPrintedAtEnd(context)) return;
  if (options.waitsForCheck) return void (printing.waiting += text);
  if (printing.isInThinking) await context.io.stderr.write('\n');
  printing.isInThinking = false;
  await printing.payload.write(text);
}

/** Formatted text before and after it has lines of its own. */
async function printThinking(text: string, printing: PrintState): Promise<void> {
  const { payload, context } = printing;
  if (payload.isFormatted) await payload.end();
  await context.ui.think(text);
  printing.isInThinking = payload.isFormatted && context.io.stderr.isTTY && !text.endsWith('\n');
}

/** The last line of `--jsonl`: the end of the answer, and its error. */
export function toEndDocument(
  { reply, error: cut, spent }: Outcome & { reply: Result },
  wanted: Wanted,
  { ui: { redact, clean } }: Pick<AnswerContext, 'ui'>,
): object {
  const complete = reply.complete && cut === undefined;
  const cost = totalCost(spent);
  const message = judgeAnswer({ result: reply, error: cut }, wanted).error?.message;
  const error = message && redact(message);
  return clean({ type: 'result', complete, ...pickEndFields(reply), cost, error });
}

/** The text of each candidate for printing: with the code that the service ran, or only its JSON that fits the schema. */
export function answerTexts({ candidates }: Pick<Result, 'candidates'>, json?: string): string[] {
  const texts = candidates.map(({ text, markdown = text }, at) => (at === 0 ? (json ?? markdown) : markdown));
  return texts.filter((text) => text !== '');
}

/** The texts as they are, each with a newline at its end and a line `---` between them. */
export function joinAnswerTexts(texts: readonly string[]): string {
  return texts.map((text) => (text.endsWith('\n') ? text : `${text}\n`)).join('---\n');
}

/** Prints an answer that did not stream: the text of each candidate, with a line `---` between them. */
export async function printText(
  result: Pick<Result, 'candidates'>,
  { isMarkdown, json, context }: { isMarkdown: boolean; json?: string | undefined; context: AnswerContext },
): Promise<void> {
  if (isPrintedAtEnd(context)) return;
  const texts = answerTexts(result, json);
  if (texts.length === 0) return;
  if (!isMarkdown || !canFormat(context.io)) return writeEscaped(context.io.stdout, joinAnswerTexts(texts));
  const payload = await startFormatted(context);
  for (const [index, text] of texts.entries()) {
    if (index > 0) {
      await payload.end();
      await context.io.stdout.write('---\n');
    }
    await payload.write(text);
  }
  await payload.end();
}
