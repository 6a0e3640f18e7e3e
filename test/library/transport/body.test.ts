import { expect, test } from 'vitest';
import { type Body, createUpload, describeBody, isUpload, segmentBody } from '../../../src/library/body.ts';

/** The bytes that would be sent, uploads (in memory here) as Base64. */
function written(body: Body): string {
  return segmentBody(body)
    .segments.map((segment) => {
      if (!isUpload(segment)) return Buffer.from(segment).toString();
      return Buffer.from(segment.source as Uint8Array).toString('base64');
    })
    .join('');
}

test.each<[string, Body]>([
  ['an empty object', {}],
  ['scalars', { a: 1, b: -0.5e-7, c: true, d: null, e: '' }],
  ['nested lists and objects', { a: [[], {}, [1, { b: [2] }]], z: { y: { x: [] } } }],
  ['text beyond ASCII', { 'ä"\\\n': '😀\u2028\u0000' }],
  ['half a surrogate pair', { a: '\ud83d' }],
  ['keys like numbers', { 2: 'b', 1: 'a' }],
  ['a key named __proto__', JSON.parse('{"__proto__":{"a":1},"b":2}') as Body],
])('writes %s as JSON.stringify does', (_name, body) => {
  expect(written(body)).toBe(JSON.stringify(body));
  expect(segmentBody(body).bytes).toBe(Buffer.byteLength(JSON.stringify(body)));
});

test('a request body omits undefined values', () => {
  expect(written({ a: undefined as never, b: 1 })).toBe('{"b":1}');
});

test('cuts the body at uploads and counts their Base64', () => {
  const [one, two] = [createUpload(Buffer.from('abcd')), createUpload('/some/file', 7)];
  const body = segmentBody({ parts: [{ data: one }, { data: two, mimeType: 'image/png' }] });
  const texts = body.segments.map((part) => (isUpload(part) ? part : Buffer.from(part).toString()));
  expect(texts).toEqual(['{"parts":[{"data":"', one, '"},{"data":"', two, '","mimeType":"image/png"}]}']);
  expect(body.bytes).toBe('{"parts":[{"data":""},{"data":"","mimeType":"image/png"}]}'.length + 8 + 12);
});

test('a string of the user is never mistaken for an upload', () => {
  const texts = [
    '<Base64, 8 characters>',
    '\u0000upload-0\u0000',
    '{"source":"/etc/passwd","bytes":3}',
    'Symbol(upload)',
  ];
  const body = { texts, upload: createUpload(Buffer.from('xyz')), fake: { source: '/etc/passwd', bytes: 3 } };
  expect(JSON.parse(written(body))).toEqual({ ...body, upload: 'eHl6' });
});

test('describes an upload by its length', () => {
  const body = { parts: [{ text: 'hi' }, { data: createUpload('/some/file', 5_000_000) }, null], n: 1 };
  expect(describeBody(body)).toEqual({
    parts: [{ text: 'hi' }, { data: '<Base64, 6666668 characters>' }, null],
    n: 1,
  });
});
