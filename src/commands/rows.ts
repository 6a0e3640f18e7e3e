import { asColumn } from '../terminal/break-lines.ts';

/** The rows of a table as lines, each column as wide as its widest text. */
export function linesOf(rows: readonly (readonly string[])[]): string[] {
  const columns = (rows[0] ?? []).map((_, at) => asColumn(rows.map((row) => row[at] ?? '')));
  return rows.map((_, row) =>
    columns
      .map((column) => column[row])
      .join('  ')
      .trimEnd(),
  );
}
