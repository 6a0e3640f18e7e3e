import { dirname } from 'node:path';

/** What a terminal would obey instead of show, or would break the line at. */
const unseen = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;

/**
 * A text as one word of a shell: as it is, in single quotes where it holds anything but plain characters, and with escapes
 * (`$'…'`) where one of them would not be seen.
 */
export function shellWord(text: string): string {
  if (/^[\w./@%+:,][\w./@%+=:,-]*$/.test(text)) return text;
  if (!unseen.test(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return `$'${Array.from(text, escaped).join('')}'`;
}

function escaped(character: string): string {
  if (character === '\\' || character === "'") return `\\${character}`;
  if (!unseen.test(character)) return character;
  return Array.from(Buffer.from(character), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}

/** What to type to see why a file cannot be read: its rights, or, where there is none, what is there. */
export function lookAt(path: string, code: string | undefined): string {
  return code === 'ENOENT'
    ? `see what is there: ls ${shellWord(dirname(path))}`
    : `look at it: ls -l ${shellWord(path)}`;
}
