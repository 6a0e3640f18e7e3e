import type { FileHandle } from 'node:fs/promises';
import { extname } from 'node:path';
import {
  closest,
  findJsonFault,
  isObject,
  isTooDeep,
  type JsonObject,
  readLines,
  tooDeepWords,
  usageError,
} from '../../../../library/index.ts';
import { notUtf8, openLineFile, readFileText } from './lines.ts';
import type { Context } from '../../../context.ts';
import { quoteWord } from '../../../flags/flag.ts';
import { normalizeVariableName, toTemplateText } from '../../../input/template-variables.ts';
import { placeOf } from './job-line.ts';
import { type ReadRow, type TableRow, tableRows } from './table-rows.ts';
import { type DataFormat, dataFormats, type SourceFlags } from '../flags.ts';

/** One row of a data file. */
export interface DataRow extends TableRow {
  /** The id of its job. */
  id: string;
  /** The number of the row, from 1; rows of empty cells count. */
  number: number;
}

/** A data file, open: it can be read as often as needed, and holds no row in memory. */
export interface DataFile {
  /** The name of the file, as the user typed it. */
  name: string;
  /** The folder against which the rows' files are read. */
  folder: string;
  /** The number of rows of empty cells that were left out so far. They are counted in the numbers of the others. */
  readonly emptyRows?: number;
  /** The rows in their order. A line that is not a row goes to `onFault` as GatewayError usage with its place, and is passed over. */
  rows(onFault: (error: unknown) => void): AsyncGenerator<DataRow, void>;
}

/** Opens the file of `--data`; `-` is stdin. Throws GatewayError usage. */
export async function openData(
  path: string,
  flags: Pick<SourceFlags, 'dataFormat' | 'delimiter' | 'idColumn'>,
  context: Context,
): Promise<DataFile> {
  const format = flags.dataFormat ?? chooseDataFormat(path);
  const instead = 'name a file of CSV, TSV, JSON or JSON Lines';
  const { handle, name, folder } = await openLineFile(path, { label: '--data', instead }, context);
  const isTable = format === 'csv' || format === 'tsv';
  if (flags.delimiter !== undefined && !isTable)
    throw usageError(`--delimiter is for CSV and TSV, not ${format}`, 'leave it out, or add --data-format csv');
  let emptyRows = 0;
  const delimiter = flags.delimiter ?? (format === 'tsv' ? '\t' : undefined);
  return {
    name,
    get emptyRows() {
      return emptyRows;
    },
    folder,
    async *rows(onFault) {
      let number = 0;
      emptyRows = 0;
      for await (const row of readers[format]({ handle, name, delimiter, onFault })) {
        number++;
        if (row === undefined) {
          emptyRows++;
          continue;
        }
        if ('error' in row) {
          onFault(row.error);
          continue;
        }
        const id = chooseRowId(row.columns, number, flags.idColumn);
        if (id !== '') yield { ...row, id, number };
        else {
          const what = `row ${number} has no id: its column ${quoteWord(flags.idColumn ?? '')} is empty`;
          const file = row.place === undefined ? `${name}:${row.line}` : name;
          onFault(usageError(`${file}: ${what}`, 'fill it; or begin another folder without --id-column'));
        }
      }
    },
  };
}

/** The id of a row without a column for it. */
export function rowId(number: number): string {
  return `row-${String(number).padStart(6, '0')}`;
}

/** The id of a row: the value of its column, otherwise its number, so that folders list the jobs in their order. */
export function chooseRowId(columns: JsonObject, number: number, idColumn: string | undefined): string {
  if (idColumn === undefined) return rowId(number);
  const value = Object.hasOwn(columns, idColumn) ? columns[idColumn] : undefined;
  if (value !== undefined) return toTemplateText(value);
  const near = closest(idColumn, Object.keys(columns));
  const known = Object.keys(columns).slice(0, 20).join(', ');
  throw usageError(
    `--id-column: row ${number} has no column ${quoteWord(idColumn)}`,
    near === undefined ? `its columns are: ${known}` : `did you mean: --id-column ${near}`,
  );
}

const formatsByName: Readonly<Record<string, DataFormat>> = {
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.tab': 'tsv',
  '.json': 'json',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
};

/** The ends of the names of spreadsheets' own formats. */
const workbook = /\.(?:xlsx?|xlsm|xlsb|ods|numbers)$/i;

/** Whether a path is that of a table, not of a file of jobs, by its name. */
export function isTable(path: string): boolean {
  return /\.(?:csv|tsv)$/i.test(path) || workbook.test(path);
}

/** The format by the end of the file's name. */
function chooseDataFormat(path: string): DataFormat {
  const format = formatsByName[extname(path).toLowerCase()];
  if (format !== undefined) return format;
  if (workbook.test(path))
    throw usageError(
      `--data ${quoteWord(path)}: rows of a workbook cannot be read`,
      'save it as CSV (UTF-8) in your spreadsheet: --data rows.csv',
    );
  throw usageError(
    `--data ${quoteWord(path)}: the name does not tell the format`,
    `say it: --data-format ${dataFormats.join(', ')}`,
  );
}

interface OpenData {
  handle: FileHandle;
  name: string;
  delimiter: string | undefined;
  /** Called for a fault of the file as a whole: no row follows. */
  onFault: (error: unknown) => void;
}

const readers: Readonly<Record<DataFormat, (reading: OpenData) => AsyncGenerator<ReadRow, void>>> = {
  csv: (reading) => tableRows(readFileText(reading.handle, reading.name), reading),
  tsv: (reading) => tableRows(readFileText(reading.handle, reading.name), reading),
  json: arrayRows,
  jsonl: lineRows,
};

/** Larger arrays, in bytes, must be JSON Lines: a JSON text is parsed as a whole. */
const maxArrayBytes = 64 * 1024 * 1024;

async function* arrayRows(reading: OpenData): AsyncGenerator<ReadRow, void> {
  const { handle, name, onFault } = reading;
  if ((await handle.stat()).size > maxArrayBytes) {
    const instead = `write one row per line: jq -c '.[]' ${name === 'stdin' ? 'rows.json' : quoteWord(name)} > rows.jsonl`;
    return onFault(usageError(`${name}: a JSON array of more than 64 MiB`, instead));
  }
  let text = '';
  for await (const piece of readFileText(handle, name)) text += piece;
  const array = parseArray(text, name);
  if ('error' in array) return onFault(array.error);
  for (const [index, value] of array.values.entries())
    yield checkRow(value, { line: index + 1, place: `row ${index + 1}` }, name);
}

function parseArray(text: string, name: string): { values: unknown[] } | { error: Error } {
  if (text.trim() === '') return { error: usageError(`${name}: the file is empty`, rowsExample) };
  const read = parseRow(text, { line: 1, name });
  if ('error' in read) return read;
  if (Array.isArray(read.value)) return { values: read.value };
  return { error: usageError(`${name}:1: a JSON array is needed: it begins with [`, rowsExample) };
}

async function* lineRows({ handle, name }: OpenData): AsyncGenerator<ReadRow, void> {
  for await (const lines of readLines(handle))
    for (const { text, number, isUtf8, isTooLong } of lines) {
      if (isTooLong) throw usageError(`${name}: line ${number} is longer than 256 MiB`);
      const json = number === 1 ? text.replace(/^\uFEFF/, '') : text;
      if (!isUtf8) yield { error: notUtf8(`${name}:${number}`, text) };
      else if (json.trim() !== '') yield parseDataRow(json, number, name);
    }
}

const rowsExample = 'for example: [{"city":"Rome"},{"city":"Oslo"}]';

function parseDataRow(text: string, line: number, name: string): ReadRow {
  const read = parseRow(text, { line, name });
  return 'error' in read ? read : checkRow(read.value, { line }, name);
}

function parseRow(text: string, { line, name }: { line: number; name: string }): { value: unknown } | { error: Error } {
  try {
    const value: unknown = JSON.parse(text);
    if (isTooDeep(text)) return { error: usageError(`${name}:${line}: the row is ${tooDeepWords}`) };
    return { value };
  } catch (error) {
    const fault = findJsonFault(text);
    const words = `not JSON: ${fault.expected} is expected at column ${fault.column}`;
    return { error: usageError(`${name}:${line + fault.line - 1}: ${words}`, rowsExample, error) };
  }
}

function checkRow(value: unknown, where: Pick<TableRow, 'line' | 'place'>, name: string): ReadRow {
  if (!isObject(value)) return { error: usageError(`${placeOf(name, where)}: a row is a JSON object`, rowsExample) };
  const names = Object.keys(value).map(normalizeVariableName);
  const twice = names.find((key, at) => names.indexOf(key) !== at);
  if (twice === undefined) return { ...where, columns: value };
  return {
    error: usageError(`${placeOf(name, where)}: the key ${quoteWord(twice)} appears twice, written in two ways`),
  };
}
