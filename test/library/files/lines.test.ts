import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readLines } from '../../../src/library/files/lines.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const folder = scratchFolder;

async function linesOf(content: string | Uint8Array) {
  const path = join(folder(), 'lines');
  writeFileSync(path, content);
  const handle = await open(path);
  const lines = [];
  for await (const some of readLines(handle)) lines.push(...some);
  await handle.close();
  return lines;
}

describe('lines of a file', () => {
  test('lines come with number and place, with CRLF or LF, also a last line that is torn', async () => {
    expect(await linesOf('a\r\n\nbä\nlast')).toEqual([
      { number: 1, text: 'a', isUtf8: true, whole: true, offset: 0, bytes: 3, isTooLong: false },
      { number: 2, text: '', isUtf8: true, whole: true, offset: 3, bytes: 1, isTooLong: false },
      { number: 3, text: 'bä', isUtf8: true, whole: true, offset: 4, bytes: 4, isTooLong: false },
      { number: 4, text: 'last', isUtf8: true, whole: false, offset: 8, bytes: 4, isTooLong: false },
    ]);
  });

  test.each([255, 256, 257, 511, 512, 513])('cross the border of a block: lines of %d KiB', async (kib) => {
    const texts = ['x', 'y', 'z'].map((char) => char.repeat(kib * 1024 - 1));
    expect((await linesOf(`${texts.join('\n')}\n`)).map(({ text }) => text)).toEqual(texts);
  });

  test.each([
    ['bytes that are no UTF-8', [0xff, 0x0a, 0xe2, 0x82, 0x0a, 0xf0, 0x9f, 0x98, 0x0a, 0xc3, 0x28, 0x0d, 0x0a, 0x80]],
    ['characters of two to four bytes', [...Buffer.from('é\n€uro\n\u{1f431}\u{1f431}\n\na\uFEFF\n')]],
  ])('are where their bytes are: %s', async (_, bytes) => {
    const content = Buffer.from(bytes);
    const lines = await linesOf(content);
    const cut = lines.map(({ offset, bytes: length }) => content.subarray(offset, offset + length));
    expect(Buffer.concat(cut)).toEqual(content);
    expect(cut.map((line) => line.indexOf(0x0a))).toEqual(lines.map(({ bytes: n, whole }) => (whole ? n - 1 : -1)));
    expect(lines.map(({ isUtf8 }) => isUtf8)).toEqual(cut.map((line) => Buffer.from(line.toString()).equals(line)));
    expect(lines.map(({ text }) => text)).toEqual(
      cut.map((line) => new TextDecoder('utf8', { ignoreBOM: true }).decode(line).replace(/\r?\n$/, '')),
    );
  });

  test('lines that are too long are known by number and place, and their text is left out', async () => {
    const path = join(folder(), 'lines');
    const long = 'x'.repeat(700 * 1024);
    writeFileSync(path, `a\n${long}\nb\nc\n${long}`);
    const handle = await open(path);
    const lines = [];
    for await (const some of readLines(handle, { maxBytes: 300 * 1024 })) lines.push(...some);
    await handle.close();
    expect(lines.map(({ number, text, whole, isTooLong }) => [number, text, whole, isTooLong])).toEqual([
      [1, 'a', true, false],
      [2, '', true, true],
      [3, 'b', true, false],
      [4, 'c', true, false],
      [5, '', false, true],
    ]);
    expect(lines.map(({ offset }) => offset)).toEqual([0, 2, 3 + long.length, 5 + long.length, 7 + long.length]);
    expect(lines.map(({ bytes }) => bytes)).toEqual([2, long.length + 1, 2, 2, long.length]);
  });

  test('an empty file has none', async () => {
    expect(await linesOf('')).toEqual([]);
  });
});
