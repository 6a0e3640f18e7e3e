/** Whether this is `npm run test:full`: campaigns are long, and no tool may be missing. */
export const isFull = process.env['GATEWAY_CLI_TEST_FULL'] === '1';

/** The rows of a table that `npm test` takes; the full run takes them all. */
export function sample<Row>(rows: readonly Row[], isTaken: (row: Row, at: number) => boolean): readonly Row[] {
  return isFull ? rows : rows.filter(isTaken);
}
