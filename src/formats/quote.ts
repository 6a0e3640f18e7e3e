/** Foreign text for an error message: one line, at most `limit` characters. Not escaped: the terminal does that. */
export function quote(text: string, limit = 200): string {
  const line = oneLine(text.slice(0, limit * 8));
  const characters = Array.from(line);
  return characters.length <= limit ? line : `${characters.slice(0, limit - 1).join('')}…`;
}

function oneLine(text: string): string {
  return text
    .split(/\s/)
    .filter((word) => word !== '')
    .join(' ');
}
