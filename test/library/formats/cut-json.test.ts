import { expect, test } from 'vitest';
import { closeCutJson } from '../../../src/library/formats/cut-json.ts';

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
  ['white space of every kind is passed over', '{\t"a"\r\n: 1,\t"b":"c"', { a: 1, b: 'c' }],
  ['open brackets alone', '[{"a":[', [{ a: [] }]],
])('%s', (_, text, expected) => {
  const { json, isWrong } = closeCutJson(text) ?? { json: '', isWrong: true };
  expect([JSON.parse(json), isWrong]).toEqual([expected, false]);
});

test.each([
  ['whole JSON', '{"a":1}'],
  ['HTML', '<html>'],
  ['nothing', ''],
])('leaves %s alone', (_, text) => {
  expect(closeCutJson(text)).toBeUndefined();
});

test('leaves out a character of which some bytes came', () => {
  expect(closeCutJson('{"text":"Zo\uFFFD')).toEqual({ json: '{"text":"Zo"}', isWrong: false });
});

test('at every offset of a reply: JSON that holds a beginning of it, never a cut picture', () => {
  const text = JSON.stringify(whole);
  for (let end = 1; end < text.length; end++) {
    const closed = closeCutJson(text.slice(0, end));
    expect(closed, `cut at ${end}`).toMatchObject({ isWrong: false });
    const data = /"data":"([^"]*)"/.exec(closed?.json ?? '')?.[1];
    expect([undefined, 'QUJD']).toContain(data);
  }
});

test.each([
  ['a word in place of a key', '{malformed json: <<<chaos>>>', {}],
  ['a key in single quotes', "{'a':1", {}],
  ['brackets that do not match', '{"a":[1]}]', undefined],
  ['a bracket of the other kind', '{"a":[1}', { a: [1] }],
  ['a comma without a value', '[1,,', [1]],
  ['a comma in front of the end', '{"a":1,}', { a: 1 }],
  ['a value without its colon', '{"a" 1', {}],
  ['a value without its comma', '{"a":1 "b":2', { a: 1 }],
  ['a value without its key', '{"a":1,2', { a: 1 }],
  ['a line break in a string', '{"a":1,"b":"x\n', { a: 1 }],
  ['an escape that there is not', String.raw`["a","\x`, ['a']],
  ['half an escape with a wrong digit', String.raw`["a","\u00g`, ['a']],
  ['a word that there is not', '[1,nil', [1]],
  ['a word that goes on', '[1,nulls', [1, null]],
  ['a number with a leading zero', '[1,01', [1, 0]],
  ['a number without digits after its point', '[1,2.,', [1, 2]],
  ['a plus sign', '[1,+2', [1]],
  ['text after a value', '{"a":1<html>', { a: 1 }],
])('%s is wrong, and everything before it is kept', (_, text, expected) => {
  const closed = closeCutJson(text);
  expect(closed && { ...closed, json: JSON.parse(closed.json) as unknown }).toEqual(
    expected && { json: expected, isWrong: true },
  );
});

test('accepts every beginning of JSON, and none with a wrong character after it', () => {
  const jsons = [
    '{"a":[1,-2.5e+10,0,0.5E-3,true,false,null,"x\\u00e9\\n\\"",{}],"b":{"c":[]}}',
    ' [ { "a" : [ ] , "b" : { } } , 12 , [ [ ] ] ] ',
  ];
  for (const json of jsons) {
    expect(() => JSON.parse(json) as unknown).not.toThrow();
    for (let end = json.search(/\S/) + 1; end < json.trimEnd().length; end++) {
      expect(closeCutJson(json.slice(0, end)), json.slice(0, end)).toMatchObject({ isWrong: false });
      const wrong = closeCutJson(`${json.slice(0, end)}\u0001`);
      expect(wrong, json.slice(0, end)).toMatchObject({ isWrong: true });
      expect(() => JSON.parse(wrong?.json ?? '') as unknown).not.toThrow();
    }
  }
});
