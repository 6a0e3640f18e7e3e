/** A negative number, which is not a formula. */
const negative = /^-\d+(\.\d+)?$/;
/** Blank or invisible characters may stand in front of a formula: spreadsheets may skip them. */
const formula = /^[\t\r]|^[\s\p{C}]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;

/** A spreadsheet can use the other separator. The text after such a sign is then a cell of its own, which could begin a formula. */
const innerFormulas = {
  ';': /;[\t\r]*(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/gu,
  ',': /,[\t\r]*(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/gu,
};

/**
 * Writes lines of CSV as RFC 4180 defines it, or with another delimiter. A text that a spreadsheet would run as a formula begins
 * with `'`. No package does it, since that would take as long for a row of a large batch as all other work on it.
 */
export function createLineWriter(
  delimiter: string,
  end: '\n' | '\r\n',
): (cells: readonly (string | number | undefined)[]) => string {
  const special = ['"', '\r', '\n', delimiter];
  const other = delimiter === ';' ? ',' : ';';
  const harmless = (text: string): string =>
    text.includes(other) ? text.replaceAll(innerFormulas[other], "$&'") : text;
  const field = (cell: string | number | undefined = ''): string => {
    if (typeof cell === 'number') return String(cell);
    const text = formula.test(cell) && !negative.test(cell) ? `'${harmless(cell)}` : harmless(cell);
    return special.some((character) => text.includes(character)) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return (cells) => cells.map(field).join(delimiter) + end;
}
