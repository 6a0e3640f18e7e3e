import { dirname, join } from 'node:path';
import { closest, listFolder, shellWord, usageError } from '../../library/index.ts';
import { configPath } from '../settings/config-file.ts';
import type { Io } from '../terminal/io.ts';
import { quoteWord } from '../flags/flag.ts';

/** A prompt of the config folder. */
interface NamedPrompt {
  name: string;
  path: string;
}

const ending = /\.(?:md|prompt\.ya?ml)$/i;

/** The folder of prompts, beside the config file. Throws GatewayError usage without a home folder. */
export async function promptsFolder(io: Pick<Io, 'env' | 'cwd'>): Promise<string> {
  return join(dirname(await configPath(io)), 'prompts');
}

/** The prompts of the folder, by name. Throws GatewayError usage. */
export async function listPrompts(io: Pick<Io, 'env' | 'cwd'>): Promise<NamedPrompt[]> {
  const folder = await promptsFolder(io);
  const files = await listFolder(folder, 'prompts');
  return files
    .filter((file) => ending.test(file))
    .map((file) => ({ name: file.replace(ending, ''), path: join(folder, file) }))
    .toSorted((a, b) => a.name.localeCompare(b.name) || a.path.localeCompare(b.path));
}

/** The file of `--template`: a path, or the name of a prompt in the folder. Throws GatewayError usage. */
export async function findPrompt(typed: string, io: Pick<Io, 'env' | 'cwd'>): Promise<string> {
  if (typed === '-' || /[\\/]/.test(typed) || ending.test(typed)) return typed;
  const prompts = await listPrompts(io);
  const found = prompts.filter(({ name }) => name === typed);
  const [first, second] = found;
  if (second) throw usageError(`two prompts are named ${quoteWord(typed)}`, `name one: -t ${shellWord(second.path)}`);
  if (first) return first.path;
  if (/^\d*\.?\d+$/.test(typed))
    throw usageError(`there is no prompt ${quoteWord(typed)}`, `did you mean: --temperature ${typed}?`);
  const names = prompts.map(({ name }) => name);
  const near = closest(typed, names);
  const write = `write one: ${shellWord(join(await promptsFolder(io), `${typed}.md`))}`;
  const hint = near === undefined ? `there are: ${names.join(', ')}` : `did you mean: -t ${near}?`;
  throw usageError(`there is no prompt ${quoteWord(typed)}`, names.length === 0 ? write : hint);
}
