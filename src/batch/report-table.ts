import { stringify } from 'csv-stringify/sync';
import type { ReportFacts, ReportWriter } from './report-types.ts';

/** What a number looks like; as text of a table it is no formula either. */
const negative = /^-\d+(\.\d+)?$/;
/** Spreadsheets may pass over what is blank or invisible in front of a formula. */
const formula = /^[\t\r]|^[\s\p{C}]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;

/** Where semicolons part cells, what follows one begins a cell of its own, in the middle of a text. */
const inner = /(?<=;[\t\r]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/gu;

/** CSV as RFC 4180 has it, or the same with tabs. What a spreadsheet would run as a formula begins with `'`. */
export function tableReport({ columns }: ReportFacts, delimiter: ',' | '\t'): ReportWriter {
  const line = (cells: readonly (string | number | undefined)[]): string =>
    stringify([[...cells]], {
      delimiter,
      record_delimiter: delimiter === ',' ? '\r\n' : '\n',
      // Else only its own line ending counts.
      quoted_match: /[\r\n]/,
      cast: {
        string: (value) => (formula.test(value) && !negative.test(value) ? `'${harmless(value)}` : harmless(value)),
      },
    });
  return {
    head: line(columns.map(({ name }) => name)),
    row: (row) => line(columns.map(({ cell }) => cell(row))),
    foot: () => '',
  };
}

function harmless(text: string): string {
  return text.replaceAll(inner, "'");
}
