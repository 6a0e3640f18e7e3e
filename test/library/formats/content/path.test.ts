import { describe, expect, test } from 'vitest';
import { assert, property } from 'fast-check';
import { contentPath, modelSegment } from '../../../../src/library/formats/content/format.ts';
import { GatewayError } from '../../../../src/library/errors.ts';
import { anyText } from '../../../helpers/any-text.ts';

describe('modelSegment', () => {
  test.each([
    ['a plain name', 'gemini-2.5-flash', 'gemini-2.5-flash'],
    ['a leading models/', 'models/gemini-2.5-flash', 'gemini-2.5-flash'],
    ['a name with a slash', 'google/gemini', 'google%2Fgemini'],
    ['a colon', 'ft:gpt', 'ft%3Agpt'],
    ['a blank', 'my model', 'my%20model'],
    ['an escape that is part of the name', '%2e%2e', '%252e%252e'],
    ['dots inside a name', 'v1..2', 'v1..2'],
    ['other alphabets', 'модель', '%D0%BC%D0%BE%D0%B4%D0%B5%D0%BB%D1%8C'],
  ])('encodes %s', (_, model, expected) => {
    expect(modelSegment(model)).toBe(expected);
  });

  test.each([
    ['an empty name', ''],
    ['models/ alone', 'models/'],
    ['..', '..'],
    ['.', '.'],
    ['.. after models/', 'models/..'],
    ['.. within a path', '../../x'],
    ['.. after a backslash', 'a\\..\\b'],
    ['a query', 'x?y'],
    ['a fragment', 'x#y'],
    ['a line break', 'x\ny'],
    ['NUL', 'x\0y'],
    ['DEL', 'x\u007Fy'],
    ['a C1 control character', 'x\u0085y'],
    ['half a surrogate pair', 'x\uD800'],
  ])('%s is refused', (_, model) => {
    expect(() => modelSegment(model)).toThrow(expect.objectContaining({ class: 'usage', exitCode: 2 }));
  });

  test('gives one path segment under the prefix for any name that it takes', () => {
    assert(
      property(anyText, (model) => {
        const path = pathOrRefusal(model);
        if (path === undefined) return;
        const url = new URL(path, 'https://gateway.test');
        expect(url.pathname).toBe(path);
        expect(url.pathname.split('/')).toHaveLength(4);
        expect(url.search + url.hash).toBe('');
      }),
    );
  });
});

test('contentPath is the path of the operation', () => {
  expect(contentPath('models/a/b')).toBe('/v1beta/models/a%2Fb:generateContent');
});

function pathOrRefusal(model: string): string | undefined {
  try {
    return contentPath(model);
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}
