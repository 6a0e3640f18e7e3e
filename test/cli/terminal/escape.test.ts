import { describe, expect, test } from 'vitest';
import { escapeForTerminal, escapeLine, jsonLine } from '../../../src/cli/terminal/escape.ts';

/** Everything a terminal may obey: C0 but tab and newline, DEL, C1. */
const obeyed = [
  ...Array.from({ length: 0x20 }, (_, code) => code),
  ...Array.from({ length: 0x21 }, (_, index) => 0x7f + index),
].filter((code) => code !== 0x09 && code !== 0x0a);

const hostile = [
  ['OSC 52, the clipboard', '\u001b]52;c;ZXZpbA==\u0007', '^[]52;c;ZXZpbA==^G'],
  ['OSC 8, a link', '\u001b]8;;http://x\u001b\\text', '^[]8;;http://x^[\\text'],
  ['CSI, wiping the screen', '\u001b[2J\u001b[H', '^[[2J^[[H'],
  ['DCS', '\u001bP+q544e\u001b\\', '^[P+q544e^[\\'],
  ['CSI in one C1 character', '\u009b2J', 'M-^[2J'],
  ['a line overwritten', 'safe\rEVIL', 'safe^MEVIL'],
  ['backspaces', 'rm\b\bls', 'rm^H^Hls'],
  ['NUL and DEL', '\0\u007f', '^@^?'],
  ['a bidi override', 'a\u202eb\u2066c\u200f', 'a<U+202E>b<U+2066>c<U+200F>'],
] as const;

describe('escapeForTerminal', () => {
  test.each(hostile)('shows %s', (_name, text, expected) => {
    expect(escapeForTerminal(text)).toBe(expected);
  });

  test.each([
    ['words', 'a b'],
    ['tabs and newlines', 'a\tb\n'],
    ['CRLF', 'a\r\nb'],
    ['other scripts', 'Zoë שלום 日本語 👩‍👩‍👧 e\u0301'],
    ['nothing', ''],
  ])('keeps %s', (_name, text) => {
    expect(escapeForTerminal(text)).toBe(text);
  });

  test.each(hostile)('lets nothing of %s through, wherever a stream is split', (_name, text) => {
    for (let cut = 0; cut <= text.length; cut++) {
      const shown = escapeForTerminal(text.slice(0, cut)) + escapeForTerminal(text.slice(cut));
      expect(obeyed.filter((code) => shown.includes(String.fromCharCode(code)))).toEqual([]);
    }
  });

  test('every control character is visible, and each looks different', () => {
    const shown = obeyed.map((code) => escapeForTerminal(String.fromCharCode(code)));
    expect(shown.filter((text) => !/^(?:M-)?\^[?-_]$/.test(text))).toEqual([]);
    expect(new Set(shown).size).toBe(obeyed.length);
  });
});

test.each([
  ['line breaks', 'one\r\ntwo\nthree\u2028four', 'one two three four'],
  ['tabs', 'a\tb', 'a b'],
  ['the ends', '\n a \n', 'a'],
  ['controls', 'a\u001b[1mb\r', 'a^[[1mb'],
])('escapeLine makes one line of %s', (_name, text, expected) => {
  expect(escapeLine(text)).toBe(expected);
});

test.each([
  ['C1 controls', '\u009b31m\u0085', String.raw`"\u009b31m\u0085"`],
  ['DEL', '\u007f', String.raw`"\u007f"`],
  ['bidirectional controls', '\u202eabc\u2066\u061c', String.raw`"\u202eabc\u2066\u061c"`],
  ['line separators', '\u2028\u2029', String.raw`"\u2028\u2029"`],
  ['a command of the runner', '###[set-output]', String.raw`"###\u005bset-output]"`],
  ['C0 controls, as JSON does', '\u001b[2J', String.raw`"\u001b[2J"`],
])('%s are escaped and mean the same', (_name, text, expected) => {
  expect(jsonLine(text)).toBe(`${expected}\n`);
  expect(JSON.parse(jsonLine({ [text]: [text] }))).toEqual({ [text]: [text] });
});

test('text without control characters stays as it is', () => {
  expect(jsonLine({ a: 'é 日本 😀 ## [x] #[', b: undefined })).toBe('{"a":"é 日本 😀 ## [x] #["}\n');
});
