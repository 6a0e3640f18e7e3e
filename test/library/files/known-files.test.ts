import { readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createKnownFiles } from '../../../src/library/files/known-files.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/** A file, and how often it was read. */
function openFile(text: string) {
  const path = join(scratchFolder(), 'file');
  writeFileSync(path, text);
  const known = createKnownFiles();
  let reads = 0;
  const read = () =>
    known(path, 'text', async () => {
      reads++;
      return readFileSync(path, 'utf8');
    });
  return { path, known, read, count: () => reads };
}

test('a file that stays as it is is read once', async () => {
  const { read, count } = openFile('one');
  expect(await Promise.all([read(), read(), read()])).toEqual(['one', 'one', 'one']);
  expect(await read()).toBe('one');
  expect(count()).toBe(1);
});

test('a file that another of the same size and time takes the place of is read again', async () => {
  const { path, read, count } = openFile('one');
  await read();
  const { atime, mtime } = statSync(path);
  writeFileSync(`${path}.new`, 'two');
  utimesSync(`${path}.new`, atime, mtime);
  renameSync(`${path}.new`, path);
  expect(await read()).toBe('two');
  expect(count()).toBe(2);
});

test('a reading that failed is tried again', async () => {
  const { path, known, read } = openFile('one');
  await expect(known(path, 'text', () => Promise.reject(new Error('busy')))).rejects.toThrow('busy');
  expect(await read()).toBe('one');
});

test('of more files than are kept, the one that was not used for the longest time is read again', async () => {
  const { known, read, count, path } = openFile('one');
  await read();
  const others = Array.from({ length: 1000 }, (_, index) => `${path}-${index}`);
  for (const other of others) {
    writeFileSync(other, 'x');
    await known(other, 'facts', async () => 'x');
  }
  await read();
  expect(count()).toBe(2);
});
