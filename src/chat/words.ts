import { usageError } from '../errors.ts';

/**
 * Splits a command into program and arguments, as a shell would but without one: blanks separate; '…' is literal; in "…" a
 * backslash escapes `"` and `\`; elsewhere it escapes any character. No variables, globs, pipes or `~`. Throws usage.
 */
export function splitWords(command: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let i = 0; i < command.length; i++) {
    const character = command[i] as string;
    const next = command[i + 1];
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
  if (quote !== '')
    throw usageError(`a ${quote} is not closed in ${JSON.stringify(command)}`, `add the closing ${quote}`);
  return word === undefined ? words : [...words, word];
}

function isEscape(quote: string, next: string): boolean {
  if (quote === "'") return false;
  return quote === '' || next === '"' || next === '\\';
}
