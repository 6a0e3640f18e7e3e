import { getErrorCode, usageError } from '../../../errors.ts';
import type { JsonObject } from '../../../json.ts';
import { quoteWord } from '../../../cli/flags/flag.ts';

/** A row, and the line in which it begins, from 1. */
export interface TableRow {
  line: number;
  /** By their headings; cells of CSV and TSV are texts. */
  columns: JsonObject;
}

/** A row, or why the line is not one; undefined for a row of empty cells, as spreadsheets leave them. */
export type ReadRow = TableRow | { error: Error } | undefined;

/** The rows of TSV, or of CSV with commas or the semicolons of some spreadsheets. A quoted cell can hold any character. */
export async function* tableRows(
  texts: AsyncGenerator<string, void>,
  delimiter: string | undefined,
  { name, onFault }: { name: string; onFault: (error: unknown) => void },
): AsyncGenerator<ReadRow, void> {
  let headings: string[] | undefined;
  let number = 0;
  for await (const found of readRecords(texts, delimiter)) {
    const { line } = found;
    if ('error' in found) return onFault(tableFault(found.error, `${name}:${line}`));
    if (headings === undefined) {
      headings = found.record.map((word) => word.trim().normalize('NFC'));
      const faults = headingFaults(headings);
      for (const fault of faults) onFault(usageError(`${name}:${line}: ${fault}`, 'the first line names the columns'));
      if (faults.length > 0) return;
    } else yield toReadRow(found.record, { headings, line, number: ++number, name });
  }
}

type FoundRecord = { line: number } & ({ record: string[] } | { error: unknown });

/** The records of a table, each with the line in which it begins. An error is the last item. */
async function* readRecords(texts: AsyncGenerator<string, void>, delimiter = ','): AsyncGenerator<FoundRecord, void> {
  const { parse } = await import('csv-parse');
  const queue: FoundRecord[] = [];
  let [next, empty] = [1, 0];
  const first = (await texts.next()).value ?? '';
  const heading = /^[^\r\n]*/.exec(first)?.[0] ?? '';
  const parser = parse({
    delimiter: delimiter === ',' && countUnquoted(';', heading) > countUnquoted(',', heading) ? ';' : delimiter,
    // By default the parser expects the first line ending after every row.
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: 64 * 1024 * 1024,
    on_record(record: string[], { empty_lines: passed }) {
      const line = next + passed - empty;
      queue.push({ line, record });
      // The parser's own count takes CRLF in a cell for two lines.
      next = line + 1 + record.reduce((sum, cell) => sum + cell.split('\n').length - 1, 0);
      empty = passed;
      // Records before an error would be lost in the parser's own queue.
      return null;
    },
  });
  const failed = new Promise<Error>((resolve) => parser.once('error', resolve));
  const step = (act: (done: () => void) => void): Promise<Error | undefined> =>
    Promise.race([failed, new Promise<undefined>((resolve) => act(() => resolve(undefined)))]);
  try {
    for (let text: string | void = first; text !== undefined; text = (await texts.next()).value) {
      const piece = text;
      const error = await step((done) => parser.write(piece, (failure) => !failure && done()));
      yield* queue.splice(0);
      if (error) return yield { line: next, error };
    }
    const error = await step((done) => parser.once('finish', done).end());
    yield* queue.splice(0);
    if (error) yield { line: next, error };
  } finally {
    parser.destroy();
  }
}

/** How often a character is outside of quoted cells. */
function countUnquoted(character: string, line: string): number {
  return line.replaceAll(/"[^"]*"/g, '').split(character).length - 1;
}

function headingFaults(headings: readonly string[]): string[] {
  const seen = new Set<string>();
  return headings.flatMap((heading, at) => {
    if (heading === '') return `column ${at + 1} has no heading`;
    const isTwice = seen.has(heading);
    seen.add(heading);
    return isTwice ? `the heading ${quoteWord(heading)} appears twice` : [];
  });
}

function toReadRow(
  record: readonly string[],
  { headings, line, number, name }: { headings: readonly string[]; line: number; number: number; name: string },
): ReadRow {
  if (record.every((cell) => cell.trim() === '')) return undefined;
  if (record.length === headings.length)
    return { line, columns: Object.fromEntries(headings.map((heading, at) => [heading, record[at] ?? ''])) };
  const cells = `${record.length} ${record.length === 1 ? 'cell' : 'cells'}`;
  return {
    error: usageError(
      `${name}:${line}: row ${number} has ${cells}, and there are ${headings.length} headings`,
      record.length < headings.length
        ? 'add the cells that are missing; an empty cell is nothing between two separators'
        : 'put a cell that holds the separator or a line break in double quotes',
    ),
  };
}

function tableFault(error: unknown, place: string): unknown {
  const code = getErrorCode(error) ?? '';
  if (code === 'CSV_MAX_RECORD_SIZE' || code === 'CSV_QUOTE_NOT_CLOSED')
    return usageError(`${place}: a cell in double quotes does not end`, 'add the closing quote', error);
  if (code === 'INVALID_OPENING_QUOTE')
    return usageError(
      `${place}: there is a double quote inside a cell`,
      'put the whole cell in double quotes, and write each quote in it twice',
      error,
    );
  if (code === 'CSV_INVALID_CLOSING_QUOTE')
    return usageError(
      `${place}: there is text after the closing quote of a cell`,
      'write each double quote inside a cell twice',
      error,
    );
  return error;
}
