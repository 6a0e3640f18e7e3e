import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dig, startGateway, type GatewayUnderTest } from '../gateway-under-test.ts';
import { blue, edit, editPng, green, png, red, white, wide } from './pixels.ts';

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close(0));

describe('local-edit follows instructions, pixel by pixel', () => {
  const rows: [instruction: string, expected: unknown][] = [
    [
      'Make it grayscale',
      [
        [
          [76, 76, 76],
          [150, 150, 150],
          [29, 29, 29],
        ],
        [
          [255, 255, 255],
          [255, 255, 255],
          [76, 76, 76],
        ],
      ],
    ],
    [
      'black and white, please',
      [
        [
          [76, 76, 76],
          [150, 150, 150],
          [29, 29, 29],
        ],
        [
          [255, 255, 255],
          [255, 255, 255],
          [76, 76, 76],
        ],
      ],
    ],
    [
      'Invert the colours',
      [
        [
          [0, 255, 255],
          [255, 0, 255],
          [255, 255, 0],
        ],
        [
          [0, 0, 0],
          [0, 0, 0],
          [0, 255, 255],
        ],
      ],
    ],
    [
      'mirror it',
      [
        [blue, green, red],
        [red, white, white],
      ],
    ],
    [
      'flip horizontally',
      [
        [blue, green, red],
        [red, white, white],
      ],
    ],
    [
      'flip it',
      [
        [white, white, red],
        [red, green, blue],
      ],
    ],
    [
      'Rotate by 90 degrees',
      [
        [white, red],
        [white, green],
        [red, blue],
      ],
    ],
    [
      'rotate left',
      [
        [blue, red],
        [green, white],
        [red, white],
      ],
    ],
    [
      'rotate 270',
      [
        [blue, red],
        [green, white],
        [red, white],
      ],
    ],
    [
      'rotate it by 180°',
      [
        [red, white, white],
        [blue, green, red],
      ],
    ],
    [
      'turn upside down',
      [
        [red, white, white],
        [blue, green, red],
      ],
    ],
    [
      'mirror, then rotate 180',
      [
        [white, white, red],
        [red, green, blue],
      ],
    ],
  ];
  it.each(rows)('%s', async (instruction, expected) => {
    expect(await editPng(gateway, instruction, wide)).toEqual(expected);
  });

  it('blur mixes neighbours and keeps the size', async () => {
    const dot = Array.from({ length: 5 }, (_, y) =>
      Array.from({ length: 5 }, (_, x) => (x === 2 && y === 2 ? [250, 250, 250] : [0, 0, 0])),
    );
    const blurred = await editPng(gateway, 'blur', dot);
    expect([blurred.length, blurred[0]?.length]).toEqual([5, 5]);
    expect(blurred[2]?.[2]?.[0]).toBeLessThan(100);
    expect(blurred[1]?.[2]?.[0]).toBeGreaterThan(0);
    expect(blurred[2]?.[1]).toEqual(blurred[1]?.[2]);
  });

  it('crops to the asked ratio around the middle', async () => {
    const strip = [1, 2].map(() => [red, red, green, blue, white, white].map((pixel) => [...pixel]));
    expect(await editPng(gateway, 'mirror', strip, { imageConfig: { aspectRatio: '1:1' } })).toEqual([
      [blue, green],
      [blue, green],
    ]);
    expect(await editPng(gateway, 'crop it to 1:1', strip)).toEqual([
      [green, blue],
      [green, blue],
    ]);
  });

  it('draws over the picture where it knows no edit, and says so', async () => {
    const plain = Array.from({ length: 80 }, () => Array.from({ length: 120 }, () => [9, 99, 199]));
    for (const instruction of [
      'surprise me',
      'add a cat and a boat',
      'put a red house into the snow',
      'rain and birds',
    ]) {
      const drawn = await editPng(gateway, instruction, plain);
      expect([drawn.length, drawn[0]?.length]).toEqual([80, 120]);
      const same = drawn.flat().filter((pixel) => pixel.join() === '9,99,199').length;
      expect(same).toBeLessThan(80 * 120);
    }
    const json = await edit(gateway, 'add a cat', [{ mimeType: 'image/png', bytes: png(plain) }]);
    expect(dig(json, 'candidates', 0, 'content', 'parts', 0, 'text')).toContain(
      'offline edit of the 120×80 picture, no model was asked: a cat',
    );
  });

  it('keeps transparency', async () => {
    const glass = [
      [
        [255, 0, 0, 0],
        [0, 255, 0, 128],
      ],
    ];
    expect(await editPng(gateway, 'mirror', glass)).toEqual([
      [
        [0, 255, 0, 128],
        [255, 0, 0, 0],
      ],
    ]);
  });
});
