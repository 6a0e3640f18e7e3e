import { deflateSync } from 'node:zlib';
import { decode } from 'fast-png';
import { expect, test } from 'vitest';
import { readPng, pngChunk, signature } from '../../../../src/library/images/pixels/codec.ts';
import { decodePreview } from '../../../../src/library/images/preview.ts';

/** A picture of 8 bits a sample whose rows name the filters 0 to 4 in turn, over arbitrary bytes. */
function filtered({ type, channels, width = 7, height = 10 }: Record<string, number>): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width as number, 0);
  header.writeUInt32BE(height as number, 4);
  header.set([8, type as number, 0, 0, 0], 8);
  const length = (width as number) * (channels as number) + 1;
  const rows = Buffer.from(Array.from({ length: (height as number) * length }, (_, i) => (i * i * 31 + i * 7) % 256));
  for (let y = 0; y < (height as number); y++) rows[y * length] = y % 5;
  const pixels = pngChunk('IDAT', deflateSync(rows));
  return Buffer.concat([signature, pngChunk('IHDR', header), pixels, pngChunk('IEND', Buffer.alloc(0))]);
}

/** A picture with a header, rows, and chunks between them. */
function written(header: string, rows: number[], ...notes: Buffer[]): Buffer {
  const pixels = pngChunk('IDAT', deflateSync(Buffer.from(rows)));
  const head = pngChunk('IHDR', Buffer.from(header, 'hex'));
  return Buffer.concat([signature, head, ...notes, pixels, pngChunk('IEND', Buffer.alloc(0))]);
}

test.each([
  ['gray', { type: 0, channels: 1 }],
  ['red, green and blue', { type: 2, channels: 3 }],
  ['gray with alpha', { type: 4, channels: 2 }],
  ['red, green and blue with alpha', { type: 6, channels: 4 }],
])('reads every filter as the package does: %s', async (_, form) => {
  const bytes = filtered(form);
  const { data, channels, width, height } = decode(bytes);
  const expected = Array.from({ length: width * height }, (_pixel, i) => {
    const samples = Array.from(data.subarray(i * channels, (i + 1) * channels));
    const alpha = channels % 2 === 0 ? (samples.pop() as number) : 255;
    return channels < 3 ? [samples[0], samples[0], samples[0], alpha] : [...samples, alpha];
  });
  const picture = await readPng(bytes);
  expect([picture.width, picture.height]).toEqual([width, height]);
  expect([...picture.data]).toEqual(expected.flat());
});

test('refuses an unknown filter, rows that are cut short, and more pixels than allowed', async () => {
  const whole = filtered({ type: 2, channels: 3 });
  await expect(readPng(whole, 7 * 10 - 1)).rejects.toThrow('too many pixels');
  const short = filtered({ type: 2, channels: 3 });
  short.writeUInt32BE(11, 20);
  await expect(readPng(short)).rejects.toThrow('filter');
  await expect(readPng(written('00000001000000010802000000', [5, 1, 2, 3]))).rejects.toThrow('filter');
});

const gray = (...samples: number[]): number[] => samples.flatMap((sample) => [sample, sample, sample, 255]);

test.each([
  [
    'samples of two bits',
    written('00000005000000010200000000', [0, 0b00_01_10_11, 0b01_00_00_00]),
    gray(0, 85, 170, 255, 85),
  ],
  ['rows in passes', written('00000002000000020800000001', [0, 10, 0, 20, 0, 30, 40]), gray(10, 20, 30, 40)],
  [
    'a transparent colour',
    written(
      '00000003000000010802000000',
      [0, 1, 2, 3, 1, 2, 4, 1, 3, 3],
      pngChunk('tRNS', Buffer.from([0, 1, 0, 2, 0, 3])),
    ),
    [1, 2, 3, 0, 1, 2, 4, 255, 1, 3, 3, 255],
  ],
])('reads %s', async (_, bytes, expected) => {
  expect([...(await readPng(bytes)).data]).toEqual(expected);
});

test.each([
  ['words', Buffer.from('hello, this is no image at all'), 'it cannot be decoded'],
  ['half a PNG', filtered({ type: 2, channels: 3 }).subarray(0, 50), 'it cannot be decoded'],
  [
    'pixels that unpack to more than the header says',
    written('00000004000000040802000000', Array(2 ** 20).fill(0)),
    'it cannot be decoded',
  ],
  ['pixels that unpack to less', written('00000190000001900802000000', [0]), 'it cannot be decoded'],
  [
    'billions of pixels',
    written('0000ea600000ea600802000000', [0]),
    'it has 60000×60000 pixels, more than 24 megapixels',
  ],
])('%s: not decoded', async (_, bytes, expected) => {
  expect(await decodePreview(bytes, 'image/png')).toEqual({ reason: expected });
});
