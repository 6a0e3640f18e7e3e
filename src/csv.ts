/** A negative number, which is not a formula. */
const negative = /^-\d+(\.\d+)?$/;
/** Spreadsheets may pass over what is blank or invisible in front of a formula. */
const formula = /^[\t\r]|^[\s\p{C}]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;

/** Where a spreadsheet takes the other sign for what parts cells, what follows one begins a cell of its own, in the middle of a text. */
const innerFormulas = {
  ';': /;[\t\r]*(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/gu,
  ',': /,[\t\r]*(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/gu,
};

/**
 * Writes lines of CSV as RFC 4180 has it, or the same with another delimiter. What a spreadsheet would run as a formula begins with `'`. By hand: a
 * package takes as long for a row of a large batch as all that comes before.
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
