/**
 * The words of a shell's line up to the cursor, quotes and backslashes read as bash does; the last is the one being typed,
 * empty behind a blank. Variables and globs stay as they are written.
 */
export function splitLine(line: string): string[] {
  const words: string[] = [''];
  let quote = '';
  let fresh = true;
  for (let i = 0; i < line.length; i++) {
    const letter = line[i] ?? '';
    if (quote === '' && /\s/.test(letter)) {
      if (!fresh) words.push('');
      fresh = true;
      continue;
    }
    fresh = false;
    if (letter === '\\' && quote !== "'") append(words, line[++i] ?? '');
    else if (letter === quote) quote = '';
    else if (quote === '' && (letter === '"' || letter === "'")) quote = letter;
    else append(words, letter);
  }
  return words;
}

function append(words: string[], letter: string): void {
  words[words.length - 1] += letter;
}
