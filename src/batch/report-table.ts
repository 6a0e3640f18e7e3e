import { stringify } from 'csv-stringify/sync';
import type { ReportFacts, ReportWriter } from './report-types.ts';

/** What a number looks like; as text of a table it is no formula either. */
const negative = /^-\d+(\.\d+)?$/;

/** CSV as RFC 4180 has it, or the same with tabs. What a spreadsheet would run as a formula begins with `'`. */
export function tableReport({ columns }: ReportFacts, delimiter: ',' | '\t'): ReportWriter {
  const line = (cells: readonly (string | number | undefined)[]): string =>
    stringify([[...cells]], {
      delimiter,
      record_delimiter: delimiter === ',' ? '\r\n' : '\n',
      // Else only its own line ending counts.
      quoted_match: /[\r\n]/,
      escape_formulas: true,
      cast: { string: (value) => (negative.test(value) ? { value, escape_formulas: false } : value) },
    });
  return {
    head: line(columns.map(({ name }) => name)),
    row: (row) => line(columns.map(({ cell }) => cell(row))),
    foot: () => '',
  };
}
