import { describe, expect, it } from 'vitest';
import { dig, imageOf, sharedGateway } from '../gateway-under-test.ts';
import { blue, edit, editPng, green, type Pixels, png, red, white, wide } from './pixels.ts';

const gateway = sharedGateway();

describe('local-edit answers with its input', () => {
  const plain = (width: number, height: number, pixel: number[] = [9, 99, 199]): Pixels =>
    Array.from({ length: height }, () => Array.from({ length: width }, () => [...pixel]));
  const ofInput = (row: number[][] = []): number =>
    row.filter((pixel) => pixel.slice(0, 3).join() === '9,99,199').length;

  it('and a band along its lower edge', async () => {
    const edited = await editPng(gateway, 'make it gray', plain(240, 80));
    expect([edited.length, edited[0]?.length]).toEqual([80, 240]);
    for (const [y, row] of edited.entries()) expect(ofInput(row)).toBe(y < 70 ? 240 : 0);
    expect(new Set(edited.slice(70).flatMap((row) => row.map(String))).size).toBe(1);
  });

  it('and a band that can be seen where the picture is transparent', async () => {
    const edited = await editPng(gateway, 'x', plain(240, 80, [9, 99, 199, 0]));
    expect([edited[0]?.[0]?.[3], edited.at(-1)?.[0]?.[3]]).toEqual([0, 255]);
  });

  it('local-edit says that it answers with its input', async () => {
    const json = await edit(gateway, 'add a cat', [{ mimeType: 'image/png', bytes: png(plain(120, 80)) }]);
    expect(dig(json, 'candidates', 0, 'content', 'parts', 0, 'text')).toBe(
      'An offline edit of the 120×80 picture, no model was asked.',
    );
  });

  it('local-edit answers with its input unchanged where it has too few rows for a band', async () => {
    expect(await editPng(gateway, 'mirror it', wide)).toEqual(wide);
  });

  it('other instructions, seeds and candidates give other files', async () => {
    const images = [{ mimeType: 'image/png', bytes: png(plain(240, 100)) }];
    const both = await edit(gateway, 'add a cat', images, { candidateCount: 2 });
    const files = [
      imageOf(both, 0),
      imageOf(both, 1),
      imageOf(await edit(gateway, 'add a dog', images)),
      imageOf(await edit(gateway, 'add a cat', images, { seed: 7 })),
    ].map(({ bytes }) => bytes.toString('base64'));
    expect(new Set(files).size).toBe(4);
  });

  it('cropped to the asked ratio around the middle', async () => {
    const strip = [1, 2].map(() => [red, red, green, blue, white, white].map((pixel) => [...pixel]));
    expect(await editPng(gateway, 'x', strip, { imageConfig: { aspectRatio: '1:1' } })).toEqual([
      [green, blue],
      [green, blue],
    ]);
  });

  it('local-edit answers with its whole input where it has nearly the ratio that was asked for', async () => {
    const edited = await editPng(gateway, 'x', plain(103, 100), { imageConfig: { aspectRatio: '1:1' } });
    expect([edited[0]?.length, edited.length]).toEqual([103, 100]);
  });

  it('local-edit keeps transparency', async () => {
    const glass = [
      [
        [255, 0, 0, 0],
        [0, 255, 0, 128],
      ],
    ];
    expect(await editPng(gateway, 'x', glass)).toEqual(glass);
  });
});
