import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Base64Decoder } from '../../../src/library/scan/base64.ts';

function decode(pieces: readonly (string | Uint8Array)[]): Buffer {
  const decoder = new Base64Decoder();
  const parts = pieces.map((piece) => Buffer.from(decoder.feed(Buffer.from(piece))));
  return Buffer.concat([...parts, Buffer.from(decoder.end())]);
}

test.each<[string, string, string]>([
  ['padded', 'aGVsbG8gd29ybGQ=', 'hello world'],
  ['padded twice', 'aGVsbG8gd29ybA==', 'hello worl'],
  ['without padding', 'aGVsbG8gd29ybA', 'hello worl'],
  ['no rest', 'aGVsbG8h', 'hello!'],
  ['url-safe', '_-__-_8', '\xff\xef\xff\xfb\xff'],
  ['both alphabets', '_+/_-/8=', '\xff\xef\xff\xfb\xff'],
  ['line breaks', 'aGVs\r\nbG8g\nd29y\r\nbGQ=\r\n', 'hello world'],
  ['blanks in odd places', ' a GVsb\tG8gd29yb A = = ', 'hello worl'],
  ['a data-URL prefix', 'data:image/png;base64,aGVsbG8=', 'hello'],
  ['a prefix with parameters, in capitals', ' DATA:image/png;charset=x;BASE64,aGVsbG8=', 'hello'],
  ['text that begins like a prefix', 'dataaGVs', 'u\xabZhel'],
  ['text that ends like the start of one', 'dat', 'u\xab'],
  ['nothing', '', ''],
  ['white space only', ' \n', ''],
])('decodes Base64: %s, cut anywhere', (_name, text, expected) => {
  expect(decode([text]).toString('latin1')).toBe(expected);
  expect(decode([...text]).toString('latin1')).toBe(expected);
  for (let at = 0; at < text.length; at++) {
    expect(decode([text.slice(0, at), text.slice(at)]).toString('latin1')).toBe(expected);
  }
});

test.each([
  ['a foreign character', 'aGVs*G8=', '0x2a'],
  ['a foreign character at the end', 'aGVsbG8*', '0x2a'],
  ['a byte beyond ASCII', 'aGVs\xe9G8=', '0x'],
  ['NUL', 'aGVs\0bG8', '0x00'],
  ['data after padding', 'aGVsbG8=AAAA', 'after its padding'],
  ['one character too many', 'aGVsbG8gd', 'middle of a group'],
  ['one character', 'a', 'middle of a group'],
  ['too much padding', 'aGVsbG8==', 'padding'],
  ['three pads', 'aGVsbA===', '0x3d'],
  ['padding of nothing', 'aGVs=', 'padding'],
  ['only padding', '==', 'padding'],
  ['a prefix without Base64', 'data:image/png,aGVs', 'without Base64'],
  ['a prefix without data', 'data:image/png', 'without data'],
  ['an endless prefix', `data:${'x'.repeat(600)}`, 'is not one'],
])('refuses %s, cut anywhere', (_name, text, reason) => {
  const error = expect.objectContaining({
    class: 'bad-reply',
    billed: 'yes',
    message: expect.stringContaining(reason),
  });
  expect(() => decode([text])).toThrow(error);
  for (let at = 1; at < text.length; at++) expect(() => decode([text.slice(0, at), text.slice(at)])).toThrow(error);
});

/** Why a text is refused; '' if it is not. */
function refusalOf(text: Uint8Array): string {
  try {
    decode([text]);
    return '';
  } catch (error) {
    return String(error);
  }
}

test('finds an invalid byte at any position of a long text', () => {
  const text = Buffer.from(Buffer.alloc(3000, 7).toString('base64'));
  const missed: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const broken = Buffer.from(text);
    broken[at] = 0x2e;
    if (!refusalOf(broken).includes('0x2e')) missed.push(at);
  }
  expect(missed).toEqual([]);
});

test('decodes the output of Node, cut anywhere', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), fc.boolean(), fc.array(fc.nat(120)), (bytes, url, cuts) => {
      const text = Buffer.from(bytes).toString(url ? 'base64url' : 'base64');
      const pieces: string[] = [];
      let at = 0;
      for (const cut of cuts) pieces.push(text.slice(at, (at += cut)));
      expect(decode([...pieces, text.slice(at)])).toEqual(Buffer.from(bytes));
    }),
  );
});

test('decodes blocks larger than one step', () => {
  const bytes = Buffer.from(Array.from({ length: 300_001 }, (_, i) => (i * i) & 255));
  expect(decode([bytes.toString('base64')]).equals(bytes)).toBe(true);
  expect(decode([`\n${bytes.toString('base64')}`]).equals(bytes)).toBe(true);
});
