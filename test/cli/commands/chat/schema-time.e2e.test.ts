import { expect, test } from 'vitest';
import { compileSchema } from '../../../../src/cli/input/schema.ts';
import type { JsonValue } from '../../../../src/library/json.ts';

const endless = { pattern: '^(a+)+$' };
const endlessAnswer = `"${'a'.repeat(60)}b"`;
const branch = { type: 'array', items: { $ref: '#' }, minItems: 1 };

const costly: [name: string, schema: JsonValue, answer: string][] = [
  ['a pattern', endless, endlessAnswer],
  ['branches that hold themselves', { anyOf: [branch, branch, { type: 'integer' }] }, '['.repeat(40) + ']'.repeat(40)],
  [
    'the comparison of all items',
    { uniqueItems: true },
    JSON.stringify(Array.from({ length: 60_000 }, (_, at) => ({ at: [at] }))),
  ],
];

test.for(costly)('a check of %s ends at its limit', async ([, schema, answer]) => {
  await compileSchema(schema);
  const check = await compileSchema(schema, { limitMs: 1500 });
  const checking = check(answer, new AbortController().signal);
  await expect(checking).rejects.toThrow('not checked against the schema: it took longer than 1.5 s');
});

test('a signal ends a check, and the next answer is checked', async () => {
  const endless = await compileSchema({ pattern: '^(a+)+$' });
  const ending = new AbortController();
  const checking = endless(`"${'a'.repeat(60)}b"`, ending.signal);
  const next = endless('"aa"', new AbortController().signal);
  ending.abort(new Error('SIGINT'));
  await expect(checking).rejects.toThrow('SIGINT');
  expect(await next).toEqual({ json: '"aa"', value: 'aa' });
});

test('the end of the time, or a signal, ends the compiling of a schema, and the next one is compiled', async () => {
  const own = { properties: { a: { pattern: '^a+$' }, b: { anyOf: [{ type: 'number' }, { type: 'string' }] } } };
  const large = { properties: Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`p${n}`, own])) };
  for (const reason of [new Error('SIGINT'), new DOMException('the time is over', 'TimeoutError')]) {
    const ending = new AbortController();
    const compiling = compileSchema(large, { signal: ending.signal });
    ending.abort(reason);
    await expect(compiling).rejects.toBe(reason);
  }
  const check = await compileSchema({ type: 'integer' });
  expect(await check('1', new AbortController().signal)).toEqual({ json: '1', value: 1 });
});
