import stringWidth from 'string-width';
import { maxOf } from '../../library/index.ts';

/** Scripts without spaces between words (Hangul has them), with their punctuation and wide letters. */
const cjk = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\u3000-\u303f\uff01-\uff60]/u;
/** Characters that must not begin a line: closing punctuation, small kana, marks of length and repetition, combining characters. */
const closing =
  /[\p{Pe}\p{Pf}\p{M}\u200d"'!%,.:;?‐–—…‥‼⁇⁈⁉、。々〻〜・ぁぃぅぇぉっゃゅょゎゕゖゝゞァィゥェォッャュョヮヵヶーヽヾ！％，．：；？～]/u;
/** Characters that must not end a line: opening punctuation, and signs before numbers. */
const opening = /[\p{Ps}\p{Pi}"'$£¥￥＄]/u;

const colourOrLetter = new RegExp(String.raw`\x1b\[[\d;]*m|.`, 'gsu');

/** Breaks lines between Chinese and Japanese characters; other text stays as it is. Colours take no columns. */
export function breakCjk(text: string, width: number): string {
  if (!cjk.test(text)) return text;
  return text
    .split('\n')
    .flatMap((line) => fillLines(splitIntoPieces(line), width))
    .join('\n');
}

/**
 * Breaks lines between words and indents the further ones. A command to be typed is not broken, nor a word wider than the
 * terminal, so that they can be copied.
 */
export function breakLines(text: string, columns: number): string {
  const lines = text.split('\n').flatMap((line) => {
    const hanging = `${/^ */.exec(line)?.[0]}  `;
    return fillLines(splitAroundCommand(line, columns - hanging.length), columns, hanging);
  });
  return lines.join('\n');
}

/** A command continues to the end of its line. In a hint, which is indented, text to be typed follows the last colon. */
function splitAroundCommand(line: string, room: number): string[] {
  const command = line.search(/(?<= )gateway-cli /);
  const typed = line.startsWith(' ') ? line.lastIndexOf(': ') + 2 : line.length;
  const fits = typed > 1 && stringWidth(line.slice(typed)) <= room;
  const end = command > 0 ? command : fits ? typed : line.length;
  return [...splitIntoPieces(line.slice(0, end)), line.slice(end)];
}

/** Pieces that are not broken: words with the spaces after them, and Chinese or Japanese characters. */
function splitIntoPieces(line: string): string[] {
  const pieces: string[] = [];
  let piece = '';
  let before = '';
  for (const token of line.match(colourOrLetter) ?? []) {
    if (!token.startsWith('\u001b')) {
      if (mayBreak(before, token)) {
        pieces.push(piece);
        piece = '';
      }
      before = token;
    }
    piece += token;
  }
  return [...pieces, piece];
}

/** Whether a line can end between two characters that follow each other. */
function mayBreak(before: string, after: string): boolean {
  if (before === '' || after === ' ') return false;
  if (before === ' ') return true;
  return (cjk.test(before) || cjk.test(after)) && !closing.test(after) && !opening.test(before);
}

/** Fills lines of `width` columns with pieces; all lines but the first begin with `hanging`. */
function fillLines(pieces: readonly string[], width: number, hanging = ''): string[] {
  const lines: string[] = [];
  let line = '';
  let used = 0;
  for (const piece of pieces) {
    const own = stringWidth(piece);
    const blanks = piece.length - piece.trimEnd().length;
    if (own > 0 && line.trim() !== '' && used + own - blanks > width) {
      lines.push(line.trimEnd());
      line = hanging;
      used = hanging.length;
    }
    line += piece;
    used += own;
  }
  return [...lines, line.trimEnd()];
}

/** Cuts a text to a number of columns, with an ellipsis. Never cuts a character in half. */
export function cutToColumns(text: string, columns: number): string {
  // The time of Node's segmenter grows with the square of a text. Only the beginning of a long text is visible.
  const start = text.slice(0, 50 * columns);
  if (start.length === text.length && stringWidth(text) <= columns) return text;
  let cut = '';
  let width = 0;
  for (const { segment } of new Intl.Segmenter().segment(start)) {
    width += stringWidth(segment);
    if (width > columns - 1) break;
    cut += segment;
  }
  return `${cut}…`;
}

/** Pads texts to the width of the widest, as a column of a table. */
export function asColumn(texts: readonly string[]): string[] {
  const widths = texts.map((text) => stringWidth(text));
  const widest = maxOf([0, ...widths]);
  return texts.map((text, index) => text + ' '.repeat(widest - (widths[index] ?? 0)));
}

/** The rows of a table as lines, each column as wide as its widest text. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const columns = (rows[0] ?? []).map((_, at) => asColumn(rows.map((row) => row[at] ?? '')));
  return rows.map((_, row) =>
    columns
      .map((column) => column[row])
      .join('  ')
      .trimEnd(),
  );
}
