import { expect, test } from 'vitest';
import { applyFieldChanges, fieldPathText, parseFieldPath, parseFieldChange } from '../../../src/cli/flags/set.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import { createUpload } from '../../../src/library/body.ts';

test.each([
  ['a=1', ['a'], 1],
  ['a.b=x', ['a', 'b'], 'x'],
  [String.raw`a\.b=x`, ['a.b'], 'x'],
  ['list[]=7', ['list', '[]'], 7],
  ['list.0.x={"y":null}', ['list', '0', 'x'], { y: null }],
  ['a=b=c', ['a'], 'b=c'],
  ['a=', ['a'], ''],
  ['a="1"', ['a'], '1'],
])('reads --set %s', (word, path, value) => {
  expect(parseFieldChange(word)).toEqual({ path, value });
});

test.each([['novalue'], ['=x'], ['a..b=1'], ['__proto__.x=1'], ['a.constructor.b=1']])('refuses --set %s', (word) => {
  expect(() => parseFieldChange(word)).toThrow(GatewayError);
});

test.each([
  ['messages[0].content=x', 'messages.0.content=…'],
  ['messages[].content=x', "'messages.[].content'=…"],
  ['a["b"]=x', 'a.b=…'],
  ['a[0].list[]=x', "'a.0.list.[]'=…"],
])('refuses --set %s and says %s', (word, hint) => {
  expect(() => parseFieldChange(word)).toThrow(
    expect.objectContaining({ details: expect.objectContaining({ hint: expect.stringContaining(`--set ${hint}`) }) }),
  );
});

test.each([
  ['sets a field', {}, 'a=1', { a: 1 }],
  ['makes objects on the way', {}, 'a.b.c=1', { a: { b: { c: 1 } } }],
  ['merges objects', { a: { x: 1 } }, 'a={"y":2}', { a: { x: 1, y: 2 } }],
  ['replaces lists', { a: [1] }, 'a=[2]', { a: [2] }],
  ['replaces an item by its number', { a: [1, 2] }, 'a.1=9', { a: [1, 9] }],
  ['appends', { a: [1] }, 'a[]=2', { a: [1, 2] }],
  ['appends an object', { a: [1] }, 'a.[].b=2', { a: [1, { b: 2 }] }],
  ['appends to nothing', {}, 'a[]=2', { a: [2] }],
  ['takes a number for a name where there is no list', {}, 'a.0=1', { a: { 0: 1 } }],
  ['keeps its hands off the prototype', {}, 'a={"__proto__":{"x":1}}', { a: {} }],
])('%s', (_, body, word, expected) => {
  expect(applyFieldChanges(body, [parseFieldChange(word)], [])).toEqual(expected);
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();
});

test('leaves the body it was given alone, and replaces an upload whole', () => {
  const body = { image: createUpload(new Uint8Array([1])) };
  expect(applyFieldChanges(body, [parseFieldChange('image=x')], [])).toEqual({ image: 'x' });
  expect(body.image.bytes).toBe(1);
});

test('refuses what a flag is for, and an index past the end', () => {
  expect(() => applyFieldChanges({}, [parseFieldChange('model=x')], ['model'])).toThrow(/--set cannot change model/);
  expect(() => applyFieldChanges({ a: [1] }, [parseFieldChange('a.5=x')], [])).toThrow(/past its end/);
});

test.each([
  ['text', ['text'], 'text'],
  ['images[0].path', ['images', '0', 'path'], 'images[0].path'],
  ['images.0.path', ['images', '0', 'path'], 'images[0].path'],
  ['answer.a[1][2]', ['answer', 'a', '1', '2'], 'answer.a[1][2]'],
  [String.raw`answer.a\.b`, ['answer', 'a.b'], String.raw`answer.a\.b`],
])('reads --field %s', (word, steps, shown) => {
  expect(parseFieldPath(word, '--field')).toEqual(steps);
  expect(fieldPathText(steps)).toBe(shown);
});

test.each(['', '.', 'a.', 'a..b', 'a[]', 'a[b]', 'a["b"]', '[0'])('refuses --field %j', (word) => {
  expect(() => parseFieldPath(word, '--field')).toThrow(GatewayError);
});
