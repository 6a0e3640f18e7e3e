import { spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../../src/library/errors.ts';
import {
  createTempFile,
  makeFolder,
  notWritten,
  placeFile,
  writeAtomically,
  writeFully,
  writeNewFile,
} from '../../../src/library/files/temp-file.ts';
import { namesIn, scratchFolder } from '../images/scratch.ts';

test('continues after a partial write', async () => {
  const taken: [string, number][] = [];
  const handle = {
    async write(bytes: Uint8Array, from: number, length: number, position: number) {
      const bytesWritten = Math.min(3, length);
      taken.push([Buffer.from(bytes.subarray(from, from + bytesWritten)).toString(), position]);
      return { bytesWritten };
    },
  } as unknown as FileHandle;
  await writeFully(handle, Buffer.from('abcdefgh'), 100);
  expect(taken).toEqual([
    ['abc', 100],
    ['def', 103],
    ['gh', 106],
  ]);
});

test('a temporary file that exists is never opened', async () => {
  const folder = scratchFolder();
  const path = join(folder, '.gateway-cli-x.part');
  writeFileSync(path, 'precious');
  await expect(createTempFile(folder, { nonce: () => 'x' })).rejects.toMatchObject({ code: 'EEXIST' });
  expect(readFileSync(path, 'utf8')).toBe('precious');
});

describe('on a file system without links', () => {
  const linkFile = () => Promise.reject(Object.assign(new Error('EPERM'), { code: 'EPERM' }));

  function parts(): { folder: string; temp: string; final: string } {
    const folder = scratchFolder();
    const [temp, final] = [join(folder, 'temp'), join(folder, 'cat.png')];
    writeFileSync(temp, 'new');
    return { folder, temp, final };
  }

  test('a copy to a taken name leaves the existing file', async () => {
    const { folder, temp, final } = parts();
    writeFileSync(final, 'mine');
    // More bytes than the file has: a copy that started would fail, and clean up.
    const placing = placeFile(temp, final, { bytes: 4, replace: false, linkFile });
    await expect(placing).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(final, 'utf8')).toBe('mine');
    expect(namesIn(folder)).toEqual(['cat.png', 'temp']);
  });

  test('a copy that fails removes its part and leaves the source', async () => {
    const { temp, final } = parts();
    await expect(placeFile(temp, final, { bytes: 4, replace: false, linkFile })).rejects.toThrow('shorter');
    expect([existsSync(final), readFileSync(temp, 'utf8')]).toEqual([false, 'new']);
  });
});

test.skipIf(process.platform === 'win32')('a pipe is not replaced by a file', async () => {
  const folder = scratchFolder();
  spawnSync('mkfifo', [join(folder, 'pipe')]);
  await expect(writeAtomically(join(folder, 'pipe'), async () => undefined)).rejects.toThrow('it is a device, a pipe');
  expect([lstatSync(join(folder, 'pipe')).isFIFO(), readdirSync(folder)]).toEqual([true, ['pipe']]);
});

test('a file that cannot get its name leaves nothing', async () => {
  const folder = scratchFolder();
  const long = join(folder, 'x'.repeat(300));
  await expect(writeAtomically(long, (handle) => handle.writeFile('new'))).rejects.toMatchObject({
    code: 'ENAMETOOLONG',
  });
  expect(readdirSync(folder)).toEqual([]);
});

test('an error that has its own words keeps them, and gets a hint where it has none', () => {
  const failure = new GatewayError('not-written', 'the disk is full');
  expect(notWritten('a', failure)).toBe(failure);
  expect(notWritten('a', failure, 'make room')).toMatchObject({
    message: 'the disk is full',
    details: { hint: 'make room' },
  });
  expect(notWritten('a', new Error('no'), 'make room')).toMatchObject({
    class: 'not-written',
    message: 'cannot write "a": no',
    details: { hint: 'make room', sent: 'yes', retryable: false },
  });
});

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

test('a new folder gets missing parents with the same mode', async () => {
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
