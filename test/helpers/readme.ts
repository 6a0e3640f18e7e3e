import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** The README's text. */
export const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** The texts of `help <topic>`, by their names. */
export const topicTexts: ReadonlyMap<string, string> = new Map(
  readdirSync(join(root, 'src/cli/help/topics'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => [name.replace(/\.md$/, ''), readFileSync(join(root, 'src/cli/help/topics', name), 'utf8')]),
);

/** What agents read of the program. */
export const skill = readFileSync(join(root, '.agents/skills/gateway-cli/SKILL.md'), 'utf8');

/** All that users read, without the help of commands. */
export const userTexts: readonly string[] = [readme, ...topicTexts.values(), skill];

/** The rows of every table of these texts whose first heading is `first`, cells trimmed. */
export function tableRows(first: string, texts = userTexts): string[][] {
  const lines = texts.join('\n').split('\n');
  return lines.flatMap((line, index) => (cells(line)[0] === first ? rowsBelow(lines, index + 2) : []));
}

/** The text inside the back-ticks of a cell. */
export function code(cell: string): string {
  return /`([^`]*)`/.exec(cell)?.[1] ?? '';
}

function rowsBelow(lines: readonly string[], start: number): string[][] {
  const end = lines.findIndex((line, index) => index >= start && !line.startsWith('|'));
  return lines.slice(start, end).map(cells);
}

function cells(line: string): string[] {
  if (!line.startsWith('|')) return [];
  return line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}
