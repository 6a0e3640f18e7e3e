import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The README's text. */
export const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');

/** The rows of every table whose first heading is `first`, cells trimmed. */
export function tableRows(first: string): string[][] {
  const lines = readme.split('\n');
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
    .split('|')
    .map((cell) => cell.trim());
}
