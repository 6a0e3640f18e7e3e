import { expect, test } from 'vitest';
import { closeCutJson } from '../../src/formats/cut-json.ts';

const whole = {
  candidates: [
    { content: { parts: [{ text: 'one "two" \\ three\n' }, { inlineData: { mimeType: 'image/png', data: 'QUJD' } }] } },
  ],
};

test.each([
  ['a number that was cut', '{"a":1,"b":2', { a: 1 }],
  ['a key that was cut', '{"a":1,"bc', { a: 1 }],
  ['prose is kept as far as it came', '{"parts":[{"text":"one tw', { parts: [{ text: 'one tw' }] }],
  ['an escape that was cut is dropped', String.raw`{"text":"a\u00e`, { text: 'a' }],
  ['a whole escape is kept', String.raw`{"text":"a\\`, { text: 'a\\' }],
  ['a value whose comma is missing is kept', '{"a":1,"b":"c"', { a: 1, b: 'c' }],
  ['a text of a list is kept', '{"a":["b"', { a: ['b'] }],
  ['Base64 is kept only whole', '{"mimeType":"image/png","data":"QUJ', { mimeType: 'image/png' }],
  ['a picture in prose is kept only whole', '{"text":"see ![x](data:image/png;base64,QUJ', { text: 'see ' }],
  ['open brackets alone', '[{"a":[', [{ a: [] }]],
])('%s', (_, text, expected) => {
  expect(JSON.parse(closeCutJson(text) as string)).toEqual(expected);
});

test.each([
  ['whole JSON', '{"a":1}'],
  ['HTML', '<html>'],
  ['nothing', ''],
  ['brackets that do not match', '{"a":]'],
])('leaves %s alone', (_, text) => {
  expect(closeCutJson(text)).toBeUndefined();
});

test('at every offset of a reply: JSON that holds a beginning of it, never a cut picture', () => {
  const text = JSON.stringify(whole);
  for (let end = 1; end < text.length; end++) {
    const closed = closeCutJson(text.slice(0, end));
    expect(closed, `cut at ${end}`).toBeDefined();
    const data = /"data":"([^"]*)"/.exec(closed as string)?.[1];
    expect([undefined, 'QUJD']).toContain(data);
  }
});
