import { stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { usageError } from '../../errors.ts';
import { isImageExtension } from '../../images/extension.ts';
import { shellWord } from '../../shell-word.ts';
import { quote } from '../flags/values.ts';

/** The flags that send pictures, as they were typed. */
export interface ImageInputFlags {
  image?: readonly string[];
  attach?: readonly string[];
}

/** Pictures that a hint names; a `*` of the shell may stand for hundreds. */
const mostNamed = 4;

/**
 * Of `-i [ab].png` the shell makes `-i a.png b.png`: the flag takes one file, and the others would be words of the prompt
 * without anyone noticing. A name inside a longer, quoted word is no such thing. Throws GatewayError usage.
 */
export async function refuseStrayImages(
  words: readonly string[],
  { image = [], attach = [] }: ImageInputFlags,
  cwd: string,
): Promise<void> {
  const [flag, given] = image.length > 0 ? ['-i', image] : ['--attach', attach];
  if (given.length === 0) return;
  const named = words.filter((word) => isImageExtension(extname(word).slice(1)));
  const isThere = await Promise.all(named.map((word) => isFile(resolve(cwd, word))));
  const strays = named.filter((_, index) => isThere[index]);
  const [first] = strays;
  if (first === undefined) return;
  const isOne = strays.length === 1;
  const which = isOne ? quote(first) : `${quote(first)} (and ${strays.length - 1} more)`;
  throw usageError(
    `${which} would go as a word of the prompt, not as a picture`,
    `send ${isOne ? 'it' : 'them'}: ${commandOf(flag, [...given, ...strays])}; a prompt that only names a file goes in quotes: -p "…"`,
  );
}

function commandOf(flag: string, paths: readonly string[]): string {
  const shown = paths.slice(0, mostNamed).map((path) => `${flag} ${shellWord(path)}`);
  return `${shown.join(' ')}${paths.length > mostNamed ? ' …' : ''}`;
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}
