/** What a terminal would show of what was written to it: lines, without colours. */
export interface TinyScreen {
  /** Lines that have no room are wrapped, as most terminals do it. */
  resize(columns: number): void;
  write(text: string): void;
  /** Every line from the first, those that have scrolled off too. */
  lines(): string[];
}

/** Escape sequences and characters. */
const pieces = new RegExp(String.raw`\x1b\[[\d;]*[A-Za-z]|[^]`, 'gu');

/**
 * A terminal that knows what we send: text, line breaks, CR, cursor up, erase to the end of the screen, colours. It throws at any
 * other control, at a cursor that would leave its rows, and at characters that are not one column wide.
 */
export function createTinyScreen(size: { columns: number; rows: number }): TinyScreen {
  const { rows } = size;
  let { columns } = size;
  const lines: string[] = [''];
  let row = 0;
  let column = 0;
  const newLine = (): void => {
    row++;
    column = 0;
    if (row === lines.length) lines.push('');
  };
  const put = (character: string): void => {
    if (character < ' ' || character > '\u2fff') throw new Error(`unexpected ${JSON.stringify(character)}`);
    if (column === columns) newLine();
    lines[row] = (lines[row] ?? '').slice(0, column).padEnd(column) + character + (lines[row] ?? '').slice(column + 1);
    column++;
  };
  const up = (count: number): void => {
    row -= count;
    if (row < Math.max(0, lines.length - rows)) throw new Error('the cursor left the screen');
  };
  const obey = (sequence: string): void => {
    const [, count = '', letter = ''] = /^.\[([\d;]*)([A-Za-z])$/u.exec(sequence) ?? [];
    if (letter === 'A') up(Number(count));
    else if (letter === 'J') {
      lines.length = row + 1;
      lines[row] = (lines[row] ?? '').slice(0, column);
    } else if (letter !== 'm') throw new Error(`unexpected ${JSON.stringify(sequence)}`);
  };
  return {
    write(text) {
      for (const piece of text.match(pieces) ?? []) {
        if (piece === '\n') newLine();
        else if (piece === '\r') column = 0;
        else if (piece.length > 1 && piece.startsWith('\x1b')) obey(piece);
        else put(piece);
      }
    },
    resize(wanted) {
      columns = wanted;
      const wrapped = lines.flatMap((line) => line.match(new RegExp(`.{1,${columns}}`, 'gu')) ?? ['']);
      lines.splice(0, lines.length, ...wrapped);
      row = lines.length - 1;
      column = lines[row]?.length ?? 0;
    },
    lines: () => [...lines],
  };
}
