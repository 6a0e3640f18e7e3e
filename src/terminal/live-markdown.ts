import { escapeForTerminal } from './escape.ts';
import { redraw } from './frame.ts';
import type { Output } from './io.ts';
import {
  advance,
  type Drawing,
  lastWithin,
  linesBetween,
  type LiveText,
  maxCharacters,
  settle,
  type TerminalSize,
  withoutMarks,
} from './live-text.ts';

/**
 * Prints Markdown on a terminal while it arrives. Each write shows all text so far: lines that are decided are printed once; the
 * last line, and others that later text can change, are drawn again in their place. They are never more than the window shows, as
 * what has left it cannot be changed. The cursor is at the beginning of the line below, where no change of the window moves it.
 * `end` prints the rest; the next write begins another text. `onOutput` is called before each output.
 */
export function startMarkdown(stdout: Output, colored: boolean, onOutput?: () => void) {
  let live: LiveText = { text: '' };
  /** A half line break. */
  let held = '';
  let tail: string[] = [];
  let size: TerminalSize = getTerminalSize(stdout);

  /** As bytes: the escape sequences are those of the program. The text between them is escaped. */
  async function drawLines({ done, tail: next }: Drawing): Promise<void> {
    const drawn = redraw(tail, [...done, ...next], size.columns);
    tail = next;
    if (drawn === '') return;
    onOutput?.();
    await stdout.write(Buffer.from(drawn));
  }

  /** In a smaller window, the first lines of the tail leave it: they are printed then. */
  function followWindow(): void {
    const now = getTerminalSize(stdout);
    if (now.columns === size.columns && now.rows === size.rows) return;
    const visible = lastWithin(tail, now);
    const gone = tail.length - visible.length;
    settle(live, { most: gone, least: gone }, { size, colored });
    [tail, size] = [visible, now];
  }

  async function appendText(text: string): Promise<void> {
    followWindow();
    live.text += text;
    const drawing = advance(live, { size, colored });
    // In a window of one row, each line has left it when it is written.
    const canRedraw = stdout.rows !== undefined && stdout.rows > 1;
    await drawLines(canRedraw ? { ...drawing, tail: lastWithin(drawing.tail, size) } : { ...drawing, tail: [] });
  }

  async function addInPieces(text: string): Promise<void> {
    for (let from = 0; from < text.length; from += maxCharacters / 2)
      await appendText(text.slice(from, from + maxCharacters / 2));
  }

  return {
    async write(text: string): Promise<void> {
      const [, whole = '', half = ''] = /^(.*?)(\r?)$/s.exec(held + text) ?? [];
      held = half;
      const safe = escapeForTerminal(whole.replaceAll('\r\n', '\n'));
      if (!safe.split('\n\n').some((block) => block.length > maxCharacters)) return addInPieces(safe);
      // To format such a block could take minutes.
      await this.end();
      held = half;
      await drawLines({ done: safe.trimEnd().split('\n'), tail: [] });
    },
    /** Takes what is not yet decided from the screen, so that `print` can begin a line, and draws it again below. */
    async makeRoom(print: () => Promise<void>): Promise<void> {
      followWindow();
      const shown = tail;
      // Begun at once, so that no other text comes between.
      await Promise.all([drawLines({ done: [], tail: [] }), print(), drawLines({ done: [], tail: shown })]);
    },
    async end(): Promise<void> {
      followWindow();
      const done = withoutMarks(linesBetween(live, undefined, { size, colored }) ?? []);
      live = { text: '' };
      held = '';
      await drawLines({ done, tail: [] });
    },
  };
}

function getTerminalSize({ columns, rows = 24 }: Output): TerminalSize {
  return { columns, rows };
}
