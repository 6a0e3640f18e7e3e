import stringWidth from 'string-width';

/** Scripts that put no blanks between words (Hangul does), with their punctuation and the letters that are as wide. */
const cjk = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\u3000-\u303f\uff01-\uff60]/u;
/** Must not begin a line: closing punctuation, small kana, marks of length and repetition, what belongs to the letter before it. */
const closing =
  /[\p{Pe}\p{Pf}\p{M}\u200d"'!%,.:;?‐–—…‥‼⁇⁈⁉、。々〻〜・ぁぃぅぇぉっゃゅょゎゕゖゝゞァィゥェォッャュョヮヵヶーヽヾ！％，．：；？～]/u;
/** Must not end one: opening punctuation, and what belongs to the number behind it. */
const opening = /[\p{Ps}\p{Pi}"'$£¥￥＄]/u;

const colourOrLetter = new RegExp(String.raw`\x1b\[[\d;]*m|.`, 'gsu');

/** Text with line breaks where Chinese or Japanese may have them; other text is left as it is. Our colours take no column. */
export function breakCjk(text: string, width: number): string {
  if (!cjk.test(text)) return text;
  return text
    .split('\n')
    .flatMap((line) => filled(piecesOf(line), width))
    .join('\n');
}

/**
 * Lines for a person, broken between words and indented below their first. What is to be typed stays in one piece, and a word that
 * is wider than the terminal too, so that it can be copied.
 */
export function breakLines(text: string, columns: number): string {
  const lines = text.split('\n').flatMap((line) => {
    const hanging = `${/^ */.exec(line)?.[0]}  `;
    return filled(piecesAround(line, columns - hanging.length), columns, hanging);
  });
  return lines.join('\n');
}

/** A command goes on to the end of its line. What is to be typed stands behind the last colon of a hint, which is indented. */
function piecesAround(line: string, room: number): string[] {
  const command = line.search(/(?<= )gateway-cli /);
  const typed = line.startsWith(' ') ? line.lastIndexOf(': ') + 2 : line.length;
  const fits = typed > 1 && stringWidth(line.slice(typed)) <= room;
  const end = command > 0 ? command : fits ? typed : line.length;
  return [...piecesOf(line.slice(0, end)), line.slice(end)];
}

/** What no line may break: words with the blanks behind them, and single letters of Chinese and Japanese. */
function piecesOf(line: string): string[] {
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

function mayBreak(before: string, after: string): boolean {
  if (before === '' || after === ' ') return false;
  if (before === ' ') return true;
  return (cjk.test(before) || cjk.test(after)) && !closing.test(after) && !opening.test(before);
}

/** Pieces in lines of at most so many columns; all lines but the first begin with `hanging`. */
function filled(pieces: readonly string[], width: number, hanging = ''): string[] {
  const lines: string[] = [];
  let line = '';
  let used = 0;
  for (const piece of pieces) {
    const own = stringWidth(piece);
    const blanks = piece.length - piece.trimEnd().length;
    if (line.trim() !== '' && used + own - blanks > width) {
      lines.push(line.trimEnd());
      line = hanging;
      used = hanging.length;
    }
    line += piece;
    used += own;
  }
  return [...lines, line.trimEnd()];
}

/** The longest beginning of a text that fits so many columns, with an ellipsis where it is cut. No character is cut in half. */
export function cutToColumns(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  let cut = '';
  let width = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    width += stringWidth(segment);
    if (width > columns - 1) break;
    cut += segment;
  }
  return `${cut}…`;
}

/** Texts as a column of a table: each with blanks up to the width of the widest. */
export function asColumn(texts: readonly string[]): string[] {
  const widths = texts.map((text) => stringWidth(text));
  const widest = Math.max(0, ...widths);
  return texts.map((text, index) => text + ' '.repeat(widest - (widths[index] ?? 0)));
}
