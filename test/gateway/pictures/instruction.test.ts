import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readInstruction } from '../../../src/gateway/pictures/instruction.ts';
import { dig, startGateway, type GatewayUnderTest } from '../gateway-under-test.ts';
import { blue, edit, editPng, green, png, red, white } from './pixels.ts';

const names = (instruction: string, aspect?: string): string[] =>
  readInstruction(instruction, aspect).map(({ name }) => name);

describe('the picture is made gray by', () => {
  test.each([
    'make it gray',
    'Make it grey, please.',
    'gray',
    'GREY',
    'in gray',
    'to grey',
    'turn the photo gray',
    'convert this image to gray',
    'the same picture in grey',
    'make it all gray and pixelated',
    'grayscale',
    'greyscale',
    'grey-scale it',
    'black & white',
    'black and white',
    'black-and-white',
    'b&w',
    'shades of grey',
    'remove the colour',
    'remove the colors',
    'Remove all the colours from it',
    'without colour',
    'take away all of the colors',
  ])('%s', (instruction) => {
    expect(names(instruction)).toEqual(['grayscale']);
  });

  test.each([
    'add a gray cat',
    'make it a gray cat',
    'a man in a grey coat',
    'remove the gray cat',
    'remove the colour cast',
    'remove the sign',
    'make the sky blue',
    'greyhound',
  ])('but not by: %s', (instruction) => {
    expect(names(instruction)).toEqual([]);
  });
});

test.each([
  ['crop', undefined, ['crop to a square from the middle']],
  ['crop it', undefined, ['crop to a square from the middle']],
  ['crop it, then blur', undefined, ['crop to a square from the middle', 'blur']],
  ['crop', '16:9', ['crop to 16:9']],
  ['crop to 4:3', undefined, ['crop to 4:3']],
  ['a 4:3 crop', undefined, ['crop to 4:3']],
  ['crop to 4:3', '16:9', ['crop to 4:3']],
  ['add crops of wheat', undefined, []],
])('%s with the ratio %s: %j', (instruction, aspect, expected) => {
  expect(names(instruction, aspect)).toEqual(expected);
});

describe('the text of the reply tells what was done', () => {
  let gateway: GatewayUnderTest;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close(0));

  const strip = [1, 2].map(() => [red, red, green, blue, white, white].map((pixel) => [...pixel]));
  test.each([
    ['crop', {}, ': crop to a square from the middle.', [2, 2]],
    ['crop', { imageConfig: { aspectRatio: '2:1' } }, ': crop to 2:1.', [2, 4]],
    ['make it gray', {}, ': grayscale.', [2, 6]],
  ])('%s %j', async (instruction, config, told, size) => {
    const json = await edit(gateway, instruction, [{ mimeType: 'image/png', bytes: png(strip) }], config);
    expect(dig(json, 'candidates', 0, 'content', 'parts', 0, 'text')).toContain(told);
    const made = await editPng(gateway, instruction, strip, config);
    expect([made.length, made[0]?.length]).toEqual(size);
  });
});
