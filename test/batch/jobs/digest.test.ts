import { expect, test } from 'vitest';
import { addHash, digestRequest, hashId, toHex } from '../../../src/batch/digest.ts';
import { createUpload } from '../../../src/body.ts';

test('the hash of an id is 16 hex digits, and their sum does not depend on the order', () => {
  expect(toHex(hashId('x'))).toMatch(/^[0-9a-f]{16}$/);
  const sum = (...ids: string[]) => ids.reduce((all, id) => addHash(all, hashId(id)), { high: 0, low: 0 });
  expect(sum('a', 'b', 'c')).toEqual(sum('c', 'a', 'b'));
  expect(sum('a', 'b')).not.toEqual(sum('a', 'c'));
});

test('the digest does not depend on the order of keys, and on nothing else', async () => {
  const digest = (body: object, path = '/p') =>
    digestRequest({ path, body: body as never }).then(({ digest: hex }) => hex);
  const first = await digest({ a: 1, b: { c: [1, 2], d: 'x' } });
  expect(first).toMatch(/^[0-9a-f]{16}$/);
  expect(await digest({ b: { d: 'x', c: [1, 2] }, a: 1 })).toBe(first);
  expect(await digest({ a: 1, b: { c: [2, 1], d: 'x' } })).not.toBe(first);
  expect(await digest({ a: 1, b: { c: [1, 2], d: 'x' } }, '/q')).not.toBe(first);
});

test('the digest knows files by their content', async () => {
  const digest = (text: string) =>
    digestRequest({ path: '/p', body: { data: createUpload(Buffer.from(text)) } }).then(({ digest: hex }) => hex);
  expect(await digest('one')).toBe(await digest('one'));
  expect(await digest('one')).not.toBe(await digest('two'));
});
