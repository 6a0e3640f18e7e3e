import { expect, test } from 'vitest';
import { halfBlocks, hasTrueColor } from '../../../src/library/images/preview.ts';
import type { Bitmap } from '../../../src/library/images/pixels/bitmap.ts';

test.each([
  [{ COLORTERM: 'truecolor' }, true],
  [{ COLORTERM: '24bit' }, true],
  [{ TERM: 'xterm-direct' }, true],
  [{ WT_SESSION: 'x' }, true],
  [{ TERM: 'xterm-256color', COLORTERM: '' }, false],
])('%j has 24-bit colour: %s', (env, has) => {
  expect(hasTrueColor(env)).toBe(has);
});

const red = [255, 0, 0, 255];
const blue = [0, 0, 255, 255];
const clear = [9, 9, 9, 0];
const picture = (width: number, ...colors: number[][]): Bitmap => ({
  width,
  height: colors.length / width,
  data: Uint8Array.from(colors.flat()),
});
const large = { columns: 80, rows: 40, trueColor: true };

test('two pixels are one character, the upper in the foreground', () => {
  expect(halfBlocks(picture(1, red, blue), large)).toBe('\u001b[38;2;255;0;0;48;2;0;0;255m▀\u001b[0m\n');
});

test('neighbours of the same colours share a sequence', () => {
  expect(halfBlocks(picture(2, red, red, blue, blue), large)).toBe('\u001b[38;2;255;0;0;48;2;0;0;255m▀▀\u001b[0m\n');
});

test('an odd last row and transparent pixels show the background of the terminal', () => {
  expect(halfBlocks(picture(1, red), large)).toBe('\u001b[38;2;255;0;0;49m▀\u001b[0m\n');
  expect(halfBlocks(picture(1, clear, red), large)).toBe('\u001b[38;2;255;0;0;49m▄\u001b[0m\n');
  expect(halfBlocks(picture(1, clear, clear), large)).toBe('\u001b[0m \u001b[0m\n');
});

test.each([
  [red, '196'],
  [[0, 0, 0, 255], '16'],
  [[255, 255, 255, 255], '231'],
  [[118, 118, 118, 255], '243'],
  [[90, 140, 210, 255], '68'],
])('%j is colour %s of 256', (color, index) => {
  expect(halfBlocks(picture(1, color), { ...large, trueColor: false })).toBe(`\u001b[38;5;${index};49m▀\u001b[0m\n`);
});

test('a larger picture shrinks into its columns and rows, each pixel the mean of those it covers', () => {
  const wide = picture(4, red, blue, clear, red, red, blue, clear, red);
  expect(halfBlocks(wide, { ...large, columns: 2 })).toBe(
    '\u001b[38;2;128;0;128;49m▀\u001b[38;2;255;0;0;49m▀\u001b[0m\n',
  );
  const tall = { width: 100, height: 400, data: new Uint8Array(100 * 400 * 4).fill(255) };
  const lines = halfBlocks(tall, { columns: 80, rows: 10, trueColor: true }).trimEnd().split('\n');
  expect(lines).toHaveLength(10);
  expect(lines[0]).toBe(`\u001b[38;2;255;255;255;48;2;255;255;255m${'▀'.repeat(5)}\u001b[0m`);
});
