import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTempFile, placeFile, writeFully } from '../../src/files/temp-file.ts';
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
