import stringWidth from 'string-width';

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
