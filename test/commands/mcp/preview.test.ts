import jpeg from 'jpeg-js';
import { expect, test } from 'vitest';
import { encodeThumbnail } from '../../../src/commands/mcp/preview.ts';

/** A picture of one colour. */
function plain(width: number, height: number, colour: readonly [number, number, number, number]) {
  return { width, height, data: Uint8Array.from({ length: width * height * 4 }, (_, at) => colour[at % 4] ?? 0) };
}

test.each([
  [512, 256, 256, 128],
  [100, 400, 64, 256],
  [3000, 1, 256, 1],
  [40, 30, 40, 30],
])('%i×%i becomes %i×%i', async (width, height, ...size) => {
  const small = jpeg.decode(await encodeThumbnail(plain(width, height, [200, 100, 50, 255]), 256));
  expect([small.width, small.height]).toEqual(size);
  expect([...small.data.subarray(0, 3)].map((value, at) => Math.abs(value - [200, 100, 50][at]!) <= 3)).toEqual([
    true,
    true,
    true,
  ]);
});

test('transparent pixels are white', async () => {
  const { data } = jpeg.decode(await encodeThumbnail(plain(16, 16, [200, 0, 0, 0]), 8));
  expect(Math.min(...data)).toBeGreaterThan(250);
});
