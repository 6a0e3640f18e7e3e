import { expect } from 'vitest';
import { run } from '../helpers/run.ts';
import { test, textReply } from '../helpers/with-server.ts';

const age = { type: 'integer' };

/**
 * Schemas are always checked by the built thread, in which ajv resolves references by Node's own URL: every way of writing one that a
 * schema of a user may have.
 */
test.for<[string, object]>([
  ['a pointer', { $defs: { age }, properties: { age: { $ref: '#/$defs/age' } } }],
  ['a pointer with escapes', { $defs: { 'a/b c~': age }, properties: { age: { $ref: '#/$defs/a~1b%20c~0' } } }],
  ['an anchor', { $defs: { x: { $anchor: 'age', ...age } }, properties: { age: { $ref: '#age' } } }],
  ['a name without a base', { $defs: { x: { $id: 'age.json', ...age } }, properties: { age: { $ref: 'age.json' } } }],
  [
    'a name beside an absolute base',
    {
      $id: 'https://example.com/a/root.json',
      $defs: { x: { $id: '../age.json', ...age } },
      properties: { age: { $ref: 'https://example.com/age.json' } },
    },
  ],
  [
    'a name with a pointer after it',
    {
      $id: 'https://example.com/r',
      $defs: { x: { $id: 'd', $defs: { age } } },
      properties: { age: { $ref: 'd#/$defs/age' } },
    },
  ],
  ['a URN', { $defs: { x: { $id: 'urn:example:age', ...age } }, properties: { age: { $ref: 'urn:example:age' } } }],
  ['itself', { properties: { age, next: { $ref: '#' } } }],
])('--schema follows %s', async ([, schema], { server, cli }) => {
  server.reply({ body: textReply('{"age":36,"next":{"age":1}}') });
  server.reply({ body: textReply('{"age":"old","next":{"age":"old"}}') });
  const argv = ['text', 'hi', '--schema', JSON.stringify({ type: 'object', ...schema })];
  expect(await cli(argv)).toMatchObject({ code: 0, stderr: '' });
  const misfit = await cli(argv);
  expect(misfit.code).toBe(11);
  expect(misfit.stderr).toContain('/age must be integer');
});

test('a reference to nowhere is exit 2, before anything is sent', async () => {
  const ran = await run(['text', 'hi', '--offline', '--schema', '{"$ref":"https://example.com/none"}']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('the reference "https://example.com/none" leads to nothing');
});
