import { expect, test } from 'vitest';
import { fileWord, slugOf } from '../../src/images/naming.ts';

test.each([
  ['words', 'A red Cat,  sitting!', 'a-red-cat-sitting'],
  ['other scripts', 'Eine Katze über Zürich 猫 кот', 'eine-katze-über-zürich-猫-кот'],
  ['combining marks', 'ca\u0301t', 'cát'],
  ['paths', '../../etc/passwd', 'etc-passwd'],
  ['nothing usable', '!!! \0 ...', 'image'],
  ['nothing', '', 'image'],
  ['a device of Windows', 'NUL', '_nul'],
  ['a port', 'com1', '_com1'],
  ['a name like a device', 'console', 'console'],
  ['emoji', '🐱 cat 🐱', 'cat'],
  ['a flag', '--force', 'force'],
  ['a long prompt', `${'word '.repeat(1000)}`, 'word-word-word-word-word-word-word-word-word-word-word-word'],
  ['long foreign words', '猫'.repeat(100), '猫'.repeat(20)],
  ['a cut at a dash', `${'x'.repeat(59)} y`, 'x'.repeat(59)],
])('makes a name from a prompt: %s', (_name, prompt, expected) => {
  expect(slugOf(prompt)).toBe(expected);
  expect(Buffer.byteLength(slugOf(prompt))).toBeLessThanOrEqual(61);
});

test.each([
  ['models/gemini-2.5-flash', 'models-gemini-2.5-flash'],
  ['..', 'unknown'],
  ['.hidden.', 'hidden'],
  ['aux.1', '_aux.1'],
  ['a b\u202ec', 'a-b-c'],
])('makes a word from %j', (text, expected) => {
  expect(fileWord(text)).toBe(expected);
});
