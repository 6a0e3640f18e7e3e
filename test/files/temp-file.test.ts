import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { placeFile } from '../../src/files/place-file.ts';
import { writeFully } from '../../src/files/temp-file.ts';
import { namesIn, scratchFolder } from '../images/scratch.ts';

test('a write that takes a part only goes on behind it', async () => {
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

describe('where the file system cannot link', () => {
  const linkFile = () => Promise.reject(Object.assign(new Error('EPERM'), { code: 'EPERM' }));

  function parts(): { folder: string; temp: string; final: string } {
    const folder = scratchFolder();
    const [temp, final] = [join(folder, 'temp'), join(folder, 'cat.png')];
    writeFileSync(temp, 'new');
    return { folder, temp, final };
  }

  test('a copy to a name that is taken leaves what has it', async () => {
    const { folder, temp, final } = parts();
    writeFileSync(final, 'mine');
    // More bytes than there are: a copy that began would fail, and clean up.
    const placing = placeFile(temp, final, { bytes: 4, replace: false, linkFile });
    await expect(placing).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(final, 'utf8')).toBe('mine');
    expect(namesIn(folder)).toEqual(['cat.png', 'temp']);
  });

  test('a copy that fails takes away what it began, and leaves what it was made from', async () => {
    const { temp, final } = parts();
    await expect(placeFile(temp, final, { bytes: 4, replace: false, linkFile })).rejects.toThrow('shorter');
    expect([existsSync(final), readFileSync(temp, 'utf8')]).toEqual([false, 'new']);
  });
});
