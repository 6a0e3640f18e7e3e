import { expect, test } from 'vitest';
import { content } from '../../../../src/library/formats/content/format.ts';
import type { JsonObject } from '../../../../src/library/json.ts';
import { eventsOf, foldWhole } from '../accumulating.ts';

interface JoinedCall {
  id: string | undefined;
  name: string;
  input: unknown;
  isWhole: boolean;
}

function join(...calls: JsonObject[]): JoinedCall[] {
  const parts = calls.map((functionCall) => ({ functionCall }));
  const { events } = foldWhole(content, { candidates: [{ content: { parts } }] });
  return eventsOf(events, 'call').map(({ id, name, input, isWhole }) => ({ id, name, input, isWhole }));
}

const at = (jsonPath: string, value: JsonObject): JsonObject => ({ jsonPath, ...value });
const text = (jsonPath: string, stringValue: string, willContinue?: boolean): JsonObject =>
  at(jsonPath, { stringValue, ...(willContinue !== undefined && { willContinue }) });
const part = (...partialArgs: JsonObject[]): JsonObject => ({ partialArgs, willContinue: true });
const whole = (name: string, input: JsonObject, id?: string): JoinedCall => ({ id, name, input, isWhole: true });
const begin = { name: 'f', willContinue: true };

test('values are joined by their paths, and strings are appended (deviation 44)', () => {
  const parts = [
    part(text('$.place.city', 'New ', true)),
    part(text('$.place.city', 'Yo', true), at('$.days', { numberValue: 3 })),
    part(text('$.place.city', 'rk')),
    part(
      at('$.exact', { boolValue: false }),
      at('$.note', { nullValue: null }),
      at('$.none', { nullValue: 'NULL_VALUE' }),
    ),
    part(text('$.list[0].a', 'x'), text('$.list[1].a', 'y'), at("$['a b']", { numberValue: 0 }), text('$["c"]', '')),
  ];
  const input = {
    place: { city: 'New York' },
    days: 3,
    exact: false,
    note: null,
    none: null,
    list: [{ a: 'x' }, { a: 'y' }],
    'a b': 0,
    c: '',
  };
  expect(join(begin, ...parts, {})).toEqual([whole('f', input)]);
});

test.each<[string, JsonObject[], JoinedCall[]]>([
  [
    'a last piece that does not go on ends a call',
    [begin, { partialArgs: [text('$.a', 'x')] }],
    [whole('f', { a: 'x' })],
  ],
  [
    'a name and an id may be repeated in each piece',
    [
      { name: 'f', id: '1', ...part(text('$.a', 'San ', true)) },
      { name: 'f', id: '1', partialArgs: [text('$.a', 'Francisco')], willContinue: false },
    ],
    [whole('f', { a: 'San Francisco' }, '1')],
  ],
  [
    'pieces without a sign that they go on are one call',
    [{ name: 'f', partialArgs: [text('$.a', 'x', true)] }, { partialArgs: [text('$.a', 'y')] }, {}],
    [whole('f', { a: 'xy' })],
  ],
  [
    'two calls of one function are two',
    [begin, part(text('$.a', 'x')), {}, begin, part(text('$.a', 'y')), {}],
    [whole('f', { a: 'x' }), whole('f', { a: 'y' })],
  ],
  [
    'another id begins another call, and the one before it is not whole',
    [
      { name: 'f', id: '1', ...part(text('$.a', 'x')) },
      { name: 'f', id: '2', partialArgs: [text('$.a', 'y')] },
    ],
    [{ ...whole('f', { a: 'x' }, '1'), isWhole: false }, whole('f', { a: 'y' }, '2')],
  ],
  ['a call without arguments', [begin, {}], [whole('f', {})]],
  ['snake case', [{ name: 'f', partial_args: [{ json_path: '$.a', string_value: 'x' }] }], [whole('f', { a: 'x' })]],
  ['an end without a call is nothing', [{}], []],
  ['whole calls stay as they are', [{ name: 'f', args: { a: 1 } }, {}], [whole('f', { a: 1 })]],
])('%s', (_, calls, expected) => {
  expect(join(...calls)).toEqual(expected);
});

test.each<[string, JsonObject[]]>([
  ['only its name came', [begin]],
  ['it goes on', [begin, part(text('$.a', 'x'))]],
  ['a string goes on', [{ name: 'f', partialArgs: [text('$.a', 'x', true)] }]],
  ['its beginning is missing', [part(text('$.a', 'x')), {}]],
  ['a path cannot be read', [begin, part(text('a', 'x')), {}]],
  ['a path is missing', [begin, part({ stringValue: 'x' }), {}]],
  ['a path leads to the root', [begin, part(text('$', 'x')), {}]],
  ['a path ends in the middle', [begin, part(text("$['a", 'x')), {}]],
  ['a path leads through a text', [begin, part(text('$.a', 'x'), text('$.a.b', 'y')), {}]],
  ['a path skips items of a list', [begin, part(text('$.a[99999999]', 'x')), {}]],
  ['a path is deeper than anything', [begin, part(text(`$${'.a'.repeat(5000)}`, 'x')), {}]],
  ['a value is an object', [begin, part(at('$.a', { numberValue: {} })), {}]],
])('a call is not whole where %s', (_, calls) => {
  expect(join(...calls).map(({ isWhole }) => isWhole)).toEqual([false]);
});

test('a path never changes what objects inherit', () => {
  const args = JSON.parse('{"__proto__":{"polluted":"x"}}') as JsonObject;
  expect(JSON.stringify(join({ ...begin, args }, {})[0]?.input)).toBe('{"__proto__":{"polluted":"x"}}');
  const [call] = join(begin, part(text('$.__proto__.polluted', 'x'), text('$.constructor', 'y')), {});
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  expect(JSON.stringify(call?.input)).toBe('{"__proto__":{"polluted":"x"},"constructor":"y"}');
});

test('the pieces of two candidates are not mixed, and a call that has no id gets one for a later turn', () => {
  const of = (...calls: JsonObject[]) => ({ content: { parts: calls.map((functionCall) => ({ functionCall })) } });
  const { events, result } = foldWhole(content, {
    candidates: [of(begin, part(text('$.a', 'x')), {}), of({ ...begin, name: 'g' }, part(text('$.b', 'y')), {})],
  });
  expect(eventsOf(events, 'call')).toMatchObject([
    { candidate: 0, name: 'f', input: { a: 'x' }, isWhole: true },
    { candidate: 1, name: 'g', input: { b: 'y' }, isWhole: true },
  ]);
  expect(result.toolCalls).toEqual([
    { name: 'f', input: { a: 'x' } },
    { name: 'g', input: { b: 'y' } },
  ]);
  expect(result.content).toEqual([{ type: 'tool_use', id: 'call_0', name: 'f', input: { a: 'x' } }]);
});
