import { describe, expect, test } from 'vitest';
import { createStyle, wantsColor } from '../../../src/cli/terminal/style.ts';

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
    ['CLICOLOR=0', true, { CLICOLOR: '0' }, undefined, false],
    ['CLICOLOR=1 in a pipe', false, { CLICOLOR: '1' }, undefined, false],
    ['CLICOLOR_FORCE into a pipe', false, { CLICOLOR_FORCE: '1', CLICOLOR: '0' }, undefined, true],
    ['CLICOLOR_FORCE=0 on a terminal', true, { CLICOLOR_FORCE: '0' }, undefined, true],
    ['NO_COLOR before CLICOLOR_FORCE', true, { NO_COLOR: '1', CLICOLOR_FORCE: '1' }, undefined, false],
    ['FORCE_COLOR=0 before CLICOLOR_FORCE', true, { FORCE_COLOR: '0', CLICOLOR_FORCE: '1' }, undefined, false],
    ['both', true, { NO_COLOR: '1', FORCE_COLOR: '1' }, undefined, false],
  ] as const)('%s', (_name, isTTY, env, color, expected) => {
    expect(wantsColor({ isTTY, env, color })).toBe(expected);
  });
});

describe('createStyle', () => {
  test('adds styles to text with colour', async () => {
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

  test('does not change text without colour', async () => {
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
