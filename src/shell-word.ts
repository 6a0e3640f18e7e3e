import { dirname } from 'node:path';

/** A text as one word of a POSIX shell: as it is, or in single quotes where it holds anything but plain characters. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,][\w./@%+=:,-]*$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** What to type to see why a file cannot be read: its rights, or, where there is none, what is there. */
export function lookAt(path: string, code: string | undefined): string {
  return code === 'ENOENT'
    ? `see what is there: ls ${shellWord(dirname(path))}`
    : `look at it: ls -l ${shellWord(path)}`;
}
