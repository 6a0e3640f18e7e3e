import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { bareEnv, bin } from '../helpers/spawn.ts';
import { scratchFolder } from '../helpers/scratch.ts';

/** Where the package has the recipes. */
export const recipes = join(import.meta.dirname, '../../src/cli/help/topics/recipes');

/** The lines of a recipe. */
export function readRecipe(name: string): string[] {
  return readFileSync(join(recipes, name), 'utf8').split('\n');
}

/** The lines below a key that are indented deeper than it, without that indent. */
export function blockBelow(lines: readonly string[], at: number): string[] {
  const depth = indentOf(lines[at] ?? '');
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => line.trim() !== '' && indentOf(line) <= depth);
  const block = end < 0 ? rest : rest.slice(0, end);
  const inner = Math.min(...block.filter((line) => line.trim() !== '').map(indentOf));
  return block.map((line) => line.slice(inner));
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** A runner's workspace: gateway-cli on the path, offline. */
export function workspace(env: Record<string, string> = {}): { cwd: string; env: Record<string, string> } {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, '.bin'));
  symlinkSync(bin, join(cwd, '.bin/gateway-cli'));
  const path = `${join(cwd, '.bin')}:${bareEnv(cwd)['PATH'] ?? ''}`;
  return { cwd, env: { PATH: path, CI: 'true', GATEWAY_OFFLINE: '1', ...env } };
}
