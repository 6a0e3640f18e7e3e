import stringWidth from 'string-width';
import { wrapped } from './wrap.ts';
import { maxOf } from '../../library/index.ts';

/** Least width of a column that needs more; if it is narrower, each row becomes a list of its cells. */
const narrowestColumn = 10;
type Align = 'center' | 'left' | 'right' | null;

interface TablePlace {
  width: number;
  /** The first rows decide the widths, and a longer word can come. */
  breaks: boolean;
}

/**
 * The widths of the cells, or fair shares of the terminal if it is too narrow. Undefined if a column would be too narrow, or in
 * a document split a word.
 */
export function columnWidths(
  rows: readonly (readonly string[])[],
  { width, breaks }: TablePlace,
): number[] | undefined {
  const columns = Array.from({ length: rows[0]?.length ?? 0 }, (_, column) => {
    const cells = rows.map((row) => row[column] ?? '');
    const wanted = maxOf([1, ...cells.map((cell) => widest(cell))]);
    const word = breaks ? 0 : maxOf(cells.map((cell) => widestWord(cell)));
    return { column, wanted, least: Math.max(word, Math.min(wanted, narrowestColumn)) };
  });
  let room = width - 2 * (columns.length - 1);
  let reserved = columns.reduce((sum, { least }) => sum + least, 0);
  if (reserved > room) return undefined;
  const given: number[] = [];
  for (const [index, { column, wanted, least }] of columns.toSorted((a, b) => a.wanted - b.wanted).entries()) {
    reserved -= least;
    const fair = Math.max(least, Math.floor(room / (columns.length - index)));
    const share = Math.min(wanted, fair, room - reserved);
    given[column] = share;
    room -= share;
  }
  return given;
}

function widest(cell = ''): number {
  return maxOf(cell.split('\n').map((line) => stringWidth(line)));
}

/**
 * The widths for one row: a later row can have a longer word than the rows that decided the widths. The word is not split if
 * there is room.
 */
export function withWords(row: readonly string[], widths: readonly number[], { width }: TablePlace): readonly number[] {
  const own = widths.map((given, column) => Math.max(given, widestWord(row[column])));
  return own.reduce((sum, one) => sum + one, 2 * (own.length - 1)) <= width ? own : widths;
}

function widestWord(cell = ''): number {
  return widest(cell.replaceAll(/\s+/g, '\n'));
}

/** Text that people copy whole: it stays in one line, which can be wider than its column and the terminal. */
const address = /https?:\/\/\S/i;

/** A row of a table; cells wider than their column continue in further lines. */
export function rowLines(
  row: readonly string[],
  { widths, align }: { widths: readonly number[]; align: readonly Align[] },
): string[] {
  const columns = widths.map((width, column) => {
    const cell = row[column] ?? '';
    return wrapped(cell, { width }, { hard: !address.test(cell) });
  });
  const height = maxOf(columns.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) => {
    const pieces = columns.map((lines, column) => padded(lines[at] ?? '', widths[column] ?? 0, align[column]));
    return pieces.join('  ').trimEnd();
  });
}

function padded(text: string, width: number, align: Align | undefined): string {
  const free = Math.max(0, width - stringWidth(text));
  const before = align === 'right' ? free : align === 'center' ? Math.floor(free / 2) : 0;
  return ' '.repeat(before) + text + ' '.repeat(free - before);
}
