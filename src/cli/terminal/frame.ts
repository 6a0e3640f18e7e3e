import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';

const segmenter = new Intl.Segmenter();

/** Number of rows of a terminal that a line takes. A letter of two columns is not cut at the edge. */
export function countScreenRows(line: string, columns: number): number {
  const text = stripVTControlCharacters(line);
  if (/^[ -~]*$/.test(text)) return Math.max(1, Math.ceil(text.length / columns));
  if (stringWidth(text) <= columns) return 1;
  let [rows, used] = [1, 0];
  for (const { segment } of segmenter.segment(text)) {
    const width = stringWidth(segment);
    if (used + width > columns) [rows, used] = [rows + 1, 0];
    used += width;
  }
  return rows;
}

/**
 * The text that makes a terminal show the `next` lines in place of the `shown` ones. The cursor is at the beginning of the line
 * below, before and after. Lines at the beginning that stay the same are not written.
 */
export function redraw(shown: readonly string[], next: readonly string[], columns: number): string {
  const changed = next.findIndex((line, index) => line !== shown[index]);
  const first = changed === -1 ? next.length : changed;
  const up = shown.slice(first).reduce((sum, line) => sum + countScreenRows(line, columns), 0);
  const lines = next.slice(first).map((line) => `${line}\n`);
  return (up > 0 ? `\u001b[${up}A${eraseBelow}` : '') + lines.join('');
}

/**
 * Erases the line of the cursor, then the lines below it: if a window is erased from its corner on, tmux takes it for a cleared
 * one, and keeps the old content in its history.
 */
const eraseBelow = '\u001b[K\u001b[B\u001b[J\u001b[A';
