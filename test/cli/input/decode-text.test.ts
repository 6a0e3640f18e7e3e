import { expect, test } from 'vitest';
import { decodeText } from '../../../src/cli/input/input-files.ts';

test('keeps every character but a byte order mark', () => {
  expect(decodeText(Buffer.from('\uFEFFä\r\n\u{1F600}\uFFFD'), 'stdin')).toBe('ä\r\n\u{1F600}\uFFFD');
});

test.each([
  ['the first byte', [0xff, 0x20], 0, 'convert it to UTF-8'],
  ['half a character at the end', [0x61, 0xc3], 1, 'convert it to UTF-8'],
  ['a character that only looks invalid before it', [0xef, 0xbf, 0xbd, 0x61, 0x80], 4, 'convert it to UTF-8'],
  ['a byte order mark before it', [0xef, 0xbb, 0xbf, 0x61, 0xff], 4, 'convert it to UTF-8'],
  ['UTF-16, little end first', [0xff, 0xfe, 0x61, 0x00], 0, 'it looks like UTF-16'],
  ['UTF-16, big end first', [0xfe, 0xff, 0x00, 0x61], 0, 'it looks like UTF-16'],
  ['almost UTF-16', [0xfe, 0xfe, 0x00, 0x61], 0, 'convert it to UTF-8'],
  ['almost UTF-16 the other way', [0xff, 0xff, 0x00, 0x61], 0, 'convert it to UTF-8'],
])('names the place of %s', (_name, bytes, offset, hint) => {
  expect(() => decodeText(Uint8Array.from(bytes), 'the file')).toThrow(
    expect.objectContaining({
      class: 'usage',
      message: `the file is not UTF-8 text: invalid byte at offset ${offset}`,
      details: expect.objectContaining({ hint: expect.stringContaining(hint) }),
    }),
  );
});
