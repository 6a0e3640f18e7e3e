import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test as plain } from 'vitest';
import { parsePromptYaml } from '../../../src/cli/request/prompt-yaml.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test, textReply } from '../../helpers/with-server.ts';

const folder = scratchFolder();
const summary = `name: Text Summarizer
description: Summarizes input text concisely
model: openai/gpt-4o-mini
modelParameters:
  temperature: 0.5
  maxTokens: 40
  stop: END
messages:
  - role: system
    content: You are a {{tone}} summarizer.
  - role: user
    content: Hello
  - role: assistant
    content: Yes?
  - role: user
    content: |
      Summarize:
      {{input}}
testData:
  - input: |
      The quick brown fox.
    tone: terse
    expected: Summary - fox
  - {input: 7, tone: null}
evaluators:
  - name: starts
    string: {startsWith: Summary}
`;
writeFileSync(join(folder, 'sum.prompt.yml'), summary);
const simple = 'messages: [{role: user, content: hi}]\n';

test('a file of GitHub Models is the request', async ({ server, cli }) => {
  server.reply({ body: textReply('ok', { modelVersion: 'gpt-4o-mini-2024-07-18' }) });
  const vars = JSON.stringify({ input: 'The quick brown fox.\n', tone: 'terse' });
  const ran = await cli(['text', '--prompt-file', 'sum.prompt.yml', '--vars', vars], {
    cwd: folder,
    stdin: '{{data}}',
  });
  expect(ran).toMatchObject({ code: 0, stdout: 'ok\n', stderr: '' });
  const [request] = server.requests;
  expect(request?.path).toContain('gpt-4o-mini');
  expect(request?.json()).toEqual({
    contents: [
      { role: 'user', parts: [{ text: 'Hello' }] },
      { role: 'model', parts: [{ text: 'Yes?' }] },
      { role: 'user', parts: [{ text: 'Summarize:\nThe quick brown fox.\n\n\n\n{{data}}' }] },
    ],
    systemInstruction: { parts: [{ text: 'You are a terse summarizer.' }] },
    generationConfig: { temperature: 0.5, maxOutputTokens: 40, stopSequences: ['END'] },
  });
});

test('flags win over the file, in chat too', async ({ cli }) => {
  const argv = [
    'chat',
    '--prompt-file',
    'sum.prompt.yml',
    '--var',
    'tone=',
    '-m',
    'n',
    '--temperature',
    '1',
    '--dry-run',
  ];
  const { code, stdout } = await cli([...argv, '--json', '--system', 'be brief', '--var', 'input=x'], { cwd: folder });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    body: {
      model: 'n',
      temperature: 1,
      max_tokens: 40,
      stop_sequences: ['END'],
      system: 'be brief',
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Yes?' },
        { role: 'user', content: 'Summarize:\nx\n' },
      ],
    },
  });
});

test.for([
  ['bare', 'jsonSchema: {type: object, properties: {a: {type: string}}}'],
  ['in an envelope', `jsonSchema: '{"name":"n","schema":{"type":"object","properties":{"a":{"type":"string"}}}}'`],
] as const)('takes a JSON Schema %s', async ([, line], { cli }) => {
  writeFileSync(join(folder, 'schema.prompt.yaml'), `${simple}responseFormat: json_schema\n${line}\n`);
  const { stdout } = await cli(['text', '--prompt-file', 'schema.prompt.yaml', '--dry-run', '--json'], { cwd: folder });
  expect(JSON.parse(stdout)).toMatchObject({
    body: {
      generationConfig: {
        responseMimeType: 'application/json',
        responseJsonSchema: { type: 'object', properties: { a: { type: 'string' } } },
      },
    },
  });
});

plain.for([
  ['messages: [{', 'is not valid YAML: the indentation is wrong, or a bracket is not closed at line 1, column 13'],
  ['a: 1\n\tb: 2', 'at line 2, column '],
  ['model: !run x', 'is not valid YAML: there is an unknown tag at line 1, column 8'],
  ['model: !!binary aGk=', 'is not valid YAML: there is an unknown tag at line 1, column 8'],
  ['model: *x', 'an alias has no anchor, or there are too many'],
  [
    `a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c]`,
    'an alias has no anchor, or there are too many',
  ],
  ['- 1', 'a prompt file is a YAML map'],
  ['message: []', "unknown key 'message'"],
  ['model: x', 'there are no messages'],
  ['messages: [{role: tool, content: x}]', 'messages[0].role is system, user or assistant'],
  ['messages: [{role: user, content: [x]}]', 'messages[0] has no text'],
  [`${simple}testData: {a: 1}`, 'testData is a list of maps'],
  [`${simple}responseFormat: xml`, "not 'xml'"],
  [`${simple}responseFormat: json_schema`, 'needs a jsonSchema'],
  [`${simple}jsonSchema: '{'\nresponseFormat: json_schema`, 'jsonSchema is not JSON'],
] as const)('%j is refused', async ([text, message]) => {
  await expect(parsePromptYaml(text, 'p.prompt.yml')).rejects.toThrow(message);
});

test.for([
  ['text', [], "{{tone}} has no value: --prompt-file 'sum.prompt.yml'"],
  ['text', ['words'], 'the prompt is given twice: words and --prompt-file'],
] as const)('%s %j says what is wrong with the file', async ([command, flags, message], { cli }) => {
  const ran = await cli([command, ...flags, '--prompt-file', 'sum.prompt.yml'], { cwd: folder });
  expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
});

test.for([
  ['text', 'modelParameters: {presencePenalty: 1}', '--set presencePenalty='],
  ['text', 'modelParameters: {temprature: 1}', 'did you mean: temperature'],
  ['text', 'modelParameters: {maxTokens: many}', "maxTokens takes a whole number from 1, not 'many'"],
  ['text', 'modelParameters: {maxTokens: many}', 'for example: maxTokens: 1\n'],
  ['text', 'modelParameters: {temperature: [1]}', 'temperature is text or a number'],
  ['chat', 'modelParameters: {seed: 1}', "chat has no model parameter 'seed'"],
  ['chat', 'responseFormat: json_object', 'chat has no responseFormat json_object'],
  ['image gen', 'responseFormat: json_object', 'take it out of the file'],
] as const)('%s says that it does not take %j', async ([command, line, message], { cli }) => {
  writeFileSync(join(folder, 'x.prompt.yml'), `${simple}${line}\n`);
  const ran = await cli([...command.split(' '), '--prompt-file', 'x.prompt.yml'], { cwd: folder });
  expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
});

test('a warning and a hint name the file', async ({ cli }) => {
  const file = ['--prompt-file', 'sum.prompt.yml'];
  const ran = await cli(['text', ...file, '--offline'], { cwd: folder, env: { GATEWAY_BASE_URL: '' } });
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain("offline instead of openai/gpt-4o-mini (--prompt-file 'sum.prompt.yml')\n");
  expect(ran.stderr).toContain('\n  give it a value: --var tone=…\n');
  const batch = await cli(['batch', '--template', 'sum.prompt.yml', '-o', 'out', '--offline', '--dry-run'], {
    cwd: folder,
  });
  expect(batch.stderr).toContain("offline instead of openai/gpt-4o-mini (--template 'sum.prompt.yml')\n");
});
