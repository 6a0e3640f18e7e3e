import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type { ReceivedRequest } from '../../../helpers/request-reader.ts';
import { topicTexts } from '../../../helpers/readme.ts';
import { jsonLines } from '../../../helpers/json-lines.ts';
import { run } from '../../../helpers/run.ts';
import { eventStream, messageEvents, test } from '../../../helpers/with-server.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

const weather = { name: 'get_weather', input_schema: { type: 'object' } };
const other = { name: 'other', input_schema: { type: 'object' } };

/** A folder with tools.json and programs. */
function folder(): string {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'tools.json'), JSON.stringify([weather, other]));
  writeFileSync(join(cwd, 'weather.sh'), '#!/bin/sh\nread input\necho "$1 rain for $input"\necho ran >> ran.txt\n');
  writeFileSync(join(cwd, 'fail.sh'), '#!/bin/sh\necho "no such city" >&2\nexit 3\n');
  for (const name of ['weather.sh', 'fail.sh']) chmodSync(join(cwd, name), 0o755);
  return cwd;
}

const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };

/** A reply that calls tools, after a word. */
function calls(...called: readonly { id: string; name: string; input: object }[]): { body: string } {
  const [start, open, text, close] = messageEvents('Let me see.');
  const blocks = called.flatMap(({ id, name, input }, i) => [
    { type: 'content_block_start', index: i + 1, content_block: { type: 'tool_use', id, name, input: {} } },
    {
      type: 'content_block_delta',
      index: i + 1,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    },
    { type: 'content_block_stop', index: i + 1 },
  ]);
  const end = [
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ];
  return { body: eventStream(...([start, open, text, close] as object[]), ...blocks, ...end) };
}

const rome = { id: 't1', name: 'get_weather', input: { city: 'Rome; $(x)' } };
const answer = { body: eventStream(...messageEvents('Yes, rain.')) };
const base = ['chat', 'rain?', '--tools', 'tools.json'];
const withTool = [...base, '--tool-exec', "get_weather=./weather.sh 'much more'"];

test('a request that fails after a paid one is an error of a command that was billed', async ({ server, cli }) => {
  server.reply(calls(rome));
  server.reply({ status: 429, body: { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } } });
  const ran = await cli([...withTool, '--json', '--retries', '0'], { cwd: folder(), env });
  expect(ran.code).toBe(5);
  expect(JSON.parse(ran.stdout)).toMatchObject({ error: { sent: 'yes', billed: 'yes', retryable: false } });
});

test('runs the named command and goes on with its result', async ({ server, cli }) => {
  server.reply(calls(rome));
  server.reply(answer);
  const ran = await cli(withTool, { cwd: folder(), env, tty: { stderr: true } });
  expect(ran).toMatchObject({ code: 0, stdout: 'Let me see.\nYes, rain.\n' });
  expect(ran.stderr).toBe('tool get_weather {"city":"Rome; $(x)"}\n');
  const [first, second] = server.requests.map((request) => request.json() as { messages: unknown[] });
  expect(second).toEqual({
    ...first,
    messages: [
      { role: 'user', content: 'rain?' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_use', id: 't1', name: 'get_weather', input: { city: 'Rome; $(x)' } },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't1', content: 'much more rain for {"city":"Rome; $(x)"}\n' }],
      },
    ],
  });
});

/** A completion that calls the tool. */
function completionCall(call: object): { body: object } {
  return { body: { choices: [{ message: { content: '\n\n', tool_calls: [call] }, finish_reason: 'tool_calls' }] } };
}

const completions = [...withTool, '--format', 'completions'];
const done = { body: { choices: [{ message: { content: 'Yes, rain.' }, finish_reason: 'stop' }] } };

test.for([
  ['empty', ''],
  ['null', null],
  ['absent', undefined],
] as const)(
  'a call whose id is %s gets one, and what Google signed goes back with it',
  async ([, id], { server, cli }) => {
    const extra_content = { google: { thought_signature: 'c2ln' } };
    const called = { name: 'get_weather', arguments: '{"city":"Rome"}' };
    server.reply(completionCall({ id, type: 'function', function: called, extra_content }));
    server.reply(done);
    const ran = await cli(completions, { cwd: folder(), env, tty: { stderr: true } });
    expect(ran).toMatchObject({ code: 0, stderr: 'tool get_weather {"city":"Rome"}\n' });
    const sent = server.requests[1]?.json() as { messages: object[] } | undefined;
    expect(sent?.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ type: 'function', id: 'call_1', function: called, extra_content }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'much more rain for {"city":"Rome"}\n' },
    ]);
  },
);

test.for([
  ['its field', { reasoning: 'hm', content: null }],
  ['the tags in its text', { content: '<think>\nhm\n</think>' }],
  ['a part of its content', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }],
] as const)('thinking in %s goes back with its call as it came', async ([, said], { server, cli }) => {
  const tool_calls = [{ id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }];
  server.reply({ body: { choices: [{ message: { ...said, tool_calls }, finish_reason: 'tool_calls' }] } });
  server.reply(done);
  expect(await cli(completions, { cwd: folder(), env })).toMatchObject({ code: 0 });
  const sent = server.requests[1]?.json() as { messages: object[] } | undefined;
  expect(sent?.messages[1]).toEqual({ role: 'assistant', ...said, tool_calls });
});

test.for([
  ['streamed', true],
  ['whole', false],
] as const)('calls go back in the order of their numbers: %s', async ([, isStream], { server, cli }) => {
  const called = [1, 0].map((index) => ({
    index,
    id: `c${index}`,
    type: 'function',
    function: { name: 'get_weather', arguments: '{}' },
  }));
  const choices = called.map((call) => ({ index: 0, delta: { tool_calls: [call] } }));
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
  const whole = { choices: [{ message: { content: null, tool_calls: called }, finish_reason: 'tool_calls' }] };
  const chunks = [...choices.map((choice) => ({ choices: [choice] })), end];
  const stream = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
  server.reply({ body: isStream ? stream : whole });
  server.reply(done);
  expect(await cli(completions, { cwd: folder(), env })).toMatchObject({ code: 0 });
  const sent = server.requests[1]?.json() as { messages: { tool_calls?: { id: string }[]; tool_call_id?: string }[] };
  expect(sent.messages[1]?.tool_calls?.map(({ id }) => id)).toEqual(['c0', 'c1']);
  expect(sent.messages.slice(2).map(({ tool_call_id: id }) => id)).toEqual(['c0', 'c1']);
});

test('each call goes back with the field of thinking that one of them had', async ({ server, cli }) => {
  const called = (id: string): object => ({ id, type: 'function', function: { name: 'get_weather', arguments: '{}' } });
  const turn = (id: string, thinking: object): object => ({
    choices: [{ message: { content: null, ...thinking, tool_calls: [called(id)] }, finish_reason: 'tool_calls' }],
  });
  server.reply({ body: turn('c1', {}) });
  server.reply({ body: turn('c2', { reasoning_content: 'hm' }) });
  server.reply({ body: turn('c3', {}) });
  server.reply(done);
  expect(await cli(completions, { cwd: folder(), env })).toMatchObject({ code: 0 });
  const fields = server.requests.map((request) => {
    const { messages } = request.json() as { messages: { role: string; reasoning_content?: string }[] };
    return messages.flatMap(({ role, reasoning_content: thinking }) => (role === 'assistant' ? [thinking] : []));
  });
  expect(fields).toEqual([[], [undefined], ['', 'hm'], ['', 'hm', '']]);
});

test.for(['{city: Rome', '5', '["Rome"]', String.raw`"{\"city\":\"Rome\"}"`])(
  'a call whose arguments are not a JSON object is never a success: %s',
  async (text, { server, cli }) => {
    server.reply(completionCall({ id: 'c1', type: 'function', function: { name: 'get_weather', arguments: text } }));
    const ran = await cli(completions, { cwd: folder(), env });
    expect(ran.code).toBe(11);
    expect(ran.stderr).toContain('the call get_weather is not whole: its arguments are not a JSON object');
  },
);

test('a call whose arguments are null has none, and is run', async ({ server, cli }) => {
  server.reply(completionCall({ id: 'c1', type: 'function', function: { name: 'get_weather', arguments: 'null' } }));
  server.reply(done);
  expect(await cli(completions, { cwd: folder(), env })).toMatchObject({ code: 0, stderr: '' });
  const second = server.requests[1]?.json() as { messages: object[] } | undefined;
  expect(second?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'much more rain for {}\n' });
});

test('a blank text before a call, and a blank system instruction, are not sent', async ({ server, cli }) => {
  const [start, open, , close] = messageEvents('\n\n');
  const blank = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '\n\n' } };
  const rest =
    calls(rome).body.split('event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n')[1] ?? '';
  server.reply({ body: eventStream(...([start, open, blank, close] as object[])) + rest });
  server.reply(answer);
  const ran = await cli([...withTool, '--system', ' '], { cwd: folder(), env });
  expect(ran.code).toBe(0);
  const sent = server.requests[1]?.json() as { messages: { content: object[] }[]; system?: string } | undefined;
  expect([sent?.system, sent?.messages[1]?.content]).toMatchObject([undefined, [{ type: 'tool_use', id: 't1' }]]);
});

test.for([
  ['content', ['tools', '0', 'functionDeclarations', '0', 'parametersJsonSchema']],
  ['messages', ['tools', '0', 'input_schema']],
  ['completions', ['tools', '0', 'function', 'parameters']],
] as const)(
  'every name of the schema of a plain tool is read, and no other key: %s',
  async ([format, path], { server, cli }) => {
    const cwd = scratchFolder();
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const ask = (tool: object) => {
      writeFileSync(join(cwd, 'tools.json'), JSON.stringify([{ name: 'f', ...tool }]));
      return cli(['chat', 'x', '--format', format, '--tools', 'tools.json', '--dry-run', '--json'], { cwd });
    };
    for (const name of ['schema', 'parameters', 'input_schema', 'inputSchema', 'parametersJsonSchema']) {
      const shown = JSON.parse((await ask({ [name]: schema, title: 'F' })).stdout) as { body: unknown };
      const sent = path.reduce((value: unknown, step) => (value as Record<string, unknown>)[step], shown.body);
      expect(sent, name).toEqual(schema);
    }
    const refused = await ask({ paramters: schema });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("the tool f has an unknown key 'paramters'");
    expect(refused.stderr).toContain("'parameters'");
    expect(server.requests).toHaveLength(0);
  },
);

test('a command that fails is sent to the model as an error', async ({ server, cli }) => {
  server.reply(calls(rome));
  server.reply(answer);
  const ran = await cli([...base, '--tool-exec', 'get_weather=./fail.sh'], { cwd: folder(), env });
  expect(ran.code).toBe(0);
  expect(server.requests[1]?.json()).toMatchObject({
    messages: [{}, {}, { content: [{ content: 'exit status 3\nno such city', is_error: true }] }],
  });
});

test('several calls are answered in one turn, in their order', async ({ server, cli }) => {
  server.reply(calls(rome, { ...rome, id: 't2', input: { city: 'Oslo' } }));
  server.reply(answer);
  await cli(withTool, { cwd: folder(), env });
  expect(server.requests[1]?.json()).toMatchObject({
    messages: [{}, {}, { content: [{ tool_use_id: 't1' }, { tool_use_id: 't2' }] }],
  });
});

test('--json adds the usage up, counts the attempts and reports what led to the answer', async ({ server, cli }) => {
  server.reply(calls(rome));
  server.reply(answer);
  const ran = await cli([...withTool, '--json', '--quiet'], { cwd: folder(), env });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(ran.stdout)).toMatchObject({
    ok: true,
    text: 'Yes, rain.',
    stopReason: 'end_turn',
    toolCalls: [],
    attempts: 2,
    usage: { inputTokens: 8, outputTokens: 5 },
    turns: [
      {
        text: 'Let me see.',
        stopReason: 'tool_use',
        toolCalls: [{ ...rome, result: 'much more rain for {"city":"Rome; $(x)"}\n', isError: false }],
      },
    ],
  });
});

test('--jsonl shows calls and results between the deltas', async ({ server, cli }) => {
  server.reply(calls(rome));
  server.reply(answer);
  const { stdout } = await cli([...withTool, '--jsonl'], { cwd: folder(), env });
  const lines = jsonLines<{ type: string }>(stdout);
  expect(lines.filter(({ type }) => type.startsWith('tool-') && type !== 'tool-input')).toEqual([
    { type: 'tool-call', ...rome },
    {
      type: 'tool-result',
      id: 't1',
      name: 'get_weather',
      content: 'much more rain for {"city":"Rome; $(x)"}\n',
      isError: false,
    },
  ]);
  expect(lines.filter(({ type }) => type === 'result')).toHaveLength(1);
  expect(lines.at(-1)).toMatchObject({ type: 'result', complete: true, usage: { outputTokens: 5 } });
});

test('a call of a tool that is not named ends it, and nothing is run', async ({ server, cli }) => {
  const cwd = folder();
  server.reply(calls(rome, { id: 't2', name: 'other', input: {} }));
  const ran = await cli([...withTool, '--json'], { cwd, env });
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.stdout)).toMatchObject({ stopReason: 'tool_use', toolCalls: [rome, { name: 'other' }] });
  expect(() => readFileSync(join(cwd, 'ran.txt'))).toThrow('ENOENT');
});

test('--max-turns bounds the requests: exit 11, and the text so far is printed', async ({ server, cli }) => {
  server.always(calls(rome));
  const ran = await cli([...withTool, '--max-turns', '3'], { cwd: folder(), env });
  expect(ran).toMatchObject({ code: 11, stdout: 'Let me see.\n'.repeat(3) });
  expect(ran.stderr).toContain('--max-turns 6');
  expect(server.requests).toHaveLength(3);
});

test('a forced call is forced once', async ({ server, cli }) => {
  server.reply(calls(rome));
  server.reply(answer);
  await cli([...withTool, '--tool-choice', 'any'], { cwd: folder(), env });
  expect(server.requests[0]?.json()).toMatchObject({ tool_choice: { type: 'any' } });
  expect(server.requests[1]?.json()).not.toHaveProperty('tool_choice');
});

test('--confirm runs what is allowed and sends the model an error for what is not', async ({ server, cli }) => {
  server.reply(calls(rome, { ...rome, id: 't2' }));
  server.reply(answer);
  const ran = await cli([...withTool, '--confirm'], { cwd: folder(), env, answers: ['no', 'y'] });
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('run ./weather.sh much more for get_weather {"city":"Rome; $(x)"}? [y/N]');
  expect(server.requests[1]?.json()).toMatchObject({
    messages: [
      {},
      {},
      {
        content: [
          { content: 'the user did not allow this call', is_error: true },
          { content: expect.stringContaining('rain') },
        ],
      },
    ],
  });
});

test('the whole exchange goes into the session, and an open call does not block the next turn', async ({
  server,
  cli,
}) => {
  const cwd = folder();
  server.reply(calls(rome));
  server.reply(answer);
  server.reply(calls({ ...rome, id: 't9' }));
  server.reply(answer);
  await cli([...withTool, '--session', 's.jsonl'], { cwd, env });
  await cli([...base, '--session', 's.jsonl'], { cwd, env });
  await cli(['chat', 'go on', '--session', 's.jsonl'], { cwd, env });
  const roles = jsonLines<{ role: string }>(readFileSync(join(cwd, 's.jsonl'), 'utf8')).map(({ role }) => role);
  expect(roles.join(' ')).toBe('user assistant user assistant user assistant user assistant');
  const { messages } = (server.requests[3] as ReceivedRequest).json() as { messages: object[] };
  expect(messages).toHaveLength(7);
  expect(messages.at(-1)).toEqual({
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 't9', content: 'the call was not run', is_error: true },
      { type: 'text', text: 'go on' },
    ],
  });
});

test.for([
  ['a tool that is not offered', ['--tool-exec', 'nope=./weather.sh'], 'there are: get_weather, other'],
  ['a program that is not there', ['--tool-exec', 'get_weather=./none'], 'there is no such file'],
  ['a tool twice', ['--tool-exec', 'other=ls', '--tool-exec', 'other=ls'], 'names other twice'],
  ['no command', ['--tool-exec', 'other'], 'name=command'],
  ['--confirm without a terminal', ['--tool-exec', 'other=ls', '--confirm'], '--confirm needs a terminal'],
  ['--confirm without a tool', ['--confirm'], 'add --tool-exec'],
] as const)('refuses %s before anything is sent', async ([, flags, told], { cli }) => {
  const ran = await cli([...base, ...flags], { cwd: folder(), env });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(told);
});

test('the example of the topic and of the help calls its tool on the offline model', async () => {
  const { stdout } = await run(['chat', '--help']);
  const help = stdout.replaceAll(/ \\\n +/g, ' ');
  const example = /--tool-exec 'get_weather=\.\/weather\.sh( -c)?' "([^"]+)"/;
  for (const text of [topicTexts.get('chat') ?? '', help]) {
    const [, flag = '', prompt = ''] = example.exec(text) ?? [];
    const exec = ['--tools', 'tools.json', '--tool-exec', `get_weather=./weather.sh${flag}`];
    const ran = await run(['chat', '--offline', '--no-stdin', ...exec, prompt, '--json'], { cwd: folder(), env });
    expect(ran.code, ran.stderr).toBe(0);
    expect(JSON.parse(ran.stdout)).toMatchObject({ text: expect.stringContaining('The tool get_weather returned') });
  }
});
