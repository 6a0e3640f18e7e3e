import type { FileHandle } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { readLines } from '../../batch/read-lines.ts';
import { codeOf, usageError } from '../../errors.ts';
import { isObject, isTooDeep, type JsonObject, tooDeepWords } from '../../json.ts';
import { closest } from '../../settings/closest.ts';
import { findJsonFault } from '../../settings/json-position.ts';
import type { Context } from '../../cli/context.ts';
import { quote } from '../../cli/flags/values.ts';
import { valueText } from '../../cli/input/blanks.ts';
import { splitArray } from './json-array.ts';
import { notUtf8, openLines } from './open-lines.ts';

/** How a data file is written. */
const dataFormats = ['csv', 'tsv', 'json', 'jsonl'] as const;
type DataFormat = (typeof dataFormats)[number];

/** One row of a data file. */
export interface DataRow {
  /** The id of its job. */
  id: string;
  /** Where it begins, from 1. */
  line: number;
  /** By their headings; cells of CSV and TSV are texts. */
  columns: JsonObject;
}

/** A data file, open: it can be run through as often as needed, and holds no row in memory. */
export interface DataFile {
  /** As the user named it. */
  name: string;
  /** The folder against which the rows' files are read. */
  folder: string;
  /**
   * The rows in their order. A row that is none goes to `onFault` as GatewayError usage that names file and line, and is passed
   * over; without `onFault` it is thrown.
   */
  rows(onFault?: (error: unknown) => void): AsyncGenerator<DataRow, void>;
}

/** Flags that say how rows are read. */
export interface DataFlags {
  dataFormat?: string;
  idColumn?: string;
}

/** Opens the file of `--data`; `-` is stdin. Throws GatewayError usage. */
export async function openData(path: string, flags: DataFlags, context: Context): Promise<DataFile> {
  const format = formatOf(path, flags.dataFormat);
  const instead = 'name a file of CSV, TSV, JSON or JSON Lines';
  const handle = await openLines(path, { label: '--data', instead }, context);
  const { cwd } = context.io;
  const name = path === '-' ? 'stdin' : path;
  return {
    name,
    folder: path === '-' ? cwd : dirname(resolve(cwd, path)),
    async *rows(onFault = rethrow) {
      let number = 0;
      for await (const row of readers[format]({ handle, name, onFault })) {
        number++;
        if ('error' in row) {
          onFault(row.error);
          continue;
        }
        const id = idOf(row.columns, number, flags.idColumn);
        if (id === '') onFault(withoutId(`${name}:${row.line}: row ${number}`, flags.idColumn ?? ''));
        else yield { ...row, id };
      }
    },
  };
}

/** The id of a row: the value of its column, else its number, so that folders list the jobs in their order. */
export function idOf(columns: JsonObject, number: number, idColumn: string | undefined): string {
  if (idColumn === undefined) return `row-${String(number).padStart(6, '0')}`;
  const value = Object.hasOwn(columns, idColumn) ? columns[idColumn] : undefined;
  if (value !== undefined) return valueText(value);
  const near = closest(idColumn, Object.keys(columns));
  const known = Object.keys(columns).slice(0, 20).join(', ');
  throw usageError(
    `--id-column: row ${number} has no column ${quote(idColumn)}`,
    near === undefined ? `its columns are: ${known}` : `did you mean: --id-column ${near}`,
  );
}

function withoutId(row: string, idColumn: string): Error {
  return usageError(`${row} has no id: its column ${quote(idColumn)} is empty`, 'fill it, or leave out --id-column');
}

function formatOf(path: string, typed: string | undefined): DataFormat {
  const known: Readonly<Record<string, DataFormat>> = {
    '.csv': 'csv',
    '.tsv': 'tsv',
    '.tab': 'tsv',
    '.json': 'json',
    '.jsonl': 'jsonl',
    '.ndjson': 'jsonl',
  };
  const format = (typed as DataFormat | undefined) ?? known[extname(path).toLowerCase()];
  if (format !== undefined) return format;
  throw usageError(
    `--data ${quote(path)}: the name does not tell the format`,
    `say it: --data-format ${dataFormats.join(', ')}`,
  );
}

/** What becomes of a fault that nobody collects. */
export function rethrow(error: unknown): never {
  throw error;
}

interface Reading {
  handle: FileHandle;
  name: string;
  /** For what is wrong with the file as a whole: no row follows. */
  onFault: (error: unknown) => void;
}

type ReadRow = Omit<DataRow, 'id'> | { error: Error };

const readers: Readonly<Record<DataFormat, (reading: Reading) => AsyncGenerator<ReadRow, void>>> = {
  csv: (reading) => tableRows(reading, undefined),
  tsv: (reading) => tableRows(reading, '\t'),
  json: arrayRows,
  jsonl: lineRows,
};

async function* textOf({ handle, name }: Reading): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const block = Buffer.allocUnsafe(256 * 1024);
  for (let position = 0; ;) {
    const { bytesRead } = await handle.read(block, 0, block.length, position);
    position += bytesRead;
    const bytes = block.subarray(0, bytesRead);
    let text: string;
    try {
      text = decoder.decode(bytes, { stream: bytesRead > 0 });
    } catch {
      throw notUtf8(name, bytes.toString('latin1'));
    }
    if (text !== '') yield text;
    if (bytesRead === 0) return;
  }
}

async function* arrayRows(reading: Reading): AsyncGenerator<ReadRow, void> {
  for await (const item of splitArray(textOf(reading))) {
    if ('fault' in item) reading.onFault(usageError(`${reading.name}:${item.line}: ${item.fault}`, rowsExample));
    else yield readRow(item.text, item.line, reading.name);
  }
}

async function* lineRows({ handle, name }: Reading): AsyncGenerator<ReadRow, void> {
  for await (const { text, number, isUtf8, isTooLong } of readLines(handle)) {
    if (isTooLong) throw usageError(`${name}: line ${number} is longer than 256 MiB`);
    const json = number === 1 ? text.replace(/^\uFEFF/, '') : text;
    if (!isUtf8) yield { error: notUtf8(`${name}:${number}`, text) };
    else if (json.trim() !== '') yield readRow(json, number, name);
  }
}

const rowsExample = 'for example: [{"city":"Rome"},{"city":"Oslo"}]';

function readRow(text: string, line: number, name: string): ReadRow {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const fault = findJsonFault(text);
    const place = `${name}:${line + fault.line - 1}`;
    return {
      error: usageError(
        `${place}: not JSON: ${fault.expected} is expected at column ${fault.column}`,
        rowsExample,
        error,
      ),
    };
  }
  if (isTooDeep(text)) return { error: usageError(`${name}:${line}: the row is ${tooDeepWords}`) };
  if (isObject(value)) {
    const names = Object.keys(value).map((key) => key.normalize('NFC'));
    const twice = names.find((key, at) => names.indexOf(key) !== at);
    if (twice === undefined) return { line, columns: value };
    return { error: usageError(`${name}:${line}: the key ${quote(twice)} stands twice, written in two ways`) };
  }
  return { error: usageError(`${name}:${line}: a row is a JSON object`, rowsExample) };
}

/** CSV, whose cells commas divide, or the semicolons of some spreadsheets; or TSV. Quoted cells hold what they like. */
async function* tableRows(reading: Reading, delimiter: string | undefined): AsyncGenerator<ReadRow, void> {
  const { name, onFault } = reading;
  let headings: string[] | undefined;
  let number = 0;
  for await (const found of recordsOf(textOf(reading), delimiter)) {
    const { line } = found;
    if ('error' in found) return onFault(tableFault(found.error, `${name}:${line}`));
    if (headings === undefined) {
      headings = found.record.map((word) => word.trim().normalize('NFC'));
      const faults = headingFaults(headings);
      for (const fault of faults) onFault(usageError(`${name}:${line}: ${fault}`, 'the first line names the columns'));
      if (faults.length > 0) return;
    } else yield rowOf(found.record, { headings, line, number: ++number, name });
  }
}

type Found = { line: number } & ({ record: string[] } | { error: unknown });

/** The records of a table, each with the line that it begins in; an error is the last that comes. */
async function* recordsOf(texts: AsyncGenerator<string, void>, delimiter = ','): AsyncGenerator<Found, void> {
  const { parse } = await import('csv-parse');
  const queue: Found[] = [];
  let [next, empty] = [1, 0];
  const first = (await texts.next()).value ?? '';
  const heading = /^[^\r\n]*/.exec(first)?.[0] ?? '';
  const parser = parse({
    delimiter: delimiter === ',' && countOf(';', heading) > countOf(',', heading) ? ';' : delimiter,
    // Left to itself, the reader takes the first line ending for that of all rows.
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: 64 * 1024 * 1024,
    on_record(record: string[], { empty_lines: passed }) {
      const line = next + passed - empty;
      queue.push({ line, record });
      // The reader's own count takes CRLF in a cell for two lines.
      next = line + 1 + record.reduce((sum, cell) => sum + cell.split('\n').length - 1, 0);
      empty = passed;
      // What came before an error would be lost in the reader's own queue.
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

/** How often a character stands outside of quoted cells. */
function countOf(character: string, line: string): number {
  return line.replaceAll(/"[^"]*"/g, '').split(character).length - 1;
}

function headingFaults(headings: readonly string[]): string[] {
  const seen = new Set<string>();
  return headings.flatMap((heading, at) => {
    if (heading === '') return `column ${at + 1} has no heading`;
    const isTwice = seen.has(heading);
    seen.add(heading);
    return isTwice ? `the heading ${quote(heading)} stands twice` : [];
  });
}

function rowOf(
  record: readonly string[],
  { headings, line, number, name }: { headings: readonly string[]; line: number; number: number; name: string },
): ReadRow {
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
  const code = codeOf(error) ?? '';
  if (code === 'CSV_MAX_RECORD_SIZE' || code === 'CSV_QUOTE_NOT_CLOSED')
    return usageError(`${place}: a cell in double quotes does not end`, 'add the closing quote', error);
  if (code === 'INVALID_OPENING_QUOTE')
    return usageError(
      `${place}: a double quote stands inside a cell`,
      'put the whole cell in double quotes, and write each quote in it twice',
      error,
    );
  if (code === 'CSV_INVALID_CLOSING_QUOTE')
    return usageError(
      `${place}: something stands behind the closing quote of a cell`,
      'write each double quote inside a cell twice',
      error,
    );
  return error;
}
