import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, test } from 'vitest';

const src = join(import.meta.dirname, '../src');

/** Which layers a layer may import; a layer is a folder of src, or a file at its top. Types files are open to all. */
const allowed: Record<string, readonly string[]> = {
  'main.ts': ['program.ts', 'terminal'],
  'program.ts': ['run.ts', 'terminal'],
  'run.ts': ['cli.ts', 'command-tree.ts', 'commands', 'terminal'],
  'cli.ts': ['command-tree.ts', 'commands', 'version.ts'],
  'command-tree.ts': ['commands'],
  'index.ts': ['client'],
  'version.ts': [],
  'clock.ts': [],
  'errors.ts': [],
  'file-reason.ts': [],
  'json.ts': [],
  'make-folder.ts': [],
  'part-name.ts': [],
  'shell-word.ts': [],
  'time-text.ts': [],
  'upload.ts': [],
  completion: [],
  doctor: ['transport'],
  commands: [
    'completion',
    'doctor',
    'client',
    'recovery',
    'chat',
    'batch',
    'gateway',
    'cassettes',
    'lock',
    'settings',
    'terminal',
    'images',
    'formats',
    'version.ts',
  ],
  batch: ['client', 'lock', 'images', 'formats', 'settings', 'terminal'],
  chat: ['client', 'lock', 'terminal', 'settings', 'formats', 'images'],
  client: ['formats', 'transport', 'images', 'version.ts'],
  formats: [],
  lock: [],
  transport: [],
  images: ['transport/types.ts'],
  settings: [],
  cassettes: ['images', 'lock', 'transport/types.ts'],
  recovery: ['images', 'transport'],
  terminal: [],
  gateway: [],
};
const open = new Set([
  'clock.ts',
  'file-reason.ts',
  'make-folder.ts',
  'part-name.ts',
  'errors.ts',
  'json.ts',
  'shell-word.ts',
  'time-text.ts',
  'upload.ts',
]);

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

function layerOf(file: string): string {
  return file.split('/')[0] as string;
}

function importsOf(file: string): { target: string; typeOnly: boolean }[] {
  const text = readFileSync(join(src, file), 'utf8');
  const found = text.matchAll(/^\s*(import|export)( type)?\b[^;]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm);
  return [...found].map((match) => ({
    target: posix.normalize(posix.join(posix.dirname(file), match[3] ?? match[4] ?? '')),
    typeOnly: match[2] !== undefined,
  }));
}

function mayImport(from: string, target: string, typeOnly: boolean): boolean {
  const layer = layerOf(target);
  if (layer === layerOf(from) || open.has(target)) return true;
  const list = allowed[layerOf(from)] ?? [];
  return list.includes(layer) || list.includes(target) || (typeOnly && isTypes(target));
}

function isTypes(target: string): boolean {
  return target.endsWith('types.ts') || target === 'client/result.ts' || target === 'terminal/io.ts';
}

test('every folder has a rule', () => {
  expect([...new Set(files.map(layerOf))].filter((layer) => !(layer in allowed))).toEqual([]);
});

test.each(files.map((file) => [file] as const))('%s imports only what its layer may', (file) => {
  const wrong = importsOf(file)
    .filter(({ target }) => !target.startsWith('..'))
    .filter(({ target, typeOnly }) => !mayImport(file, target, typeOnly));
  expect(wrong.map(({ target }) => target)).toEqual([]);
});

test.each(files.map((file) => [file] as const))('%s leaves the process to main and terminal', (file) => {
  if (file === 'main.ts' || file === 'program.ts' || layerOf(file) === 'terminal') return;
  const text = readFileSync(join(src, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
  expect(
    /(?<![.\w])process\.|(?<![.\w'])console\.|from '(chalk|ora)'|import\('(chalk|ora)'\)/.exec(text)?.[0],
  ).toBeUndefined();
});
