import { inflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  halfBlocks,
  hasTrueColor,
  previewForm,
  iterm2Image,
  kittyPixels,
  kittyPng,
} from '../../../src/library/images/preview.ts';
import type { Bitmap } from '../../../src/library/images/pixels/bitmap.ts';

test.each([
  [{ TERM: 'xterm-kitty' }, 'kitty'],
  [{ TERM: 'xterm-256color', KITTY_WINDOW_ID: '1' }, 'kitty'],
  [{ TERM: 'xterm-ghostty' }, 'kitty'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'iTerm.app' }, 'iterm2'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'WezTerm' }, 'iterm2'],
  [{ TERM: 'xterm-256color', LC_TERMINAL: 'iTerm2' }, 'iterm2'],
  [{ TERM: 'xterm-256color' }, 'blocks'],
  [{}, 'blocks'],
  [{ TERM: 'tmux-256color', KITTY_WINDOW_ID: '1', TMUX: '/tmp/tmux,1,0' }, 'blocks'],
  [{ TERM: 'screen.xterm', TERM_PROGRAM: 'iTerm.app', STY: '1.pts' }, 'blocks'],
  [{ TERM: 'dumb' }, 'none'],
  [{ TERM: 'xterm-256color', NO_COLOR: '1' }, 'none'],
  [{ TERM: 'xterm-kitty', NO_COLOR: '1' }, 'kitty'],
])('%j shows pictures as %s', (env, form) => {
  expect(previewForm(env)).toBe(form);
});

test.each([
  [{ COLORTERM: 'truecolor' }, true],
  [{ COLORTERM: '24bit' }, true],
  [{ TERM: 'xterm-direct' }, true],
  [{ WT_SESSION: 'x' }, true],
  [{ TERM: 'xterm-256color', COLORTERM: '' }, false],
])('%j has 24-bit colour: %s', (env, has) => {
  expect(hasTrueColor(env)).toBe(has);
});

test('a small PNG is one Kitty sequence', () => {
  expect(kittyPng(Buffer.from('abc'), { width: 30, height: 30, columns: 10, rows: 40 })).toBe(
    '\u001b_Ga=T,f=100,q=2,c=10,m=0;YWJj\u001b\\\n',
  );
});

test('a larger PNG is cut into pieces of 4096 characters for Kitty', () => {
  const base64 = Buffer.alloc(6145, 7).toString('base64');
  expect(base64).toHaveLength(8196);
  expect(kittyPng(Buffer.alloc(6145, 7), { width: 30, height: 30, columns: 80, rows: 40 })).toBe(
    `\u001b_Ga=T,f=100,q=2,c=80,m=1;${base64.slice(0, 4096)}\u001b\\` +
      `\u001b_Gm=1;${base64.slice(4096, 8192)}\u001b\\\u001b_Gm=0;${base64.slice(8192)}\u001b\\\n`,
  );
});

test('images that are no PNG go to Kitty as deflated pixels', () => {
  const data = Uint8Array.of(1, 2, 3, 255, 4, 5, 6, 255);
  const text = kittyPixels({ width: 2, height: 1, data }, { columns: 5, rows: 3 });
  expect(text.startsWith('\u001b_Ga=T,f=32,s=2,v=1,o=z,q=2,c=5,m=0;')).toBe(true);
  const base64 = text.slice(text.indexOf(';') + 1, text.indexOf('\u001b\\'));
  expect([...inflateSync(Buffer.from(base64, 'base64'))]).toEqual([...data]);
});

test('a picture that would be too high is told its rows instead of its columns', () => {
  const text = kittyPng(Buffer.from('abc'), { width: 30, height: 60, columns: 80, rows: 40 });
  expect(text).toContain('q=2,r=40,');
});

test('iTerm2 gets any picture with its size, and the most columns and rows', () => {
  expect(iterm2Image(Buffer.from('abc'), { columns: 40, rows: 20 })).toBe(
    '\u001b]1337;File=inline=1;size=3;width=40;height=20;preserveAspectRatio=1:YWJj\u0007\n',
  );
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
