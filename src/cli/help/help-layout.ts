/** Widest column of names, and its share of a narrow terminal. */
const maxNames = 34;
const share = 0.42;

const indent = '  ';

/** Breaks text between words into lines of `width` columns; all lines but the first begin with `hanging`. */
export function wrapText(text: string, width: number, hanging = ''): string[] {
  return wrapWords(
    text.split(/ +/).filter((word) => word !== ''),
    width,
    { first: '', hanging },
  );
}

/** Breaks words that can contain blanks. `first` begins the first line, `hanging` the others. */
function wrapWords(
  words: readonly string[],
  width: number,
  { first, hanging }: { first: string; hanging: string },
): string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of words) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = hanging;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line.trimEnd()];
}

/** Names and their texts in two columns. A name wider than its column gets its own line. */
export function twoColumns(rows: readonly (readonly [string, string])[], width: number): string[] {
  const widest = Math.max(0, ...rows.map(([name]) => name.length)) + 2;
  const column = indent.length + Math.min(widest, maxNames, Math.floor(width * share));
  return rows.flatMap((row) => rowLines(row, { column, width }));
}

function rowLines(
  [name, text]: readonly [string, string],
  { column, width }: { column: number; width: number },
): string[] {
  const words = text.split(' ');
  const hasRoom = words.every((word) => word.length <= width - column);
  const head = indent + name;
  const fits = hasRoom && head.length + 2 <= column;
  const hanging = ' '.repeat(hasRoom ? column : 2 * indent.length);
  const lines = wrapWords(words, width, { first: fits ? head.padEnd(column) : hanging, hanging });
  return fits ? lines : [head, ...lines];
}

/**
 * An example that can be copied: a long command continues after a backslash, with its remark above. Text in quotes stays on one
 * line if it fits.
 */
export function exampleText(example: string, width: number): string[] {
  if (indent.length + example.length <= width) return [indent + example];
  const [, command = example, remark] = /^(.*?) +(# .*)$/.exec(example) ?? [];
  const line = remark === undefined ? command : `${command}  ${remark}`;
  if (indent.length + line.length <= width) return [indent + line];
  const above = remark === undefined ? [] : wrapText(remark, width - indent.length, '# ').map((line) => indent + line);
  const lines = wrapWords(wordsOf(command), width - 2, { first: indent, hanging: indent + indent });
  return [...above, ...lines.map((line, index) => (index < lines.length - 1 ? `${line} \\` : line))];
}

/** The words of a shell command, with their quotes. */
function wordsOf(command: string): string[] {
  return command.match(/(?:"[^"]*"|'[^']*'|[^\s"']+)+/g) ?? [];
}
