import stringWidth from 'string-width';

/**
 * Breaks lines between words and indents the further ones. A command to be typed is not broken, nor a word wider than the
 * terminal, so that they can be copied.
 */
export function breakLines(text: string, columns: number): string {
  const lines = text.split('\n').flatMap((line) => {
    const hanging = `${/^ */.exec(line)?.[0]}  `;
    return filled(piecesAround(line, columns - hanging.length), columns, hanging);
  });
  return lines.join('\n');
}

/** A command continues to the end of its line. In a hint, which is indented, text to be typed follows the last colon. */
function piecesAround(line: string, room: number): string[] {
  const command = line.search(/(?<= )gateway-cli /);
  const typed = line.startsWith(' ') ? line.lastIndexOf(': ') + 2 : line.length;
  const fits = typed > 1 && stringWidth(line.slice(typed)) <= room;
  const end = command > 0 ? command : fits ? typed : line.length;
  return [...piecesOf(line.slice(0, end)), line.slice(end)];
}

/** Pieces that are not broken: words with the spaces after them. */
function piecesOf(line: string): string[] {
  return line.match(/^ +|[^ ]+ */g) ?? [];
}

/** Fills lines of `width` columns with pieces; all lines but the first begin with `hanging`. */
function filled(pieces: readonly string[], width: number, hanging = ''): string[] {
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

/** Pads texts to the width of the widest, as a column of a table. */
export function asColumn(texts: readonly string[]): string[] {
  const widths = texts.map((text) => stringWidth(text));
  const widest = Math.max(0, ...widths);
  return texts.map((text, index) => text + ' '.repeat(widest - (widths[index] ?? 0)));
}
