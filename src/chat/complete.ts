import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { slashCommands } from './slash.ts';

/** What could stand there, and the part of the line that it would replace. */
export interface Completions {
  hits: string[];
  part: string;
}

/** Names with controls in them would be obeyed by the terminal. */
const harmless = /^[^\p{Cc}\p{Bidi_Control}]+$/u;

/** Completes a line of the interactive mode: commands, and the file names behind `/image` and `/save`. */
export async function completeLine(line: string, cwd: string): Promise<Completions> {
  const file = /^\/(?:image|save)\s+(.*)$/.exec(line);
  if (file) return completePath(file[1] ?? '', cwd);
  if (!/^\/\S*$/.test(line)) return { hits: [], part: line };
  const names = Object.keys(slashCommands).map((name) => `/${name}`);
  return { hits: names.filter((name) => name.startsWith(line)).map((name) => `${name} `), part: line };
}

async function completePath(typed: string, cwd: string): Promise<Completions> {
  const cut = typed.lastIndexOf('/') + 1;
  const [folder, begun] = [typed.slice(0, cut), typed.slice(cut)];
  const entries = await readdir(expandPath(folder, cwd), { withFileTypes: true }).catch(() => []);
  const hits = entries
    .filter(({ name }) => name.startsWith(begun) && harmless.test(name) && (begun !== '' || !name.startsWith('.')))
    .map((entry) => folder + entry.name + (entry.isDirectory() ? '/' : ''));
  return { hits: hits.toSorted(), part: typed };
}

/** A path that was typed into the interactive mode, where no shell expands `~`. */
export function expandPath(typed: string, cwd: string): string {
  if (typed === '~' || typed.startsWith('~/')) return join(homedir(), typed.slice(1));
  return isAbsolute(typed) ? typed : resolve(cwd, typed);
}
