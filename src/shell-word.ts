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

/** What to type to see why a file cannot be read: its rights, or, where there is none or it is a folder, what is there. */
export function lookAt(path: string, code: string | undefined): string {
  if (code === 'EISDIR') return `name a file in it: ls ${shellWord(path)}`;
  return code === 'ENOENT'
    ? `see what is there: ls ${shellWord(dirname(path))}`
    : `look at it: ls -l ${shellWord(path)}`;
}

/** A line of a shell, taken apart. */
export interface ShellLine {
  words: string[];
  /** The quote that is not closed, or nothing. */
  quote: string;
  /** Whether what is typed next begins a further word. */
  isComplete: boolean;
}

/**
 * Splits a line into words as a shell does: blanks separate; '…' is literal; in "…" a backslash escapes `"` and `\`;
 * elsewhere it escapes any character. Variables, globs, pipes and `~` stay as they are written.
 */
export function splitShellLine(line: string): ShellLine {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const character = line[i] as string;
    const next = line[i + 1];
    if (quote !== '' && character === quote) quote = '';
    else if (quote === '' && (character === "'" || character === '"')) {
      quote = character;
      word ??= '';
    } else if (character === '\\' && next !== undefined && isEscape(quote, next)) {
      word = (word ?? '') + next;
      i++;
    } else if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + character;
  }
  const isComplete = word === undefined;
  return { words: word === undefined ? words : [...words, word], quote, isComplete };
}

function isEscape(quote: string, next: string): boolean {
  if (quote === "'") return false;
  return quote === '' || next === '"' || next === '\\';
}
