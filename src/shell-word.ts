/** A text as one word of a POSIX shell: as it is, or in single quotes where it holds anything but plain characters. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,][\w./@%+=:,-]*$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
