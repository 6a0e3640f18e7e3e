import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

/** How large the terminal is now. */
interface Size {
  columns: number;
  rows: number;
}

/** The last lines on a terminal, while they can change; the cursor stands at their end. */
export interface LiveLines {
  /** What a terminal must be sent to show these lines instead: from the first line that differs and can be reached. */
  redraw(lines: readonly string[], size: Size): string;
  /** So many of the first lines stay as they are. */
  keep(count: number): void;
  /** Wipes what can be reached, so that something else is written there; the next redraw goes on below it. */
  wipe(size: Size): string;
  /** Goes to a new line, where the cursor is not on one. */
  end(): string;
}

/** Starts with the cursor at the beginning of a line. */
export function createLiveLines(): LiveLines {
  let drawn: readonly string[] = [];
  /** Lines of `drawn` that cannot be reached: something else was written below them. */
  let fixed = 0;
  let isAtStart = true;

  /** Erases from a line on; then the cursor stands at the beginning of that line. */
  const eraseFrom = (first: number, { columns }: Size): string => {
    const up = rowsOf(drawn.slice(first), columns) - 1;
    isAtStart = true;
    return `\r${up > 0 ? `\x1b[${up}A` : ''}\x1b[J`;
  };
  const append = (lines: readonly string[]): string => {
    if (lines.length === 0) return '';
    const text = `${isAtStart ? '' : '\n'}${lines.join('\n')}`;
    isAtStart = false;
    return text;
  };
  return {
    redraw(lines, size) {
      const last = drawn.length - 1;
      const first = firstChange(drawn, lines, Math.max(fixed, firstInReach(drawn, size)));
      const grown = first === last ? lines[last] : undefined;
      let text: string;
      if (first > last) text = append(lines.slice(first));
      else if (grown?.startsWith(drawn[last] ?? ''))
        text = grown.slice(drawn[last]?.length) + append(lines.slice(first + 1));
      else text = eraseFrom(first, size) + append(lines.slice(first));
      drawn = [...drawn.slice(0, first), ...lines.slice(first)];
      return text;
    },
    keep(count) {
      drawn = drawn.slice(count);
      fixed = Math.max(0, fixed - count);
    },
    wipe(size) {
      const first = Math.max(fixed, firstInReach(drawn, size));
      const text = first < drawn.length ? eraseFrom(first, size) : this.end();
      drawn = drawn.slice(0, first);
      fixed = first;
      return text;
    },
    end() {
      const text = isAtStart ? '' : '\n';
      isAtStart = true;
      return text;
    },
  };
}

/** The first line that is on the screen as a whole. */
function firstInReach(lines: readonly string[], { columns, rows }: Size): number {
  let first = lines.length;
  for (let used = 0; first > 0; first--) {
    used += rowsOf(lines.slice(first - 1, first), columns);
    if (used > rows) break;
  }
  return first;
}

function firstChange(before: readonly string[], after: readonly string[], from: number): number {
  let first = from;
  while (first < before.length && before[first] === after[first]) first++;
  return first;
}

/** How many rows lines take, with those that the terminal wraps. */
function rowsOf(lines: readonly string[], columns: number): number {
  return lines.reduce((rows, line) => rows + rowsOfLine(line, columns), 0);
}

function rowsOfLine(line: string, columns: number): number {
  if (stringWidth(line) <= columns) return 1;
  return wrapAnsi(line, columns, { hard: true, trim: false, wordWrap: false }).split('\n').length;
}
