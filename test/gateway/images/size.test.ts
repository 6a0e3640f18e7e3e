import { describe, expect, it } from 'vitest';
import { sizeFor } from '../../../src/gateway/images/generate.ts';

describe('sizeFor', () => {
  const rows: [aspect: string | undefined, size: string | undefined, width: number, height: number][] = [
    [undefined, undefined, 1024, 1024],
    ['3:4', undefined, 880, 1184],
    ['16:9', undefined, 1360, 768],
    ['9:16', '1K', 768, 1360],
    ['16:9', '4K', 5440, 3072],
    ['16:9', '512', 680, 384],
    [undefined, '4K', 4096, 4096],
  ];
  it.each(rows)('%s %s', (aspect, size, width, height) => {
    expect(sizeFor(aspect, size)).toEqual({ width, height });
  });

  it('finds a size near a megapixel for any ratio, within 4 %', () => {
    for (const [across, down] of [
      [1, 4],
      [4, 1],
      [1, 8],
      [8, 1],
      [10, 1],
      [1, 10],
      [7, 5],
      [5, 7],
      [239, 100],
      [32, 9],
      [1000, 999],
    ] as const) {
      const { width, height } = sizeFor(`${across}:${down}`);
      expect(Math.abs(width / height / (across / down) - 1)).toBeLessThan(0.04);
      expect((width * height) / 2 ** 20).toBeCloseTo(1, 0);
      expect([width % 16, height % 16]).toEqual([0, 0]);
    }
  });
});
