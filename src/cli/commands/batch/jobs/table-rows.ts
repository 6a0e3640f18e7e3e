import { parse } from 'csv-parse';
import { getErrorCode, type JsonObject, usageError } from '../../../../library/index.ts';
import { normalizeVariableName } from '../../../input/template-variables.ts';

/** A row, and the line in which it begins, from 1. */
export interface TableRow {
  line: number;
  /** The words for the place of the row, where its line does not tell it. */
  place?: string | undefined;
  /** The cells by their headings; cells of CSV and TSV are texts. */
  columns: JsonObject;
}

/** A row, or the error of a line that is none; undefined for a row of empty cells, as spreadsheets leave them. */
export type ReadRow = TableRow | { error: Error } | undefined;

/** The name and the delimiter of a table that is read. */
interface TableReading {
  name: string;
  /** The delimiter of the cells, if it is known. */
  delimiter: string | undefined;
  onFault: (error: unknown) => void;
}

/** The rows of TSV, or of CSV with commas, or the semicolons or tabs of some programs. A quoted cell can hold any character. */
export async function* tableRows(
  texts: AsyncGenerator<string, void>,
  reading: TableReading,
): AsyncGenerator<ReadRow, void> {
  const { name, onFault } = reading;
  let headings: string[] | undefined;
  let number = 0;
  for await (const found of readRecords(texts, reading)) {
    const { line } = found;
    if ('error' in found) return onFault(tableFault(found.error, `${name}:${line}`));
    if (headings === undefined) {
      headings = readHeadings(found.record);
      if (headings.some((heading) => heading !== '')) continue;
      return onFault(usageError(`${name}:${line}: no column has a heading`, 'the first line names the columns'));
    }
    yield toReadRow(found.record, { headings, line, number: ++number, name });
  }
}

type FoundRecord = { line: number } & ({ record: string[] } | { error: unknown });

const recordOptions = {
  // By default the parser expects the first line ending after every row.
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  skip_empty_lines: true,
  max_record_size: 64 * 1024 * 1024,
};

/** The first line of some spreadsheets, which names the delimiter. */
const delimiterLine = /^(?:sep=(.)|"sep=(.)")(?:\r\n|\n|\r)/i;

/** The records of a table, each with the line in which it begins. An error is the last item. */
async function* readRecords(
  texts: AsyncGenerator<string, void>,
  { delimiter }: TableReading,
): AsyncGenerator<FoundRecord, void> {
  const queue: FoundRecord[] = [];
  const start = (await texts.next()).value ?? '';
  const [named = '', bare, quoted] = delimiterLine.exec(start) ?? [];
  const first = start.slice(named.length);
  let [next, empty] = [named === '' ? 1 : 2, 0];
  const parser = parse({
    ...recordOptions,
    delimiter: delimiter ?? bare ?? quoted ?? chooseDelimiter(first),
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

/** Delimiters of CSV, the commonest first. */
const delimiters = [',', ';', '\t'] as const;

/** The delimiter that parts the headings of a table into the most cells; of several the rarest: headings can have the commoner ones in them. */
function chooseDelimiter(text: string): string {
  const counted = delimiters.map((delimiter) => ({ delimiter, cells: countHeadings(text, delimiter) }));
  return counted.reduce((best, one) => (one.cells > 1 && one.cells >= best.cells ? one : best)).delimiter;
}

function countHeadings(text: string, delimiter: string): number {
  let cells = 0;
  const onRecord = (record: string[]): null => {
    cells ||= record.length;
    return null;
  };
  const parser = parse({ ...recordOptions, delimiter, on_record: onRecord });
  // Faults of the text are told when the table is read.
  parser.once('error', () => undefined);
  // The parser looks a few characters ahead for the end of a row.
  parser.write(`${text}\n\n\n`);
  parser.destroy();
  return cells;
}

/** Reads the headings of a table. A heading that is there several times is numbered: no template variable can mean both by their name. */
function readHeadings(record: readonly string[]): string[] {
  const names = record.map(normalizeVariableName);
  const taken = new Set(names);
  const last = new Map(names.map((name, at) => [name, at]));
  const doubled = new Set(names.filter((name, at) => name !== '' && last.get(name) !== at));
  return names.map((name) => {
    if (!doubled.has(name)) return name;
    let number = 1;
    while (taken.has(`${name} (${number})`)) number++;
    taken.add(`${name} (${number})`);
    return `${name} (${number})`;
  });
}

function toReadRow(
  record: readonly string[],
  { headings, line, number, name }: { headings: readonly string[]; line: number; number: number; name: string },
): ReadRow {
  if (record.every((cell) => cell.trim() === '')) return undefined;
  const refuse = (what: string, hint: string): ReadRow => ({
    error: usageError(`${name}:${line}: row ${number} ${what}`, hint),
  });
  const named = headings.findLastIndex((heading) => heading !== '') + 1;
  const isExtra = (cell: string, at: number): boolean => (headings[at] ?? '') === '' && cell.trim() !== '';
  const extra = record.findIndex(isExtra);
  const cells = `${record.length} ${record.length === 1 ? 'cell' : 'cells'}`;
  if (record.length < named || extra >= headings.length)
    return refuse(
      `has ${cells}, and there ${named === 1 ? 'is one heading' : `are ${named} headings`}`,
      record.length < named
        ? 'add the cells that are missing; an empty cell is nothing between two separators'
        : 'put a cell that holds the separator or a line break in double quotes',
    );
  if (extra >= 0) return refuse(`has a cell in column ${extra + 1}, which has no heading`, 'give the column a heading');
  const columns = headings.flatMap((heading, at) => (heading === '' ? [] : [[heading, record[at] ?? ''] as const]));
  return { line, columns: Object.fromEntries(columns) };
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
