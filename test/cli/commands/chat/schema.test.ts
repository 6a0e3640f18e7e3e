import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cut } from '../../../helpers/scripted-server.ts';
import { eventStream, messageEvents, test, textReply } from '../../../helpers/with-server.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

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

  const fenced = '```json\n{"name":"Ada","born":1815}\n```';

  test.for([
    ['in a code block', fenced],
    ['between words', 'Here it is:\n\n{"name":"Ada","born":1815}\n\nIs there {anything} else?'],
    ['in a code block between words', `Sure!\n${fenced}\nThe end.`],
    ['behind its thinking', '<think>an object with [name, born]</think>\n{"name":"Ada","born":1815}'],
  ] as const)(
    `${command} --schema prints the JSON alone of an answer that has it %s`,
    async ([, text], { server, cli }) => {
      const cwd = folder();
      for (const argv of [run, [...run, '-o', 'out.json'], [...run, '--json']]) {
        server.reply({ body: replyWith(text) });
        const ran = await cli(argv, { cwd });
        expect(ran.code).toBe(0);
        const json = argv.includes('-o') ? readFileSync(join(cwd, 'out.json'), 'utf8') : ran.stdout;
        if (argv.includes('--json'))
          expect(JSON.parse(json)).toMatchObject({ answer: { name: 'Ada', born: 1815 }, text });
        else expect(JSON.parse(json)).toEqual({ name: 'Ada', born: 1815 });
      }
    },
  );

  test.for([
    ['two documents that fit', '{"name":"Ada","born":1815} or {"name":"Bob","born":1816}', 'holds 2 documents'],
    ['a document that was cut', 'Here: [{"name":"Ada","born":1815},', 'is not JSON'],
  ] as const)(`${command} --schema does not choose from %s`, async ([, text, told], { server, cli }) => {
    server.reply({ body: replyWith(text) });
    const ran = await cli(run, { cwd: folder() });
    expect(ran).toMatchObject({ code: 11, stdout: `${text}\n` });
    expect(ran.stderr).toContain(told);
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

test('a stream that breaks off leaves the beginning of the JSON that it held', async ({ server, cli }) => {
  server.reply({
    chunks: [eventStream(...messageEvents('{"name":')).split('event: content_block_stop')[0] ?? '', cut],
  });
  const ran = await cli(['chat', 'Ada', '--schema', 's.json'], { cwd: folder() });
  expect(ran).toMatchObject({ code: 11, stdout: '{"name":\n' });
});

test('more than five faults are counted', async ({ server, cli }) => {
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`x${i}`, i]));
  server.reply({ body: textReply(JSON.stringify({ name: 'Ada', born: 1815, ...many })) });
  const ran = await cli(['text', 'Ada', '--schema', 's.json'], { cwd: folder() });
  expect(ran.stderr).toContain('and 4 more');
});
