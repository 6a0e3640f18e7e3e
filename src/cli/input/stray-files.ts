import { stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { isImageExtension, settingError, shellWord } from '../../library/index.ts';
import type { InputContext } from '../context.ts';
import { quoteWord } from '../flags/flag.ts';

/** The flags for input images and files, as they were typed. */
export interface ImageInputFlags {
  image?: readonly string[];
  attach?: readonly string[];
}

/** Number of files that a hint names; a `*` of the shell can become hundreds. */
const maxNamed = 4;

/** A word that is a file name; a name inside a longer, quoted word does not count. */
const fileName = /^\S+\.[a-z]\w{0,4}$/i;

/**
 * Refuses a file as a word of the prompt: in `text "summarise" a.txt`, or in `-i [ab].png`, which the shell turns into
 * `-i a.png b.png`, only its name would be sent. Throws GatewayError usage that says how to send the file.
 */
export async function refuseStrayFiles(
  words: readonly string[],
  flags: ImageInputFlags,
  { io, command }: InputContext,
): Promise<void> {
  const takesImages = command.startsWith('image');
  const named = words.filter((word) => isImage(word) || (!takesImages && fileName.test(word)));
  const isThere = await Promise.all(named.map((word) => isFile(resolve(io.cwd, word))));
  const strays = named.filter((_, index) => isThere[index]);
  const [first] = strays;
  if (first === undefined) return;
  const others = words.filter((word) => !strays.includes(word));
  const which = strays.length === 1 ? quoteWord(first) : `${quoteWord(first)} (and ${strays.length - 1} more)`;
  throw settingError(`${which} would go as a word of the prompt, not as a ${isImage(first) ? 'picture' : 'file'}`, {
    reason: strays.length === 1 ? 'stray-file' : 'stray-files',
    value: commandFor(strays, others, { ...flags, command }),
  });
}

/** The command that sends the files. */
function commandFor(
  strays: readonly string[],
  others: readonly string[],
  { command, image = [], attach = [] }: ImageInputFlags & { command: string },
): string {
  const [first = ''] = strays;
  const given = image.length > 0 ? image : attach;
  if (given.length > 0) return repeatFlag(image.length > 0 ? '-i' : '--attach', [...given, ...strays]);
  const prompt = others.length === 0 ? '"what to do with it"' : shellWord(others.join(' '));
  const start = `gateway-cli ${command === 'image gen' ? 'image edit' : command} ${prompt}`;
  const isText = strays.length === 1 && /\.(?:txt|md|csv|json|log|html?|xml|ya?ml)$/i.test(first);
  if (isText) return `${start} < ${shellWord(first)}`;
  return `${start} ${repeatFlag(isImage(first) && command !== 'text' ? '-i' : '--attach', strays)}`;
}

function repeatFlag(flag: string, paths: readonly string[]): string {
  const shown = paths.slice(0, maxNamed).map((path) => `${flag} ${shellWord(path)}`);
  return `${shown.join(' ')}${paths.length > maxNamed ? ' …' : ''}`;
}

function isImage(word: string): boolean {
  return isImageExtension(extname(word).slice(1));
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}
