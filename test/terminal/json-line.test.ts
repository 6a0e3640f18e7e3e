import { expect, test } from 'vitest';
import { jsonLine } from '../../src/terminal/escape.ts';

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

test('other text stays as it is', () => {
  expect(jsonLine({ a: 'é 日本 😀 ## [x] #[', b: undefined })).toBe('{"a":"é 日本 😀 ## [x] #["}\n');
});
