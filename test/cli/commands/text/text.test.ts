import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { canaryKey, test, textReply } from '../../../helpers/with-server.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

test('prints the text of candidate 0 and nothing else', async ({ server, cli }) => {
  server.reply({ body: textReply('Hello') });
  expect(await cli(['text', 'say', 'hello'])).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
  const [request] = server.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/v1beta/models/m:generateContent' });
  expect(request?.headers).toMatchObject({ 'x-vendor-a-api-key': canaryKey, 'content-type': 'application/json' });
  expect(request?.json()).toEqual({ contents: [{ role: 'user', parts: [{ text: 'say hello' }] }] });
});

test('adds no second newline, and separates candidates by ---', async ({ server, cli }) => {
  const candidate = (text: string) => ({ content: { parts: [{ text }] }, finishReason: 'STOP' });
  server.reply({ body: { candidates: [candidate('one\n'), candidate('two')] } });
  expect(await cli(['text', 'x', '--candidates', '2'])).toMatchObject({
    code: 0,
    stdout: 'one\n---\ntwo\n',
    stderr: '',
  });
});

test.for([[['text', 'x']], [['text', 'x', '--dry-run']], [['chat', 'x']], [['doctor', '--live']]] as const)(
  '%j warns once of what is odd about the base URL',
  async ([words], { server, cli }) => {
    server.always({ status: 400, body: {} });
    const ran = await cli(words, { env: { GATEWAY_BASE_URL: `${server.url}/v1beta` } });
    expect(`${ran.stdout}${ran.stderr}`.match(/\/v1beta at the end of the base URL is cut/g)).toHaveLength(1);
  },
);

test('text prints the answer without its thinking', async ({ server, cli }) => {
  const parts = [{ text: 'hm', thought: true }, { text: 'yes' }];
  server.reply({ body: { candidates: [{ content: { parts }, finishReason: 'STOP' }] } });
  expect(await cli(['text', 'x'])).toMatchObject({ code: 0, stdout: 'yes\n', stderr: '' });
});

test('puts stdin after the prompt, with an empty line between', async ({ server, cli }) => {
  server.reply({ body: textReply('ok') });
  const ran = await cli(['text', 'summarise'], { stdin: 'the report\n', tty: { stderr: true }, env: { CI: '1' } });
  expect(ran).toMatchObject({ code: 0, stdout: 'ok\n', stderr: '+ 11 B from stdin (in a loop: --no-stdin)\n' });
  expect(server.requests[0]?.json()).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'summarise\n\nthe report\n' }] }],
  });
});

test('prints one JSON document with everything that the reply said', async ({ server, cli }) => {
  server.reply({ body: textReply('Hello', { promptFeedback: { safetyRatings: [] } }) });
  const { code, stdout, stderr } = await cli(['text', 'hi', '--json']);
  expect({ code, stderr, lines: stdout.split('\n').length }).toEqual({ code: 0, stderr: '', lines: 2 });
  expect(JSON.parse(stdout)).toMatchObject({
    schema: 'gateway-cli/result@1',
    command: 'text',
    ok: true,
    complete: true,
    exitCode: 0,
    model: 'm',
    modelVersion: 'm-001',
    responseId: 'r-1',
    role: 'model',
    text: 'Hello',
    candidates: [{ index: 0, text: 'Hello', finishReason: 'STOP' }],
    images: [],
    toolCalls: [],
    stopReason: 'STOP',
    promptFeedback: { safetyRatings: [] },
    usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    warnings: [],
    attempts: 1,
  });
});

test('a tool call alone is an answer: stdout empty, a note, exit 0', async ({ server, cli }) => {
  const parts = [{ functionCall: { name: 'get_weather', args: { city: 'Oslo' } } }];
  server.reply({ body: { candidates: [{ content: { parts }, finishReason: 'STOP' }] } });
  const ran = await cli(['text', 'x']);
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(ran.stderr).toContain('get_weather');
});

test.each([
  ['a blocked prompt', { promptFeedback: { blockReason: 'SAFETY' } }, 'SAFETY'],
  ['an empty answer', { candidates: [{ finishReason: 'RECITATION' }] }, 'RECITATION'],
])('%s is exit 10 and says why', async (_, body, word) => {
  const { startScriptedServer } = await import('../../../helpers/scripted-server.ts');
  const { run } = await import('../../../helpers/run.ts');
  const server = await startScriptedServer();
  server.reply({ body });
  const ran = await run(['text', 'x', '-m', 'm'], {
    env: { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'k-123456' },
  });
  await server.close();
  expect(ran).toMatchObject({ code: 10, stdout: '' });
  expect(ran.stderr).toContain(word);
});

test('an answer cut by the token limit is a warning, and exit 11 with --require-complete', async ({ server, cli }) => {
  const body = { candidates: [{ content: { parts: [{ text: 'half' }] }, finishReason: 'MAX_TOKENS' }] };
  server.reply({ body });
  server.reply({ body });
  const kept = await cli(['text', 'x']);
  expect(kept).toMatchObject({ code: 0, stdout: 'half\n' });
  expect(kept.stderr).toContain('warning: cut by the token limit');
  expect(await cli(['text', 'x', '--require-complete'])).toMatchObject({ code: 11, stdout: 'half\n' });
});

test('an answer that does not fit --schema is exit 11, and an answer that fits is exit 0', async ({ server, cli }) => {
  server.reply({ body: textReply('{"age":36}') });
  server.reply({ body: textReply('{"age":"old"}') });
  const schema = '{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}';
  const fits = await cli(['text', 'x', '--schema', '-'], { stdin: schema });
  expect(fits).toMatchObject({ code: 0, stdout: '{"age":36}\n', stderr: '' });
  expect(server.requests[0]?.json()).toMatchObject({
    generationConfig: { responseMimeType: 'application/json', responseJsonSchema: JSON.parse(schema) as object },
  });
  const misfit = await cli(['text', 'x', '--schema', '-'], { stdin: schema });
  expect(misfit).toMatchObject({ code: 11, stdout: '{"age":"old"}\n' });
  expect(misfit.stderr).toContain('/age must be integer');
});

test('--contents takes an object that holds the turns, and no other', async ({ server, cli }) => {
  const cwd = scratchFolder();
  const contents = [{ role: 'user', parts: [{ text: 'q' }] }];
  writeFileSync(join(cwd, 'c.json'), JSON.stringify({ contents }));
  writeFileSync(join(cwd, 'm.json'), JSON.stringify({ messages: contents }));
  server.reply({ body: textReply('ok') });
  expect(await cli(['text', 'more', '--contents', 'c.json'], { cwd })).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.json()).toEqual({
    contents: [...contents, { role: 'user', parts: [{ text: 'more' }] }],
  });
  const other = await cli(['text', 'more', '--contents', 'm.json'], { cwd });
  expect(other).toMatchObject({ code: 2, stdout: '' });
  expect(other.stderr).toContain('--contents m.json: a JSON array is needed');
});

test('whole JSON in the place of a file is JSON, whatever files there are', async ({ server, cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, '{}'), '{"topK":3}');
  server.reply({ body: textReply('ok') });
  await cli(['text', 'x', '--body', '{}'], { cwd });
  expect(server.requests[0]?.json()).toEqual({ contents: [{ role: 'user', parts: [{ text: 'x' }] }] });
});

test('half of JSON in the place of a file is not JSON, however long it is', async ({ cli }) => {
  for (const [json, at] of [
    ['{"a":1', 'line 1, column 7'],
    [`[${'1,'.repeat(3000)}1`, 'line 1, column 6003'],
  ] as const) {
    const ran = await cli(['text', 'x', '--schema', json]);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toMatch(new RegExp(`--schema is not JSON: .* is expected at ${at}\\n`));
    expect(ran.stderr.length).toBeLessThan(300);
  }
});

test.for([[[]], [['--dry-run']]] as const)(
  'a number that JSON cannot carry is refused, and nothing is sent: %s',
  async ([flags], { cli }) => {
    const ran = await cli(['text', 'hi', '--set', 'generationConfig.seed=1e999', ...flags]);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain("the number 'seed' of the request is too large\n");
  },
);

test('a schema in the command itself', async ({ server, cli }) => {
  server.reply({ body: textReply('{"born":1815}') });
  const ran = await cli(['text', 'x', '--schema', '{"type":"object","required":["born"]}', '--field', 'answer.born']);
  expect(ran).toMatchObject({ code: 0, stdout: '1815\n' });
  expect(server.requests[0]?.json()).toMatchObject({
    generationConfig: { responseJsonSchema: { required: ['born'] } },
  });
});

test('an empty stdin beside a prompt is told on a terminal, and only there', async ({ server, cli }) => {
  for (let times = 0; times < 2; times++) server.reply({ body: textReply('ok') });
  const ran = await cli(['text', 'summarise'], { stdin: '\n', tty: { stderr: true }, env: { CI: '1' } });
  expect(ran).toMatchObject({ code: 0, stdout: 'ok\n', stderr: 'stdin is empty, so only the prompt is sent\n' });
  expect(await cli(['text', 'summarise'], { stdin: '' })).toMatchObject({ code: 0, stdout: 'ok\n', stderr: '' });
});
