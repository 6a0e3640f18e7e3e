import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { eventStream, messageEvents, test, textReply } from '../../helpers/with-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: { name: { type: 'string' }, born: { type: 'integer' }, kind: { enum: ['a', 'b'] } },
  required: ['name', 'born'],
  additionalProperties: false,
};

function folder(content: unknown = schema): string {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 's.json'), typeof content === 'string' ? content : JSON.stringify(content));
  return cwd;
}

/** Both commands, with a reply of each holding the text. */
const commands = [
  ['text', (text: string) => textReply(text)],
  ['chat', (text: string) => eventStream(...messageEvents(text))],
] as const;

for (const [command, replyWith] of commands) {
  const run = [command, 'Ada', '--schema', 's.json'];

  test(`${command} --schema prints an answer that fits`, async ({ server, cli }) => {
    server.reply({ body: replyWith('{"name":"Ada","born":1815}') });
    const ran = await cli(run, { cwd: folder() });
    expect(ran).toMatchObject({ code: 0, stdout: '{"name":"Ada","born":1815}\n', stderr: '' });
    const body = server.requests[0]?.json();
    if (command === 'text')
      expect(body).toMatchObject({
        generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema },
      });
    else expect(body).toMatchObject({ output_config: { format: { type: 'json_schema', schema } } });
  });

  test(`${command} --schema names every fault of an answer that does not fit, and is exit 11`, async ({
    server,
    cli,
  }) => {
    server.reply({ body: replyWith('{"born":"1815","kind":"c","age":1}') });
    const ran = await cli(run, { cwd: folder() });
    expect(ran).toMatchObject({ code: 11, stdout: '{"born":"1815","kind":"c","age":1}\n' });
    for (const fault of [
      'must have the property "name"',
      '/born must be integer',
      '/kind must be one of',
      '"a", "b"',
      'must not have the property "age"',
    ])
      expect(ran.stderr).toContain(fault);
  });

  test(`${command} --schema is exit 11 for an answer that is not JSON`, async ({ server, cli }) => {
    server.reply({ body: replyWith('Ada was born in 1815.') });
    const ran = await cli([...run, '--json'], { cwd: folder() });
    expect(ran.code).toBe(11);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      ok: false,
      complete: false,
      text: 'Ada was born in 1815.',
      error: { class: 'incomplete', sent: 'yes', billed: 'yes' },
    });
  });

  test.for([
    ['an array', '[]', 'a JSON Schema is an object'],
    ['no JSON', '{', 's.json'],
    ['a type that there is not', '{"type":"strin"}', '--schema: '],
    [
      'a reference to elsewhere',
      '{"$ref":"https://example.com/x.json"}',
      'the reference "https://example.com/x.json" leads to nothing',
    ],
    ['a schema that is itself', '{"allOf":[{"$ref":"#"}]}', 'it refers to itself without end'],
  ] as const)(`${command} refuses %s as a schema before it sends`, async ([, content, told], { cli }) => {
    const ran = await cli(run, { cwd: folder(content) });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(told);
  });
}

test('more than five faults are counted', async ({ server, cli }) => {
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`x${i}`, i]));
  server.reply({ body: textReply(JSON.stringify({ name: 'Ada', born: 1815, ...many })) });
  const ran = await cli(['text', 'Ada', '--schema', 's.json'], { cwd: folder() });
  expect(ran.stderr).toContain('and 4 more');
});
