import { join } from 'node:path';
import { readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createClient } from '../../../src/index.ts';
import { readRefusal } from '../../../src/library/formats/refusal.ts';
import { type FakeReply, startFakeServer } from '../../fake-servers/start.ts';
import { replies, streams } from '../../cli/request/answers.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const json = { 'content-type': 'application/json' };

const noCompletions =
  'This model is not supported in the v1/chat/completions endpoint. Use the v1/responses endpoint instead.';
const noResponses = 'The model m is not supported with the Responses API. Use chat completions instead.';
const noTools =
  "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";

/** What a request said, in either format. */
interface Sent {
  model: string;
  stream?: boolean;
  messages?: object[];
  input?: object[];
  tools?: object[];
}

/** A server that refuses what is asked in one format, and answers in the other. */
async function serveOne(refusal: { in: 'completions' | 'responses'; status?: number; message: string }) {
  const paths: string[] = [];
  const sent: Sent[] = [];
  const replied: FakeReply[] = [];
  const server = await startFakeServer(({ path, body }) => {
    const asked = JSON.parse(body) as Sent;
    const format = path === '/v1/responses' ? 'responses' : 'completions';
    paths.push(path);
    sent.push(asked);
    if (refusal.in === format) {
      const error = { message: refusal.message, type: 'invalid_request_error', param: 'model', code: null };
      return { status: refusal.status ?? 404, headers: json, body: JSON.stringify({ error }) };
    }
    const next = replied.shift();
    if (next) return next;
    if (asked.stream !== true) return { status: 200, headers: json, body: JSON.stringify(replies[format]) };
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: streams[format] };
  });
  onTestFinished(() => server.close());
  const env = {
    GATEWAY_SERVICE: 'openai',
    GATEWAY_BASE_URL: server.url,
    GATEWAY_API_KEY: 'key-0123456789',
    GATEWAY_MODEL: 'm',
  };
  return { server, env, paths, sent, replied, refusal };
}

const chatPath = '/v1/chat/completions';
const other = '/v1/responses';
const told = 'the service answers m in the responses format: sent again in that';

beforeEach(() => {
  vi.stubEnv('XDG_CACHE_HOME', scratchFolder());
});

test.each([
  [noCompletions, 'responses'],
  [noTools, 'responses'],
  ['This model is only supported in v1/responses and not in v1/chat/completions.', 'responses'],
  ['Unsupported legacy protocol: /v1/chat/completions is not supported. Please use /v1/responses.', 'responses'],
  ['model "gpt-5.4" is not accessible via the /chat/completions endpoint', 'responses'],
  [
    'This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/completions?',
    'responses',
  ],
  [noResponses, 'completions'],
  ["The requested model 'gpt-audio' cannot be used with the Responses API.", 'completions'],
  ['This model is only supported in v1/chat/completions and not in v1/responses.', 'completions'],
  ['Invalid URL (POST /v1/responses)', undefined],
  ['Encrypted content is not supported with this model.', undefined],
  ["Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.", undefined],
] as const)('the words %j name the format %s', (words, format) => {
  const named = (['completions', 'responses'] as const).flatMap((asked) =>
    readRefusal(400, { message: words }, asked).filter(({ means }) => means === 'named-format'),
  );
  expect(named.map(({ value }) => value)).toEqual(format === undefined ? [] : [format]);
});

test.each([
  ['a 404', { status: 404, message: noCompletions }],
  ['a 400', { status: 400, message: noTools }],
])(
  'a text goes out again in the format that %s names, once, is told, and is in it for a day',
  async (_, { status, message }) => {
    const { env, paths, sent } = await serveOne({ in: 'completions', status, message });
    const ran = await run(['text', 'hi', '--json'], { env });
    expect(ran).toMatchObject({ code: 0, stderr: `${told}\n` });
    expect(JSON.parse(ran.stdout)).toMatchObject({ text: '{"a":1}', attempts: 2 });
    expect(paths).toEqual([chatPath, other]);
    expect(sent[1]).toEqual({ model: 'm', input: [{ role: 'user', content: 'hi' }], store: false });

    expect(await run(['text', 'hi'], { env })).toMatchObject({ code: 0, stderr: '' });
    expect(paths.slice(2)).toEqual([other]);
    const dry = await run(['text', 'hi', '--dry-run'], { env });
    expect(dry.stdout).toContain(`POST ${env.GATEWAY_BASE_URL}${other}`);

    // Behind one address can be models of several services.
    await run(['text', 'hi', '-m', 'n'], { env });
    expect(paths.slice(3)).toEqual([chatPath, other]);
  },
);

test.each([
  ['--format', ['--format', 'completions']],
  ['a field of --set', ['--set', 'user=me']],
  ['a seed, which the other format lacks', ['--seed', '1']],
])('a request with %s stays in its format, and the hint names the other', async (_, more) => {
  const { env, paths } = await serveOne({ in: 'completions', message: noCompletions });
  const ran = await run(['text', 'hi', ...more], { env });
  expect(ran.code).toBe(4);
  expect(ran.stderr).toMatch(/\n {2}ask it in the format that it answers: --format responses\n$/);
  expect(paths).toEqual([chatPath]);
});

test('a format of the profile stays, and the hint names the other for a 400 too', async () => {
  const { env, paths } = await serveOne({ in: 'responses', status: 400, message: noResponses });
  const config = join(scratchFolder(), 'config.json');
  writeFileSync(config, JSON.stringify({ profiles: { default: { format: 'responses' } } }));
  const ran = await run(['text', 'hi', '--profile', 'default'], { env: { ...env, GATEWAY_CONFIG: config } });
  expect(ran.code).toBe(4);
  expect(ran.stderr).toMatch(/: --format completions\n$/);
  expect(paths).toEqual([other]);
});

test('a chat with tools goes on in the format that was named, with the thinking of its turns', async () => {
  const { env, paths, sent, replied } = await serveOne({ in: 'completions', status: 400, message: noTools });
  const call = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'now', arguments: '{}' };
  const thought = { type: 'reasoning', id: 'rs_9', summary: [], encrypted_content: 'sealed' };
  const calling = { object: 'response', status: 'completed', output: [thought, call] };
  replied.push({ status: 200, headers: json, body: JSON.stringify(calling) });
  const tools = JSON.stringify([{ name: 'now', description: 'the time', schema: { type: 'object', properties: {} } }]);
  const file = join(scratchFolder(), 'tools.json');
  writeFileSync(file, tools);
  const session = join(scratchFolder(), 's.jsonl');
  const argv = ['chat', '--no-stream', '--session', session, '--tools', file, '--tool-exec', 'now=/bin/echo noon'];
  const ran = await run([...argv, 'what time is it?'], { env });
  expect(ran).toMatchObject({ code: 0, stdout: '{"a":1}\n' });
  expect(ran.stderr).toContain(told);
  expect(paths).toEqual([chatPath, other, other]);
  expect(sent[2]?.input).toEqual([
    { role: 'user', content: 'what time is it?' },
    thought,
    { type: 'function_call', call_id: 'c1', name: 'now', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'noon\n' },
  ]);

  // The next run of the conversation begins in it, and what was thought goes back.
  await run([...argv, 'thanks'], { env });
  expect(paths.slice(3)).toEqual([other]);
  expect(sent[3]?.input?.filter((item) => 'encrypted_content' in item)).toHaveLength(2);
});

test('a streamed chat is read in the format that was named', async () => {
  const { env, paths } = await serveOne({ in: 'completions', message: noCompletions });
  const ran = await run(['chat', 'hi'], { env });
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello\n' });
  expect(paths).toEqual([chatPath, other]);
});

test('the jobs of a batch learn from the first that is refused, keep their digests, and are not paid again', async () => {
  const { env, paths } = await serveOne({ in: 'completions', message: noCompletions });
  const folder = scratchFolder();
  const jobs = join(folder, 'jobs.jsonl');
  writeFileSync(jobs, ['a', 'b', 'c'].map((prompt) => `${JSON.stringify({ prompt })}\n`).join(''));
  const argv = ['batch', jobs, '-o', join(folder, 'out'), '--concurrency', '1'];
  const ran = await run(argv, { env });
  expect(ran.code).toBe(0);
  expect(ran.stderr.split(told)).toHaveLength(2);
  expect(paths).toEqual([chatPath, other, other, other]);
  const lines = readFileSync(join(folder, 'out', 'results.jsonl'), 'utf8')
    .trim()
    .split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { text: string }).text)).toEqual(Array(3).fill('{"a":1}'));
  expect(await run(argv, { env })).toMatchObject({ code: 0 });
  expect(paths).toHaveLength(4);
});

test('the library sends again in the format that was named, and back where nothing answers in it any more', async () => {
  const { server, paths, refusal } = await serveOne({ in: 'completions', message: noCompletions });
  const notes: (string | undefined)[] = [];
  const client = createClient({
    baseUrl: server.url,
    service: 'openai',
    apiKey: 'key-0123456789',
    onEvent: (event) => void (event.type === 'resent' && notes.push(event.text)),
  });
  const ask = async () => (await client.generate({ model: 'm', prompt: 'hi' })).text;
  expect(await ask()).toBe('{"a":1}');
  expect(await ask()).toBe('{"a":1}');
  Object.assign(refusal, { in: 'responses', message: 'Not Found' });
  expect(await ask()).toBe('{"a":1}');
  expect(await ask()).toBe('{"a":1}');
  expect(paths).toEqual([chatPath, other, other, other, chatPath, chatPath]);
  expect(notes).toEqual([told, told.replace('responses', 'completions')]);
  const named = createClient({ baseUrl: server.url, service: 'openai', apiKey: 'k', format: 'responses' });
  await expect(named.generate({ model: 'm', prompt: 'hi' })).rejects.toThrow('404');
  await Promise.all([client.close(), named.close()]);
});

test('a request goes from responses to completions where the service says that', async () => {
  const { server, paths } = await serveOne({ in: 'responses', status: 400, message: noResponses });
  const memory = new Map([['lesson format m', 'responses']]);
  const client = createClient({ baseUrl: server.url, service: 'openai', apiKey: 'key-0123456789', memory });
  expect((await client.generate({ model: 'm', prompt: 'hi' })).text).toBe('{"a":1}');
  expect(paths).toEqual([other, chatPath]);
  expect(memory.get('lesson format m')).toBe('completions');
  await client.close();
});

test('a fallback goes out in the format that is named for it, and a job of the flex lane at full price too', async () => {
  const { env, paths, sent, refusal } = await serveOne({ in: 'completions', message: noCompletions });
  const gone = 'The model `m` does not exist or you do not have access to it.';
  Object.defineProperty(refusal, 'message', { get: () => (sent.at(-1)?.model === 'm' ? gone : noCompletions) });
  const ran = await run(['text', 'hi', '--fallback', 'n', '--effort', 'high'], { env });
  expect(ran).toMatchObject({ code: 0, stdout: '{"a":1}\n' });
  expect(paths).toEqual([chatPath, chatPath, other]);
  expect(sent.map(({ model }) => model)).toEqual(['m', 'n', 'n']);
  expect(sent[2]).toMatchObject({ reasoning: { effort: 'high' } });

  const busy = { status: 429, headers: json, body: '{"error":{"message":"Resource unavailable","type":"x"}}' };
  const { replied, ...second } = await serveOne({ in: 'completions', message: noCompletions });
  replied.push(busy);
  const flex = [
    '--lane',
    'flex',
    '--lane-fallback',
    'live',
    '--retries',
    '0',
    '--output',
    join(scratchFolder(), 'out'),
  ];
  const jobs = join(scratchFolder(), 'jobs.jsonl');
  writeFileSync(jobs, '{"prompt":"a"}\n');
  expect(await run(['batch', jobs, ...flex], { env: second.env })).toMatchObject({ code: 0 });
  expect(second.sent.map((each) => 'service_tier' in each)).toEqual([true, true, false, false]);
  expect(second.paths).toEqual([chatPath, other, chatPath, other]);
});

test('a service that names each format in the other is asked twice, and its last refusal is the error', async () => {
  const { env, paths, refusal } = await serveOne({ in: 'completions', message: noCompletions });
  Object.defineProperty(refusal, 'in', { get: () => (paths.length === 1 ? 'completions' : 'responses') });
  Object.defineProperty(refusal, 'message', { get: () => (paths.length === 1 ? noCompletions : noResponses) });
  const ran = await run(['text', 'hi', '--json'], { env });
  expect(ran.code).toBe(4);
  expect(JSON.parse(ran.stdout)).toMatchObject({ attempts: 2, error: { billed: 'no' } });
  expect(paths).toEqual([chatPath, other]);
});
