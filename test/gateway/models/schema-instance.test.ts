import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { instanceOf } from '../../../src/gateway/models/schema-instance.ts';
import type { JsonObject } from '../../../src/json.ts';

const source = { seed: 'seed', optional: true };
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const formats = {
  uuid,
  date: /^\d{4}-\d{2}-\d{2}$/,
  'date-time': /^\d{4}-\d{2}-\d{2}T[\d:]+Z$/,
  email: /^[^@\s]+@[^@\s]+$/,
};

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

describe('instanceOf makes a value that a validator accepts', () => {
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
    const value = instanceOf(schema, source);
    const validate = new Ajv2020({ strict: false, formats }).compile(schema);
    expect([validate(value), validate.errors, value]).toEqual([true, null, value]);
  });

  it('reads the OpenAPI form with types in capitals', () => {
    const schema = {
      type: 'OBJECT',
      properties: { city: { type: 'STRING' }, days: { type: 'ARRAY', items: { type: 'INTEGER' }, minItems: '3' } },
    };
    expect(instanceOf(schema, source)).toEqual({
      city: 'example city',
      days: [expect.any(Number), expect.any(Number), expect.any(Number)],
    });
  });

  it('ends, whatever the references do', () => {
    expect(instanceOf({ $ref: '#' }, source)).toBeDefined();
    expect(instanceOf({ type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }, source)).toHaveProperty(
      'a.a.a',
    );
    expect(instanceOf({ $ref: 'https://example.com/schema' }, source)).toBeDefined();
  });

  const patterns = [
    '^[A-Z]{3}-\\d+$',
    '^(a+)+$',
    '^(?:yes|no)\\.?$',
    '^#[0-9a-fA-F]{6}$',
    '^\\d{4}-\\d{2}(-\\d{2})?$',
    '^[\\w.+-]+@[\\w-]+\\.[a-z]{2,}$',
    '^(?<major>\\d+)\\.x*?$',
    '^/[^/]*$|^x$',
    '(?!a)b',
    '^(a)\\1$',
  ];
  it.each(patterns)('reads the pattern %j, or leaves it', (pattern) => {
    const value = String(instanceOf({ type: 'string', pattern }, source));
    expect(value === 'example value' || new RegExp(pattern, 'u').test(value), value).toBe(true);
  });

  it('makes optional properties only on request', () => {
    const schema = { type: 'object', properties: { a: { type: 'boolean' }, b: {} }, required: ['a'] };
    expect(instanceOf(schema, { ...source, optional: false })).toEqual({ a: false });
    expect(instanceOf(schema, source)).toEqual({ a: false, b: 'example b' });
  });
});
