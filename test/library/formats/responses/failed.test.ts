import { expect } from 'vitest';
import { test } from '../../../helpers/with-server.ts';
import { created, message, response, textEvents } from './feeding.ts';

const failed = response([], { status: 'failed', error: { code: 'server_error', message: 'It broke' }, usage: null });

test.for([
  ['whole', ['text'], ''],
  ['as a stream', ['text', '--stream'], ''],
  ['in the middle of a stream', ['chat'], 'Hel'],
] as const)(
  'a reply that failed %s is an error of the service, though its status is 200',
  async ([how, argv, said], { server, cli }) => {
    const events = [created, ...(said === '' ? [] : textEvents([said])), { type: 'response.failed', response: failed }];
    const stream = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    const type = how === 'whole' ? 'application/json' : 'text/event-stream';
    server.reply({ headers: { 'content-type': type }, body: how === 'whole' ? JSON.stringify(failed) : stream });
    const ran = await cli([...argv, 'hi', '--format', 'responses']);
    expect(ran).toMatchObject({ code: 6, stdout: said === '' ? '' : `${said}\n` });
    expect(ran.stderr).toContain('(server_error): It broke');
  },
);

test('an answer that has nothing but an item of another kind says which', async ({ server, cli }) => {
  const wanted = { type: 'mcp_approval_request', id: 'mcpr_1', name: 'pay', arguments: '{}', server_label: 'bank' };
  server.reply({ body: response([wanted]) });
  const ran = await cli(['text', 'hi', '--format', 'responses']);
  expect(ran).toMatchObject({ code: 10, stdout: '' });
  expect(ran.stderr).toContain('the answer is empty but for mcp_approval_request');
});

test('a call of a custom tool is an answer, which a command of the user can take', async ({ server, cli }) => {
  const call = { type: 'custom_tool_call', id: 'ct_1', call_id: 'c1', name: 'sql', input: 'SELECT 1' };
  const tools = JSON.stringify([{ type: 'custom', name: 'sql' }]);
  const argv = ['--format', 'responses', '--tools', tools];
  server.reply({ body: response([call]) });
  const ran = await cli(['text', 'hi', ...argv, '--json']);
  const toolCalls = [{ id: 'c1', name: 'sql', input: { input: 'SELECT 1' } }];
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.stdout)).toMatchObject({ toolCalls, complete: true });

  server.reply({ body: response([call]) });
  server.reply({ body: response([message('One row.')]) });
  const chat = await cli(['chat', 'hi', '--no-stream', ...argv, '--tool-exec', 'sql=/bin/cat']);
  expect(chat).toMatchObject({ code: 0, stdout: 'One row.\n' });
  const output = { type: 'custom_tool_call_output', call_id: 'c1', output: '{"input":"SELECT 1"}' };
  expect(server.requests[2]?.json()).toMatchObject({ input: [{ role: 'user' }, call, output] });
});

test.for(['queued', 'in_progress'])(
  'an answer that the service makes in the background (%s) is told with its id and how to fetch it',
  async (status, { server, cli }) => {
    server.reply({ body: response([], { status, background: true, usage: null }) });
    const ran = await cli(['text', 'hi', '--format', 'responses', '--set', 'background=true', '--set', 'store=true']);
    expect(ran).toMatchObject({ code: 11, stdout: '' });
    expect(ran.stderr).toContain(`the answer is not there yet (${status}): the service goes on with it as resp_1`);
    expect(ran.stderr).toContain('GET <base URL>/v1/responses/resp_1');
    expect(ran.stderr).not.toContain('change the prompt');
  },
);
