import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createClient } from '../../../src/library/client/client.ts';
import { type FakeReply, type FakeServer, startFakeServer } from '../../fake-servers/start.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const json = { 'content-type': 'application/json' };
const answered: FakeReply = {
  status: 200,
  headers: json,
  body: JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  }),
};

/** OpenAI's words; the others are those of the services that say so. */
const byOpenAi = JSON.stringify({
  error: {
    message:
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    type: 'invalid_request_error',
    param: 'max_tokens',
    code: 'unsupported_parameter',
  },
});

/** A server that refuses one name of the field for the limit of tokens. */
async function serveWithout(name: string, body: string, { status = 400 } = {}): Promise<FakeServer> {
  const server = await startFakeServer((request) =>
    name in (JSON.parse(request.body) as object) ? { status, headers: json, body } : answered,
  );
  onTestFinished(() => server.close());
  return server;
}

/** The names of the field in the requests that came. */
function fieldsIn({ requests }: FakeServer): string[] {
  return requests.map(
    ({ body }) => Object.keys(JSON.parse(body) as object).find((name) => name.startsWith('max_')) ?? '',
  );
}

const both = ['max_tokens', 'max_completion_tokens'];

function environment({ url }: FakeServer): Record<string, string> {
  return {
    GATEWAY_BASE_URL: url,
    GATEWAY_FORMAT: 'completions',
    GATEWAY_API_KEY: 'key-0123456789',
    GATEWAY_MODEL: 'm',
  };
}

beforeEach(() => {
  vi.stubEnv('XDG_CACHE_HOME', scratchFolder());
});

test.each([
  ['OpenAI', 'max_tokens', byOpenAi, 400],
  [
    'OpenAI, of an older model',
    'max_completion_tokens',
    '{"error":{"message":"Unrecognized request argument supplied: max_completion_tokens","type":"invalid_request_error","param":null,"code":null}}',
    400,
  ],
  [
    'Mistral',
    'max_completion_tokens',
    '{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted","input":16}]},"type":"invalid_request_error","code":null}',
    422,
  ],
  [
    'vLLM',
    'max_completion_tokens',
    `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted', 'input': 16}]","type":"BadRequestError","code":400}`,
    400,
  ],
  [
    'FastAPI',
    'max_tokens',
    '{"detail":[{"type":"extra_forbidden","loc":["body","max_tokens"],"msg":"Extra inputs are not permitted"}]}',
    422,
  ],
  [
    'Groq',
    'max_completion_tokens',
    `{"error":{"message":"property 'max_completion_tokens' is unsupported","type":"invalid_request_error"}}`,
    400,
  ],
  [
    'a server in Go',
    'max_completion_tokens',
    '{"error":{"message":"json: unknown field \\"max_completion_tokens\\""}}',
    400,
  ],
  [
    'a server in Rust',
    'max_completion_tokens',
    '{"error":{"message":"unknown field `max_completion_tokens`, expected one of `model`, `messages`, `max_tokens`"}}',
    422,
  ],
  [
    'Google',
    'max_completion_tokens',
    `{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \\"max_completion_tokens\\": Cannot find field.","status":"INVALID_ARGUMENT"}}`,
    400,
  ],
  [
    'LiteLLM',
    'max_tokens',
    `{"error":{"message":"litellm.UnsupportedParamsError: azure does not support parameters: {'max_tokens': 16}, for model=o4"}}`,
    400,
  ],
] as const)('sends a limit of tokens again under its other name where %s refuses %s', async (_, name, body, status) => {
  const server = await serveWithout(name, body, { status });
  const other = both.find((field) => field !== name) ?? '';
  const extra = name === 'max_tokens' ? ['--max-tokens', '16'] : ['--set', 'max_completion_tokens=16'];
  const ran = await run(['text', 'hi', ...extra], { env: environment(server) });
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello.\n', stderr: '' });
  expect(fieldsIn(server)).toEqual([name, other]);
});

test.each([
  [
    'its value',
    `{"error":{"message":"max_tokens is too large: 160000. This model supports at most 16384 completion tokens.","param":"max_tokens","code":"invalid_value"}}`,
  ],
  ['another field', '{"error":{"message":"unknown field `foo`, expected one of `model`, `max_tokens`"}}'],
])('does not send a request again where %s is refused', async (_, body) => {
  const server = await serveWithout('max_tokens', body);
  const ran = await run(['text', 'hi', '--max-tokens', '16'], { env: environment(server) });
  expect(ran.code).toBe(4);
  expect(fieldsIn(server)).toEqual(['max_tokens']);
});

test('a service that takes neither name is asked twice, and its second refusal is the error', async () => {
  const refused = (name: string): string => `{"error":{"message":"Unknown parameter: '${name}'."}}`;
  const server = await startFakeServer(({ body }) => ({
    status: 400,
    headers: json,
    body: refused('max_tokens' in (JSON.parse(body) as object) ? 'max_tokens' : 'max_completion_tokens'),
  }));
  onTestFinished(() => server.close());
  const ran = await run(['text', 'hi', '--max-tokens', '16', '--json'], { env: environment(server) });
  expect(ran.code).toBe(4);
  expect(JSON.parse(ran.stdout)).toMatchObject({ attempts: 2, error: { billed: 'no' } });
  expect(fieldsIn(server)).toEqual(both);
});

test('a terminal and --verbose are told of it', async () => {
  for (const how of [{ tty: { stderr: true } }, { argv: ['--verbose'] }]) {
    const server = await serveWithout('max_tokens', byOpenAi);
    const argv = ['text', 'hi', '--max-tokens', '16', ...(how.argv ?? [])];
    const ran = await run(argv, { env: environment(server), ...how });
    expect(ran.stderr).toContain('the service takes max_completion_tokens for the limit of tokens: sent again with');
  }
});

test('what a service taught is known to the next command for a day, and to its --dry-run', async () => {
  const server = await serveWithout('max_tokens', byOpenAi);
  const env = environment(server);
  await run(['text', 'hi', '--max-tokens', '16'], { env });
  const chat = await run(['chat', 'hi', '--max-tokens', '16'], { env });
  expect(chat).toMatchObject({ code: 0, stderr: '' });
  expect(fieldsIn(server)).toEqual([...both, 'max_completion_tokens']);
  const shown = await run(['text', 'hi', '--max-tokens', '16', '--dry-run'], { env });
  expect(shown.stdout).toContain('"max_completion_tokens": 16');

  const path = join(process.env['XDG_CACHE_HOME'] ?? '', 'gateway-cli', 'memory.json');
  const aged = readFileSync(path, 'utf8').replaceAll(/"at":\d+/g, `"at":${Date.now() - 25 * 3_600_000}`);
  writeFileSync(path, aged);
  await run(['text', 'hi', '--max-tokens', '16'], { env });
  expect(fieldsIn(server).slice(3)).toEqual(both);
});

test('a cache folder that cannot be written changes nothing', async () => {
  const cache = scratchFolder();
  mkdirSync(join(cache, 'gateway-cli', 'memory.json'), { recursive: true });
  vi.stubEnv('XDG_CACHE_HOME', cache);
  const server = await serveWithout('max_tokens', byOpenAi);
  const ran = await run(['text', 'hi', '--max-tokens', '16'], { env: environment(server) });
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello.\n', stderr: '' });
});

test('a recording has the refusal too, so that it plays where nothing was learnt', async () => {
  const server = await serveWithout('max_tokens', byOpenAi);
  const cwd = scratchFolder();
  const env = environment(server);
  await run(['text', 'hi', '--max-tokens', '16'], { env });
  await run(['text', 'hi', '--max-tokens', '16', '--record', 'tape'], { env, cwd });
  vi.stubEnv('XDG_CACHE_HOME', scratchFolder());
  const played = await run(['text', 'hi', '--max-tokens', '16', '--replay', 'tape'], { env, cwd });
  expect(played).toMatchObject({ code: 0, stdout: 'Hello.\n', stderr: '' });
  expect(server.requests).toHaveLength(4);
});

/** A server whose model "new" refuses `max_tokens`, while every other knows no other name, and answers at any length. */
async function serveNewAndOld(): Promise<FakeServer> {
  const server = await startFakeServer(({ body }) => {
    const { model, ...fields } = JSON.parse(body) as { model: string; max_tokens?: number };
    if (model === 'new') return 'max_tokens' in fields ? { status: 400, headers: json, body: byOpenAi } : answered;
    const tokens = fields.max_tokens ?? 100_000;
    const usage = { prompt_tokens: 1, completion_tokens: tokens, total_tokens: tokens + 1 };
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }];
    return { status: 200, headers: json, body: JSON.stringify({ choices, usage }) };
  });
  onTestFinished(() => server.close());
  return server;
}

test('what one model taught is not sent to another at the same address, whose limit would be none', async () => {
  const server = await serveNewAndOld();
  const env = environment(server);
  for (const model of ['new', 'old', 'new', 'old'])
    expect(await run(['text', 'hi', '-m', model, '--max-tokens', '16'], { env })).toMatchObject({
      code: 0,
      stderr: '',
    });
  const client = createClient({ baseUrl: server.url, format: 'completions' });
  onTestFinished(() => client.close());
  for (const model of ['new', 'old'])
    expect((await client.generate({ model, prompt: 'hi', maxTokens: 16 })).text).toBe('Hello.');
  const fromBoth = [...both, 'max_tokens', 'max_completion_tokens', 'max_tokens'];
  expect(fieldsIn(server)).toEqual([...fromBoth, ...both, 'max_tokens']);
});

test('a limit of tokens that a service takes no notice of is told', async () => {
  const server = await serveNewAndOld();
  const argv = ['text', 'hi', '-m', 'old', '--set', 'max_completion_tokens=16'];
  const ran = await run(argv, { env: environment(server) });
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  expect(ran.stderr).toBe(
    'gateway-cli: warning: the service did not keep the limit of 16 tokens: the answer has 100000\n',
  );
});

test('a batch over two models stays within its most cost where one of them taught', async () => {
  const server = await serveNewAndOld();
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'p.txt'), 'one two\n');
  writeFileSync(
    join(cwd, 'prices.json'),
    JSON.stringify({ new: { input: 1, output: 20 }, old: { input: 1, output: 20 } }),
  );
  const argv = [
    'batch',
    '--prompts',
    'p.txt',
    '--vary',
    'model=new,old',
    '--defaults',
    '{"maxTokens":16}',
    '--max-cost',
    '0.01',
  ];
  const more = ['--prices', 'prices.json', '-o', 'out', '--concurrency', '1', '--json'];
  const ran = await run([...argv, ...more], { env: environment(server), cwd });
  expect(ran).toMatchObject({ code: 0 });
  expect(fieldsIn(server)).toEqual([...both, 'max_tokens']);
});

test('the library sends it again too, counts both, and tells who asks; clients can share what they learnt', async () => {
  const server = await serveWithout('max_tokens', byOpenAi);
  const told: (string | undefined)[] = [];
  const memory = new Map<string, string>();
  for (const attempts of [2, 1]) {
    const client = createClient({
      baseUrl: server.url,
      format: 'completions',
      memory,
      onEvent: (event) => void (event.type === 'resent' && told.push(event.text)),
    });
    onTestFinished(() => client.close());
    expect(await client.generate({ model: 'm', prompt: 'hi', maxTokens: 16 })).toMatchObject({
      text: 'Hello.',
      attempts,
    });
  }
  expect(told).toHaveLength(1);
  const quiet = createClient({ baseUrl: server.url, format: 'completions' });
  onTestFinished(() => quiet.close());
  const stream = quiet.stream({ model: 'm', prompt: 'hi', maxTokens: 16 });
  expect((await stream.reply()).text).toBe('Hello.');
  expect(stream.received().attempts).toBe(2);
});

test('a batch of 300 jobs is refused as often as it has workers at most, and each job is answered', async () => {
  const server = await serveWithout('max_tokens', byOpenAi);
  const cwd = scratchFolder();
  const jobs = Array.from({ length: 300 }, (_, at) => `{"id":"j${at}","prompt":"p${at}","maxTokens":16}\n`);
  writeFileSync(join(cwd, 'jobs.jsonl'), jobs.join(''));
  const ran = await run(['batch', 'jobs.jsonl', '-o', 'out', '--concurrency', '4'], { env: environment(server), cwd });
  expect(ran.code).toBe(0);
  expect(fieldsIn(server).filter((name) => name === 'max_tokens').length).toBeLessThanOrEqual(4);
  expect(fieldsIn(server).filter((name) => name === 'max_completion_tokens')).toHaveLength(300);
  const again = await run(['batch', 'jobs.jsonl', '-o', 'out'], { env: environment(server), cwd });
  expect(again.code).toBe(0);
  expect(server.requests.length).toBeLessThanOrEqual(304);
});

test('doctor --live passes at a service that refuses max_tokens', async () => {
  const server = await startFakeServer(({ method, body }) => {
    if (method !== 'POST') return { status: 200, headers: json, body: '{"data":[{"id":"m"}]}' };
    return 'max_tokens' in (JSON.parse(body) as object) ? { status: 400, headers: json, body: byOpenAi } : answered;
  });
  onTestFinished(() => server.close());
  const ran = await run(['doctor', '--live'], { env: environment(server) });
  expect(ran.stdout).toMatch(/^ok {6}completions +accepted/m);
});
