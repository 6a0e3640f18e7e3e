import { dirname } from 'node:path';

/** Characters that a terminal executes instead of showing them, or at which it breaks the line. */
const unseen = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;

/**
 * Quotes a text as one word of a shell: unchanged if all characters are plain, otherwise in single quotes, or with escapes
 * (`$'…'`) if a character would be invisible.
 */
export function shellWord(text: string): string {
  if (/^[\w./@%+:,][\w./@%+=:,-]*$/.test(text)) return text;
  if (!unseen.test(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return `$'${Array.from(text, escapeForShell).join('')}'`;
}

function escapeForShell(character: string): string {
  if (character === '\\' || character === "'") return `\\${character}`;
  if (!unseen.test(character)) return character;
  return Array.from(Buffer.from(character), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}

/** The hint for a file that cannot be read: how to see its rights, or the files in the folder if it is missing or a folder itself. */
export function lookAtHint(path: string, code: string | undefined): string {
  if (code === 'EISDIR') return `name a file in it: ls ${shellWord(path)}`;
  return code === 'ENOENT'
    ? `see what is there: ls ${shellWord(dirname(path))}`
    : `look at it: ls -l ${shellWord(path)}`;
}

/** A shell's line, split into words. */
interface ShellLine {
  words: string[];
  /** The quote that is not closed; empty if there is none. */
  quote: string;
  /** Whether the next character begins another word. */
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
