import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { createInstance } from '../../../src/gateway/models/schema-instance.ts';
import type { JsonObject } from '../../../src/library/json.ts';

const source = { optional: true };
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const formats = {
  uuid,
  date: /^\d{4}-\d{2}-\d{2}$/,
  'date-time': /^\d{4}-\d{2}-\d{2}T[\d:]+Z$/,
  email: /^[^@\s]+@[^@\s]+$/,
};

const ajv = new Ajv2020({ strict: false, formats });

const tree: JsonObject = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
      required: ['name', 'children'],
      additionalProperties: false,
    },
  },
};

/** The linked list of OpenAI's documents of structured outputs. */
const linkedList: JsonObject = {
  type: 'object',
  properties: { linked_list: { $ref: '#/$defs/linked_list_node' } },
  $defs: {
    linked_list_node: {
      type: 'object',
      properties: {
        value: { type: 'number' },
        next: { anyOf: [{ $ref: '#/$defs/linked_list_node' }, { type: 'null' }] },
      },
      additionalProperties: false,
      required: ['next', 'value'],
    },
  },
  additionalProperties: false,
  required: ['linked_list'],
};

/** A tree whose branches are all required, as strict schemas want it. */
function branching(branch: JsonObject): JsonObject {
  return {
    type: 'object',
    properties: { value: { type: ['null', 'integer'] }, left: branch, right: branch },
    required: ['value', 'left', 'right'],
    additionalProperties: false,
  };
}

describe('createInstance makes a value that a validator accepts', () => {
  const rows: [name: string, schema: JsonObject][] = [
    ['anything', {}],
    [
      'every type',
      {
        type: 'object',
        properties: Object.fromEntries(
          ['string', 'integer', 'number', 'boolean', 'null', 'array', 'object'].map((type) => [type, { type }]),
        ),
      },
    ],
    ['required without properties', { type: 'object', required: ['a', 'b'] }],
    [
      'closed objects',
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
    ],
    [
      'enum and const',
      { type: 'object', properties: { a: { enum: [3, 4] }, b: { const: { deep: [1] } } }, required: ['a', 'b'] },
    ],
    ['lengths', { type: 'string', minLength: 20, maxLength: 22 }],
    ['short strings', { type: 'string', maxLength: 2 }],
    ['formats', { type: 'array', minItems: 1, items: { type: 'string', format: 'uuid' } }],
    [
      'dates',
      {
        type: 'object',
        properties: { a: { type: 'string', format: 'date' }, b: { type: 'string', format: 'date-time' } },
        required: ['a', 'b'],
      },
    ],
    ['email', { type: 'string', format: 'email' }],
    ['bounds', { type: 'integer', minimum: 7, maximum: 7 }],
    ['exclusive bounds', { type: 'integer', exclusiveMinimum: 7, exclusiveMaximum: 9 }],
    ['exclusive bounds of numbers', { type: 'number', exclusiveMinimum: 0, maximum: 1 }],
    ['negative bounds', { type: 'integer', maximum: -100 }],
    ['a narrow range', { type: 'number', minimum: 0.2, maximum: 0.3 }],
    ['list lengths', { type: 'array', items: { type: 'integer' }, minItems: 3, maxItems: 3 }],
    ['empty lists', { type: 'array', items: { type: 'integer' }, maxItems: 0 }],
    ['tuples', { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false, minItems: 2 }],
    ['type lists', { type: ['null', 'integer'] }],
    [
      'anyOf',
      { anyOf: [{ type: 'null' }, { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }] },
    ],
    [
      'oneOf',
      {
        type: 'object',
        oneOf: [
          { properties: { a: { const: 1 } }, required: ['a'] },
          { required: ['b'], properties: { a: { const: 2 } } },
        ],
      },
    ],
    [
      'allOf',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
          { properties: { b: { type: 'string' } }, required: ['b'] },
        ],
      },
    ],
    ['references that go round', tree],
    ['a linked list', linkedList],
    ['a tree with branches that may be null', branching({ anyOf: [{ $ref: '#' }, { type: 'null' }] })],
    ['a tree with branches that may be texts', branching({ oneOf: [{ $ref: '#' }, { type: 'string' }] })],
    ['a tree with lists of branches', branching({ type: 'array', items: { $ref: '#' } })],
    ['a list of some length in a list', { type: 'array', minItems: 3, items: { type: 'array', minItems: 500 } }],
    [
      'references to names with slashes and tildes',
      {
        type: 'object',
        properties: { a: { $ref: '#/$defs/a~1b~1c' }, b: { $ref: '#/$defs/m~0n~0o' }, c: { $ref: '#/$defs/~01' } },
        required: ['a', 'b', 'c'],
        $defs: { 'a/b/c': { type: 'integer' }, 'm~n~o': { type: 'boolean' }, '~1': { type: 'null' } },
      },
    ],
    [
      'a name like __proto__',
      {
        type: 'object',
        properties: JSON.parse('{"__proto__":{"type":"integer"}}') as JsonObject,
        required: ['__proto__'],
      },
    ],
  ];
  it.each(rows)('%s', (_, schema) => {
    const value = createInstance(schema, source);
    const validate = ajv.compile(schema);
    expect([validate(value), validate.errors, value]).toEqual([true, null, value]);
  });

  it('reads the OpenAPI form with types in capitals', () => {
    const schema = {
      type: 'OBJECT',
      properties: { city: { type: 'STRING' }, days: { type: 'ARRAY', items: { type: 'INTEGER' }, minItems: '3' } },
    };
    expect(createInstance(schema, source)).toEqual({
      city: 'example city',
      days: [expect.any(Number), expect.any(Number), expect.any(Number)],
    });
  });

  it('ends, whatever the references do', () => {
    expect(createInstance({ $ref: '#' }, source)).toBeDefined();
    expect(createInstance({ type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }, source)).toEqual({
      a: null,
    });
    expect(createInstance({ $ref: 'https://example.com/schema' }, source)).toBeDefined();
  });

  const endless: [name: string, schema: JsonObject][] = [
    ['branches without an end', branching({ $ref: '#' })],
    ['choices of choices', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }],
    ['parts of parts', { allOf: [{ $ref: '#' }, { $ref: '#' }] }],
    ['a billion items', { type: 'array', minItems: 1e9, items: { type: 'array', minItems: 1e9 } }],
    ['long texts in long lists', { type: 'array', minItems: 1000, items: { type: 'string', minLength: 1e9 } }],
  ];
  it.each(endless)('keeps the value in bounds for %s', (_, schema) => {
    expect(JSON.stringify(createInstance(schema, source)).length).toBeLessThan(20_000_000);
  });

  it('makes optional properties only on request', () => {
    const schema = { type: 'object', properties: { a: { type: 'boolean' }, b: {} }, required: ['a'] };
    expect(createInstance(schema, { optional: false })).toEqual({ a: false });
    expect(createInstance(schema, source)).toEqual({ a: false, b: 'example b' });
  });
});
