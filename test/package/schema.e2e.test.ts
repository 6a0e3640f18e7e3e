import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startScriptedServer } from '../helpers/scripted-server.ts';
import { shell } from '../helpers/spawn.ts';
import { textReply } from '../helpers/with-server.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const age = { type: 'integer' };

/** In the bundle ajv resolves references by Node's own URL: every way of writing one that a schema of a user may have. */
test.each([
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
])('--schema of the built program follows %s', async (_, schema) => {
  const server = await startScriptedServer();
  server.reply({ body: textReply('{"age":36,"next":{"age":1}}') });
  server.reply({ body: textReply('{"age":"old","next":{"age":"old"}}') });
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'schema.json'), JSON.stringify({ type: 'object', ...schema }));
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'k-123456', GATEWAY_MODEL: 'm' };
  const fits = await shell('node $BIN text hi --schema schema.json', { cwd, env });
  expect(fits).toMatchObject({ code: 0, stderr: '' });
  const misfit = await shell('node $BIN text hi --schema schema.json', { cwd, env });
  await server.close();
  expect(misfit.code).toBe(11);
  expect(misfit.stderr).toContain('/age must be integer');
});

test('a reference to nowhere is exit 2, before anything is sent', async () => {
  const ran = await shell(`echo '{"$ref":"https://example.com/none"}' | node $BIN text hi --offline --schema -`);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('the reference "https://example.com/none" leads to nothing');
});
