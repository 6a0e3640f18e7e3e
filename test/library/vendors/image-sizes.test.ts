import { describe, expect, test } from 'vitest';
import { fitOpenaiSize } from '../../../src/library/vendors/image-sizes.ts';

/** Shape, and its size of 1K, 2K and 4K. */
const table = `
  5:4     1120x896  2080x1664  3200x2560
  4:3     1152x864  2176x1632  3264x2448
  16:9    1280x720  2560x1440  3840x2160
  2:1     1440x720  2688x1344  3840x1920
  20:9    1600x720  2560x1152  3840x1728
  21:9    1568x672  2912x1248  3808x1632
  5:2     1600x640  2960x1184  3840x1536
  3:1     1776x592  3312x1104  3840x1280
  19.5:9  1456x672  2704x1248  3744x1728`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/) as [string, string, string, string]);

const classes = ['1K', '2K', '4K'];
const turned = (pair: string, sign: string): string => pair.split(sign).toReversed().join(sign);

describe('the size at OpenAI', () => {
  test.each(table)('of %s is %s, %s or %s, and upright the same turned', (aspect, ...sizes) => {
    expect(classes.map((each) => fitOpenaiSize(aspect, each))).toEqual(sizes);
    const upright = sizes.map((size) => turned(size, 'x'));
    expect(classes.map((each) => fitOpenaiSize(turned(aspect, ':'), each))).toEqual(upright);
  });

  test.each([
    ['1:1', '1024x1024', '1920x1920', '2880x2880'],
    ['3:2', '1536x1024', '2304x1536', '3504x2336'],
    ['2:3', '1024x1536', '1536x2304', '2336x3504'],
  ])('of %s is at 1K the one that older models draw too', (aspect, ...sizes) => {
    expect(classes.map((each) => fitOpenaiSize(aspect, each))).toEqual(sizes);
  });

  test('keeps every shape that it draws exactly, in multiples of 16, within the limits of sides and pixels', () => {
    for (let across = 1; across <= 48; across++)
      for (let down = 1; down <= 48; down++)
        for (const each of classes) {
          const size = fitOpenaiSize(`${across}:${down}`, each);
          const isDrawn = Math.max(across / down, down / across) <= 3;
          expect(size !== undefined, `${across}:${down}`).toBe(isDrawn);
          if (size === undefined) continue;
          const [width = 0, height = 0] = size.split('x').map(Number);
          const isRight = size === '1536x1024' || size === '1024x1536' || width * down === height * across;
          expect([isRight, width % 16, height % 16], size).toEqual([true, 0, 0]);
          expect(Math.max(width, height), size).toBeLessThanOrEqual(3840);
          expect(width * height, size).toBeGreaterThanOrEqual(655_360);
          expect(width * height, size).toBeLessThanOrEqual(8_294_400);
        }
  });

  test('is none where sides of at most 3840 pixels in multiples of 16 do not have the shape', () => {
    expect(fitOpenaiSize('999:998', '1K')).toBeUndefined();
  });
});
