import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { usageError } from '../../src/errors.ts';
import { readReason, writeReason } from '../../src/files/file-reason.ts';

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

test.each([
  ['a folder', '/', 'it is a folder'],
  ['a file that is not there', '/no/such/file', 'there is no such file'],
  ['a file below a file', '/etc/passwd/x', 'a part of the path is not a folder'],
  ['a name that is too long', `/${'x'.repeat(300)}`, 'the name is too long'],
  ['a name with a NUL', 'a\0b', 'the name contains a NUL character'],
])('%s that cannot be read is told in words', (_, path, words) => {
  expect(readReason(thrownBy(() => readFileSync(path)))).toBe(words);
});

test.each([
  ['a folder that is not there', '/no/such/file', 'the folder does not exist'],
  ['a full disk', '/dev/full', 'the disk is full'],
])('%s that cannot be written is told in words', (_, path, words) => {
  expect(writeReason(thrownBy(() => writeFileSync(path, 'x')))).toBe(words);
});

test('an error that is in no table is told by the code of the system', () => {
  const error = Object.assign(new Error("EWORLD: odd words, read '/x'"), { code: 'EWORLD' });
  expect(readReason(error)).toBe('the system reports an error (EWORLD)');
  expect(readReason(new Error('not so'))).toBe('not so');
});

test('an error of Node without a code is told by its name alone', () => {
  expect(readReason(thrownBy(() => JSON.parse('{,')))).toBe('an unexpected error (SyntaxError)');
});

test('an error of our own keeps its words, whatever its cause', () => {
  const cause = thrownBy(() => readFileSync('/no/such/file'));
  expect(writeReason(usageError('the folder is locked', undefined, cause))).toBe('the folder is locked');
});
