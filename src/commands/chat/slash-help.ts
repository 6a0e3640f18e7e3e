import { slashCommands } from '../../chat/slash.ts';
import { twoColumns, wrapText } from '../../cli/help/help-layout.ts';

const more = [
  String.raw`A line that ends with \ goes on in the next; pasted lines are one prompt.`,
  'Tab completes commands and paths. Ctrl-C stops the answer. A blank before / makes it a prompt.',
];

/** What `/help` prints, in lines of at most so many columns. */
export function slashHelp(columns: number): string {
  const rows = Object.entries(slashCommands).map(([name, text]): [string, string] => [`/${name}`, text]);
  const lines = [...twoColumns(rows, columns), ...more.flatMap((text) => hang(text, columns))];
  return `${lines.join('\n')}\n`;
}

function hang(text: string, columns: number): string[] {
  return wrapText(text, columns - 2).map((line) => `  ${line}`);
}
