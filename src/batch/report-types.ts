import type { Column, Row, RowState } from './row.ts';

/** What a report says of the batch as a whole. */
export interface ReportFacts {
  /** Of the batch's folder. */
  name: string;
  counts: Readonly<Record<RowState, number>>;
  columns: readonly Column[];
  durationMs: number;
  /** Wall clock of the first run, ms since 1970. */
  beganAt: number | undefined;
}

/** A report that is written while its rows are read. */
export interface ReportWriter {
  head: string;
  row(row: Row): string;
  foot(): string;
}
