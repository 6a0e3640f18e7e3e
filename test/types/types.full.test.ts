import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../helpers/scratch.ts';

const root = join(import.meta.dirname, '../..');
const tsc = join(root, 'node_modules/typescript/bin/tsc');

/** What the compiler says of a project that holds these files and depends on the package. */
function compile(files: string[], { types }: { types: string[] }): string {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'node_modules/@types'), { recursive: true });
  symlinkSync(root, join(cwd, 'node_modules/gateway-cli'));
  for (const name of types) {
    symlinkSync(join(root, 'node_modules/@types', name), join(cwd, 'node_modules/@types', name));
  }
  for (const file of files) copyFileSync(join(import.meta.dirname, file), join(cwd, file));
  const compilerOptions = {
    target: 'es2023',
    lib: ['ES2023'],
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    types,
  };
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  try {
    return execFileSync(process.execPath, [tsc, '-p', cwd], { cwd, encoding: 'utf8' });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

test.each([
  [['own-interfaces.ts'], []],
  [['own-interfaces.ts', 'library.ts'], ['node']],
])(
  '%j compile without DOM in a project of their own, with the types of %j',
  (files, types) => {
    expect(compile(files, { types })).toBe('');
  },
  120_000,
);
