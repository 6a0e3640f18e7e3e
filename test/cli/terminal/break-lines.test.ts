import { describe, expect, test } from 'vitest';
import { breakCjk, breakLines, asColumn, cutToColumns } from '../../../src/cli/terminal/break-lines.ts';
import { renderMarkdown } from '../../../src/cli/terminal/markdown.ts';

describe('Chinese and Japanese break', () => {
  test.each([
    ['between letters', '三つの名前を考えました', 12, ['三つの名前を', '考えました']],
    ['not before what closes', '名前です「灯台の猫」は', 18, ['名前です「灯台の', '猫」は']],
    ['not after what opens', '名前です「灯台」', 10, ['名前です', '「灯台」']],
    ['not before a full stop', '考えました。次は', 10, ['考えまし', 'た。次は']],
    ['not before a small kana', '少し待って', 6, ['少し', '待って']],
    ['beside words of Latin letters', '使用Node的程序', 8, ['使用Node', '的程序']],
    ['at blanks too', 'Hello 三つの名前', 10, ['Hello 三つ', 'の名前']],
    ['not within an accent of two code points', 'か\u3099か\u3099', 2, ['か\u3099', 'か\u3099']],
  ])('%s', (_, text, width, lines) => {
    expect(breakCjk(text, width).split('\n')).toEqual(lines);
  });

  test('Chinese and Japanese break within colors, which stay', () => {
    const text = renderMarkdown('**三つの名前を** 考えました。', { width: 12, colored: true });
    expect(text).toBe('\u001b[1m三つの名前を\u001b[22m\n考えました。\n');
  });

  test('in the cells of a table', () => {
    const text = renderMarkdown('|a|b|\n|-|-|\n|x|三つの名前です。はい|', {
      width: 17,
      colored: false,
      breaks: true,
    });
    expect(text.split('\n').slice(2)).toEqual(['x  三つの名前で', '   す。はい', '']);
  });

  test('text that is not Chinese or Japanese does not break inside words', () => {
    expect(breakCjk('word word 이름 세 개', 4)).toBe('word word 이름 세 개');
  });
});

describe('lines for a person', () => {
  test.each([
    ['break between words', 'gateway-cli: usage: one two three', 24, ['gateway-cli: usage: one', '  two three']],
    ['are indented below a hint', 'a\n  one two three', 10, ['a', '  one two', '    three']],
    [
      'keep a long word',
      'see https://example.com/a/long/path now',
      20,
      ['see', '  https://example.com/a/long/path', '  now'],
    ],
    ['end after a long word', 'written: /a/very/long/path.md', 12, ['written:', '  /a/very/long/path.md']],
    [
      'keep a command in one piece',
      '  to see them: gateway-cli models --service gemini',
      30,
      ['  to see them:', '    gateway-cli models --service gemini'],
    ],
    [
      'keep what is to be typed in one piece',
      '  run this first: chmod 600 key',
      20,
      ['  run this first:', '    chmod 600 key'],
    ],
    ['that fit stay as they are', '  a: b c', 10, ['  a: b c']],
    ['leave colours as they are', '\u001b[31mred\u001b[39m one two', 8, ['\u001b[31mred\u001b[39m one', '  two']],
  ])('%s', (_, text, columns, lines) => {
    expect(breakLines(text, columns).split('\n')).toEqual(lines);
  });
});

test('a column is as wide as its widest text on the screen', () => {
  expect(asColumn(['trip', '旅行', '👨‍👩‍👧 x', 'e\u0301te'])).toEqual(['trip', '旅行', '👨‍👩‍👧 x', 'e\u0301te ']);
  expect(asColumn([])).toEqual([]);
});

test.each([
  ['a short text', 'trip', 4, 'trip'],
  ['a long one', 'a lighthouse', 6, 'a lig…'],
  ['wide characters', '三つの名前', 6, '三つ…'],
  ['an emoji of several code points', 'ab👨‍👩‍👧cd', 5, 'ab👨‍👩‍👧…'],
  ['one that does not fit', 'ab👨‍👩‍👧cd', 4, 'ab…'],
])('%s is cut to columns without half a character', (_, text, columns, cut) => {
  expect(cutToColumns(text, columns)).toBe(cut);
});
