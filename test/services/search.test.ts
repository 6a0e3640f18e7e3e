import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createClient } from '../../src/index.ts';
import { run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { canaryKey, test, textReply } from '../helpers/with-server.ts';

// What `--search` sends to each service, in each format that has a search tool of its own.

const folder = scratchFolder();
writeFileSync(join(folder, 'tools.json'), '[{"name":"f","schema":{"type":"object"}}]');
writeFileSync(join(folder, 'named.json'), '[{"name":"web_search","schema":{"type":"object"}}]');
writeFileSync(join(folder, 'newer.json'), '[{"type":"web_search_20260209","name":"web_search"}]');

const google = { googleSearch: {} };
const anthropic = { type: 'web_search_20250305', name: 'web_search' };
const openai = { type: 'web_search' };
const openrouter = { type: 'openrouter:web_search' };
const pages = 'web_search_call.action.sources';
const thinking = 'reasoning.encrypted_content';

const table: [name: string, argv: string[], sent: object][] = [
  ['gemini', ['text', 'x', '--service', 'gemini'], { tools: [google] }],
  ['gemini, chat', ['chat', 'x', '--service', 'gemini'], { tools: [google] }],
  ['pictures of gemini', ['image', 'gen', 'x', '--service', 'gemini'], { tools: [google] }],
  ['anthropic', ['text', 'x', '--service', 'anthropic'], { tools: [anthropic] }],
  ['the gateway, chat', ['chat', 'x', '--base-url', 'http://127.0.0.1:1'], { tools: [anthropic] }],
  ['openai', ['text', 'x', '--service', 'openai'], { tools: [openai], include: [pages] }],
  ['openai, chat', ['chat', 'x', '--service', 'openai'], { tools: [openai], include: [thinking, pages] }],
  ['xai', ['text', 'x', '--service', 'xai'], { tools: [openai], include: [pages] }],
  ['perplexity', ['text', 'x', '--service', 'perplexity'], { tools: [openai] }],
  ['openrouter', ['text', 'x', '--service', 'openrouter'], { tools: [openrouter] }],
  [
    'openrouter, a tool of --set',
    ['text', 'x', '--service', 'openrouter', '--set', 'tools[]={"type":"own"}'],
    { tools: [openrouter, { type: 'own' }] },
  ],
  [
    'gemini, which has it in --body',
    ['text', 'x', '--service', 'gemini', '--body', 'google.json'],
    { tools: [{ googleSearch: { timeRangeFilter: {} } }] },
  ],
  [
    'gemini, beside a tool of --body',
    ['text', 'x', '--service', 'gemini', '--body', 'other.json'],
    { tools: [{ urlContext: {} }, google] },
  ],
];
writeFileSync(join(folder, 'google.json'), '{"tools":[{"googleSearch":{"timeRangeFilter":{}}}]}');
writeFileSync(join(folder, 'other.json'), '{"tools":[{"urlContext":{}}]}');

const show = async (argv: readonly string[]) => run([...argv, '-m', 'm', '--dry-run', '--json'], { cwd: folder });
const sentBy = async (argv: readonly string[]): Promise<Record<string, unknown>> => {
  const ran = await show(argv);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  return (JSON.parse(ran.stdout) as { body: Record<string, unknown> }).body;
};

test.for(table)('--search adds the own tool of %s, and nothing else', async ([, argv, sent]) => {
  const body = await sentBy([...argv, '--search']);
  expect(body).toMatchObject(sent);
  const { tools: _tools, include: _include, ...rest } = body;
  const { tools: _own, include: _other, ...plain } = await sentBy(argv);
  expect(rest).toEqual(plain);
});

test.for([
  ['gemini', { functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }, google],
  ['anthropic', { name: 'f', input_schema: { type: 'object' } }, anthropic],
  ['openai', { type: 'function', name: 'f' }, openai],
  ['openrouter', { type: 'function', function: { name: 'f' } }, openrouter],
] as const)('--search stands beside the tools of the user at %s', async ([service, tool, own]) => {
  const { tools } = await sentBy(['chat', 'x', '--service', service, '--tools', 'tools.json', '--search']);
  expect(tools).toMatchObject([tool, own]);
});

test('a tool of the user is no search by its name, and a search of another version by its type', async () => {
  const asked = ['chat', 'x', '--service', 'anthropic', '--search', '--tools'];
  const named = { name: 'web_search', input_schema: { type: 'object' } };
  expect((await sentBy([...asked, 'named.json']))['tools']).toEqual([named, anthropic]);
  expect((await sentBy([...asked, 'newer.json']))['tools']).toEqual([{ ...anthropic, type: 'web_search_20260209' }]);
});

test.for([
  ['openai', ['--format', 'completions']],
  ['ollama', []],
  ['groq', []],
  ['xai', ['--format', 'completions']],
] as const)('%s has no search in the completions format: refused before anything is sent', async ([service, more]) => {
  const ran = await show(['text', 'x', '--service', service, ...more, '--search']);
  expect([ran.code, ran.stdout.includes('"body"')]).toEqual([2, false]);
  expect(ran.stderr).toContain('the completions format has no search tool');
  expect(ran.stderr).toContain('--format responses');
});

test('a job of a batch and the library can ask for a search', async ({ server, cli }) => {
  server.reply({ body: textReply('hi') });
  const ran = await cli(['batch', '-', '-o', 'out'], { stdin: '{"id":"a","prompt":"x","search":true}\n' });
  expect([ran.code, server.requests[0]?.json()]).toMatchObject([0, { tools: [google] }]);
  const client = createClient({ service: 'anthropic' });
  const { post, close } = await client.prepare({ model: 'm', prompt: 'x', search: true });
  expect(post.body).toMatchObject({ tools: [anthropic] });
  await close();
  await client.close();
});

test.for([true, false])(
  'a call that the service made and answered itself is none of the answer (stream: %s)',
  async (isStreamed, { server, cli }) => {
    const call = {
      type: 'custom_tool_call',
      id: 'ct_1',
      call_id: 'xs_call_1',
      name: 'x_keyword_search',
      input: '{"query":"from:xai"}',
      status: 'completed',
    };
    const message = {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Here it is.', annotations: [] }],
    };
    const own = { type: 'custom_tool_call', id: 'ct_2', call_id: 'c2', name: 'sql', input: 'SELECT 1' };
    const response = { object: 'response', id: 'r', model: 'm', status: 'completed', output: [call, message, own] };
    const events = [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...call, input: '', status: 'in_progress' } },
      { type: 'response.custom_tool_call_input.delta', item_id: 'ct_1', output_index: 0, delta: '{"query"' },
      { type: 'response.output_item.done', output_index: 0, item: call },
      { type: 'response.output_item.done', output_index: 1, item: message },
      { type: 'response.output_item.done', output_index: 2, item: own },
      { type: 'response.completed', response },
    ];
    const stream = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    server.reply(isStreamed ? { headers: { 'content-type': 'text/event-stream' }, body: stream } : { body: response });
    const tool =
      'tools=[{"type":"x_search"},{"type":"namespace","name":"db","tools":[{"type":"custom","name":"sql"}]}]';
    const argv = ['text', 'x', '--format', 'responses', '--set', tool, '--json', ...(isStreamed ? ['--stream'] : [])];
    const ran = await cli(argv, { env: { GATEWAY_SERVICE: 'openai', GATEWAY_API_KEY: canaryKey } });
    const last = ran.stdout.trim().split('\n').at(-1) ?? '';
    const document = JSON.parse(isStreamed ? last : ran.stdout) as { text: string; toolCalls: { name: string }[] };
    expect(document.text).toBe('Here it is.');
    expect(document.toolCalls.map(({ name }) => name)).toEqual(['sql']);
  },
);
