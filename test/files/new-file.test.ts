import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeNewFile } from '../../src/files/new-file.ts';
import { namesIn, scratchFolder } from '../images/scratch.ts';

test('a file that was made meanwhile stays as it is, and no part is left', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'a.txt'), 'mine');
  mkdirSync(join(cwd, 'folder'));
  const write = (name: string, force: boolean) => writeNewFile(name, (append) => append('new'), { cwd, force });
  await expect(write('a.txt', false)).rejects.toMatchObject({ class: 'not-written' });
  await expect(write('folder', true)).rejects.toMatchObject({ class: 'not-written' });
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('mine');
  expect(namesIn(cwd)).toEqual(['a.txt', 'folder']);
});
