import { monotonic } from '../clock.ts';
import type { Output } from './io.ts';
import { createLiveLines } from './live-lines.ts';
import { blocksOf, markdownLines } from './markdown.ts';
import { type After, afterOnClock } from './timers.ts';

/** Markdown on a terminal while it comes. Blocks that are complete are printed once; the last one is redrawn. */
export interface MarkdownStream {
  write(text: string): Promise<void>;
  /** Wipes the block that is not complete for a line that is written now; it goes on below. */
  clear(): Promise<void>;
  /** Shows the text to its end and goes to a new line. What follows is another text. */
  end(): Promise<void>;
}

interface MarkdownStreamOptions {
  stdout: Output;
  colored: boolean;
  after?: After;
  /** Monotonic clock in ms. */
  elapsed?: () => number;
}

/** Between two redraws, in ms. */
const pauseMs = 30;
/** A redraw that takes long is followed by a pause so many times as long. */
const restShare = 4;
const defaultRows = 24;

/** Starts at the beginning of a line of stdout, which must be a terminal. */
export function startMarkdown({
  stdout,
  colored,
  after = afterOnClock,
  elapsed = monotonic,
}: MarkdownStreamOptions): MarkdownStream {
  const page = createPage(stdout, colored);
  let isStale = false;
  let isResting = false;
  let callOff: (() => void) | undefined;
  let drawing: Promise<void> = Promise.resolve();

  /** As bytes: these are our own sequences. The text between them has none, see markdownLines. */
  const send = (text: string) => (drawing = text === '' ? drawing : stdout.write(Buffer.from(text)));
  const rest = (ms: number): void => {
    isResting = true;
    callOff = after(ms, () => {
      isResting = false;
      if (isStale) show().catch(() => undefined);
    });
  };
  const show = (): Promise<void> => {
    const started = elapsed();
    isStale = false;
    const shown = send(page.redraw());
    rest(Math.max(pauseMs, restShare * (elapsed() - started)));
    return shown;
  };
  return {
    async write(text) {
      page.add(text);
      isStale = true;
      await (isResting ? drawing : show());
    },
    async clear() {
      if (page.isEmpty()) return;
      isStale = true;
      if (!isResting) rest(pauseMs);
      // The next write or the end tells what went wrong.
      await send(page.wipe()).catch(() => undefined);
    },
    async end() {
      callOff?.();
      isResting = false;
      isStale = false;
      await send(page.end());
    },
  };
}

/** A text that grows, and what the terminal must be sent to show it. */
interface Page {
  add(text: string): void;
  isEmpty(): boolean;
  redraw(): string;
  wipe(): string;
  /** Shows the rest and begins a new text. */
  end(): string;
}

function createPage(stdout: Output, colored: boolean): Page {
  let screen = createLiveLines();
  /** From the beginning of the first block that can change. */
  let source = '';
  /** The first half of a line break, maybe. */
  let held = '';
  let hasBlocksAbove = false;

  const size = () => ({ columns: stdout.columns, rows: stdout.rows ?? defaultRows });
  const linesOf = (blocks: Blocks): string[] => {
    const lines = markdownLines(blocks, { width: stdout.columns, colored, breaks: true });
    return hasBlocksAbove && lines.length > 0 ? ['', ...lines] : lines;
  };
  const redraw = (): string => {
    const blocks = blocksOf(source);
    const text = screen.redraw(linesOf(blocks), size());
    const complete = completeBlocks(blocks, source);
    const done = complete.map(({ raw }) => raw).join('');
    if (done === '' || !source.startsWith(done)) return text;
    const kept = linesOf(complete).length;
    screen.keep(kept);
    hasBlocksAbove ||= kept > 0;
    source = source.slice(done.length);
    return text;
  };
  return {
    add(text) {
      const all = held + text;
      held = all.endsWith('\r') ? '\r' : '';
      source += all.slice(0, all.length - held.length).replaceAll(/\r\n?/g, '\n');
    },
    isEmpty: () => source === '',
    redraw,
    wipe: () => screen.wipe(size()),
    end() {
      const text = redraw() + screen.end();
      screen = createLiveLines();
      source = '';
      held = '';
      hasBlocksAbove = false;
      return text;
    },
  };
}

type Blocks = ReturnType<typeof blocksOf>;

/**
 * The blocks that no further text can change: those before the last that has a line to its end. A line that is not
 * at its end can still become part of the block above it.
 */
function completeBlocks(blocks: Blocks, source: string): Blocks {
  const lastLine = source.lastIndexOf('\n') + 1;
  let at = 0;
  let complete = 0;
  for (const [index, { type, raw }] of blocks.entries()) {
    if (at >= lastLine) break;
    if (type !== 'space') complete = index;
    at += raw.length;
  }
  return blocks.slice(0, complete);
}
