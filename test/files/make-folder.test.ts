import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from '../../src/files/temp-file.ts';
import { scratchFolder } from '../helpers/scratch.ts';

test('makes missing parents with the same mode', async () => {
  const path = join(scratchFolder(), 'a', 'b', 'c');
  await makeFolder(path, 0o700);
  await makeFolder(path, 0o700);
  expect(statSync(path).mode & 0o777).toBe(0o700);
  expect(statSync(join(path, '../..')).mode & 0o777).toBe(0o700);
});

test('many calls at once make the same folder', async () => {
  const path = join(scratchFolder(), 'a', 'b', 'c');
  await Promise.all(Array.from({ length: 20 }, () => makeFolder(path)));
  expect(statSync(path).isDirectory()).toBe(true);
});

test('a file with that path, or a parent that is a file, is an error', async () => {
  const folder = scratchFolder();
  writeFileSync(join(folder, 'file'), '');
  await expect(makeFolder(join(folder, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeFolder(join(folder, 'file', 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

test('follows a link to a folder', async () => {
  const folder = scratchFolder();
  mkdirSync(join(folder, 'real'));
  symlinkSync('real', join(folder, 'link'));
  await makeFolder(join(folder, 'link', 'below'));
  expect(statSync(join(folder, 'real', 'below')).isDirectory()).toBe(true);
});

test.skipIf(process.platform !== 'linux')(
  'a folder that cannot contain folders is an error and does not hang',
  async () => {
    await expect(makeFolder('/proc/gateway-cli/below')).rejects.toMatchObject({ code: 'ENOENT' });
  },
);
