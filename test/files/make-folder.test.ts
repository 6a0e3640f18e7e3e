import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from '../../src/files/make-folder.ts';
import { scratchFolder } from '../helpers/scratch.ts';

test('makes what is missing above it, with its mode', async () => {
  const path = join(scratchFolder(), 'a', 'b', 'c');
  await makeFolder(path, 0o700);
  await makeFolder(path, 0o700);
  expect(statSync(path).mode & 0o777).toBe(0o700);
  expect(statSync(join(path, '../..')).mode & 0o777).toBe(0o700);
});

test('many at once make it together', async () => {
  const path = join(scratchFolder(), 'a', 'b', 'c');
  await Promise.all(Array.from({ length: 20 }, () => makeFolder(path)));
  expect(statSync(path).isDirectory()).toBe(true);
});

test('a file in its place, or above it, is an error', async () => {
  const folder = scratchFolder();
  writeFileSync(join(folder, 'file'), '');
  await expect(makeFolder(join(folder, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeFolder(join(folder, 'file', 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

test('a link to a folder is one', async () => {
  const folder = scratchFolder();
  mkdirSync(join(folder, 'real'));
  symlinkSync('real', join(folder, 'link'));
  await makeFolder(join(folder, 'link', 'below'));
  expect(statSync(join(folder, 'real', 'below')).isDirectory()).toBe(true);
});

test.skipIf(process.platform !== 'linux')('a folder that takes none below it is an error, not a wait', async () => {
  await expect(makeFolder('/proc/gateway-cli/below')).rejects.toMatchObject({ code: 'ENOENT' });
});
