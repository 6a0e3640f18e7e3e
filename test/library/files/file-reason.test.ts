import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { usageError } from '../../../src/library/errors.ts';
import { describeReadError, describeWriteError } from '../../../src/library/files/file-reason.ts';

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
  ['a missing file', '/no/such/file', 'there is no such file'],
  ['a file below a file', '/etc/passwd/x', 'a part of the path is not a folder'],
  ['a name that is too long', `/${'x'.repeat(300)}`, 'the name is too long'],
  ['a name with a NUL', 'a\0b', 'the name contains a NUL character'],
])('%s that cannot be read has a reason in words', (_, path, words) => {
  expect(describeReadError(thrownBy(() => readFileSync(path)))).toBe(words);
});

test.each([
  ['a missing folder', '/no/such/file', 'the folder does not exist'],
  ['a full disk', '/dev/full', 'the disk is full'],
])('%s that cannot be written has a reason in words', (_, path, words) => {
  expect(describeWriteError(thrownBy(() => writeFileSync(path, 'x')))).toBe(words);
});

test('an error without a known reason is described by the code of the system', () => {
  const error = Object.assign(new Error("EWORLD: odd words, read '/x'"), { code: 'EWORLD' });
  expect(describeReadError(error)).toBe('the system reports an error (EWORLD)');
  expect(describeReadError(new Error('not so'))).toBe('not so');
});

test('an error of Node without a code is described by its name', () => {
  expect(describeReadError(thrownBy(() => JSON.parse('{,')))).toBe('an unexpected error (SyntaxError)');
});

test('a GatewayError keeps its message, whatever its cause', () => {
  const cause = thrownBy(() => readFileSync('/no/such/file'));
  expect(describeWriteError(usageError('the folder is locked', undefined, cause))).toBe('the folder is locked');
});
