import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { shellWord } from '../../src/library/shell-word.ts';

test.each([
  ['notes.txt', 'notes.txt'],
  ['a b', "'a b'"],
  ['', "''"],
  ["it's", String.raw`'it'\''s'`],
  ['$(rm -rf ~)', "'$(rm -rf ~)'"],
  ['-x', "'-x'"],
  // zsh looks for a command of that name.
  ['=ls', "'=ls'"],
  ['a=b', 'a=b'],
  ['👩‍🚀', "'👩‍🚀'"],
  ["a\nb\u001b'\\", String.raw`$'a\x0ab\x1b\'\\'`],
  ['\u202eexe', String.raw`$'\xe2\x80\xaeexe'`],
])('%j is written %s', (text, word) => {
  expect(shellWord(text)).toBe(word);
});

test('a shell reads the same text again, also after a name and =', () => {
  const texts = fc.array(
    fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '')),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(texts, (list) => {
      const script = list.map((text) => `x=${shellWord(text)}; printf '%s\\0' "$x" ${shellWord(text)}`).join('\n');
      const read = execFileSync('bash', ['--norc', '-c', script], {
        env: {},
        stdio: ['ignore', 'pipe', 'inherit'],
      }).toString();
      expect(read).toBe(
        list
          .flatMap((text) => [text, text])
          .map((text) => `${text}\0`)
          .join(''),
      );
    }),
    { numRuns: 20 },
  );
});
