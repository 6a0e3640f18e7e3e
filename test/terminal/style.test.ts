import { describe, expect, test } from 'vitest';
import { createStyle, wantsColor } from '../../src/terminal/output.ts';

describe('wantsColor', () => {
  test.each([
    ['a terminal', true, {}, undefined, true],
    ['a pipe', false, {}, undefined, false],
    ['a dumb terminal', true, { TERM: 'dumb' }, undefined, false],
    ['NO_COLOR', true, { NO_COLOR: '1' }, undefined, false],
    ['an empty NO_COLOR', true, { NO_COLOR: '' }, undefined, true],
    ['--no-color', true, { FORCE_COLOR: '1' }, false, false],
    ['FORCE_COLOR into a pipe', false, { FORCE_COLOR: '1' }, undefined, true],
    ['FORCE_COLOR in a dumb terminal', true, { FORCE_COLOR: '3', TERM: 'dumb' }, true, true],
    ['FORCE_COLOR=0', true, { FORCE_COLOR: '0' }, undefined, false],
    ['FORCE_COLOR=false', true, { FORCE_COLOR: 'false' }, undefined, false],
    ['an empty FORCE_COLOR', false, { FORCE_COLOR: '' }, undefined, false],
    ['both', true, { NO_COLOR: '1', FORCE_COLOR: '1' }, undefined, false],
  ] as const)('%s', (_name, isTTY, env, color, expected) => {
    expect(wantsColor({ isTTY, env, color })).toBe(expected);
  });
});

describe('createStyle', () => {
  test('dresses text where there is colour', async () => {
    const style = createStyle({ isTTY: true, env: {} });
    const dressed = await Promise.all([
      style.warning('a'),
      style.failure('b'),
      style.success('c'),
      style.faint('d'),
      style.strong('e'),
    ]);
    expect(dressed).toEqual([
      '\u001b[33ma\u001b[39m',
      '\u001b[31mb\u001b[39m',
      '\u001b[32mc\u001b[39m',
      '\u001b[2md\u001b[22m',
      '\u001b[1me\u001b[22m',
    ]);
  });

  test('leaves text alone where there is none', async () => {
    const style = createStyle({ isTTY: false, env: {} });
    expect(
      await Promise.all([
        style.warning('a'),
        style.failure('b'),
        style.success('c'),
        style.faint('d'),
        style.strong('e'),
      ]),
    ).toEqual([...'abcde']);
  });
});
