import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, vi } from 'vitest';
import { run } from '../../../helpers/run.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { startScriptedServer } from '../../../helpers/scripted-server.ts';
import { canaryKey, test } from '../../../helpers/with-server.ts';

let cache: string;
beforeEach(() => {
  cache = scratchFolder();
  vi.stubEnv('XDG_CACHE_HOME', cache);
});

const flash =
  '{"name":"models/gemini-2.5-flash","displayName":"Gemini 2.5 Flash","inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent","countTokens"]}';
const pro = '{"name":"models/gemini-2.5-pro","supportedGenerationMethods":["generateContent"]}';
const claude =
  '{"type":"model","id":"claude-sonnet-4-5","display_name":"Claude Sonnet 4.5","created_at":"2025-09-29T00:00:00Z"}';
const notFound = { status: 404, body: 'no such page' };
const gemini = { env: { GEMINI_API_KEY: canaryKey, GATEWAY_API_KEY: '' } };

test('--service gemini requests only its own list, all pages, with its own header', async ({ server, cli }) => {
  server.reply({ body: `{"models":[${flash}],"nextPageToken":"p&2"}` });
  server.reply({ body: `{"models":[${pro}],"nextPageToken":""}` });
  const ran = await cli(['models', '--service', 'gemini'], gemini);
  expect(ran).toMatchObject({ code: 0, stdout: 'gemini-2.5-flash\ngemini-2.5-pro\n', stderr: '' });
  expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /v1beta/models?pageSize=1000',
    'GET /v1beta/models?pageSize=1000&pageToken=p%262',
  ]);
  const { headers, body } = server.requests[0] ?? { headers: {}, body: undefined };
  expect(headers).toMatchObject({ 'x-goog-api-key': canaryKey });
  expect(headers).not.toHaveProperty('content-type');
  expect(body).toHaveLength(0);
});

test('--service anthropic requests only its own list, with key and version', async ({ server, cli }) => {
  server.reply({ body: `{"data":[${claude}],"has_more":true,"first_id":"a","last_id":"claude-sonnet-4-5"}` });
  server.reply({ body: '{"data":[],"has_more":false,"first_id":null,"last_id":null}' });
  const env = { ANTHROPIC_API_KEY: canaryKey, GATEWAY_API_KEY: '' };
  expect(await cli(['models', '--service', 'anthropic'], { env })).toMatchObject({
    code: 0,
    stdout: 'claude-sonnet-4-5\n',
  });
  expect(server.requests.map(({ path }) => path)).toEqual([
    '/v1/models?limit=1000',
    '/v1/models?limit=1000&after_id=claude-sonnet-4-5',
  ]);
  expect(server.requests[0]?.headers).toMatchObject({ 'x-api-key': canaryKey, 'anthropic-version': '2023-06-01' });
});

test('requests both lists of a gateway; --json gives the lists of each model', async ({ server, cli }) => {
  server.reply({ body: `{"models":[${flash}]}` });
  server.reply({
    body: `{"object":"list","data":[{"id":"gemini-2.5-flash","object":"model","owned_by":"x"},${claude}]}`,
  });
  const ran = await cli(['models', '--json']);
  expect(JSON.parse(ran.stdout)).toEqual({
    schema: 'gateway-cli/models@1',
    ok: true,
    exitCode: 0,
    warnings: [],
    complete: true,
    models: [
      {
        id: 'claude-sonnet-4-5',
        title: 'Claude Sonnet 4.5',
        formats: ['messages'],
        createdAt: '2025-09-29T00:00:00.000Z',
      },
      {
        id: 'gemini-2.5-flash',
        title: 'Gemini 2.5 Flash',
        formats: ['content', 'messages'],
        operations: ['generateContent', 'countTokens'],
        context: 1048576,
      },
    ],
  });
});

test('prints a table on a terminal, and filters names and titles', async ({ server, cli }) => {
  server.reply({ body: `{"models":[${flash},${pro},{"name":"models/\\u001b[31mflash"}]}` });
  server.reply(notFound);
  const ran = await cli(['models', 'FLASH'], { tty: { stdout: true } });
  expect(ran.stdout).toBe('^[[31mflash\ngemini-2.5-flash  1M in  Gemini 2.5 Flash\n');
});

test('a line of the table is cut to the terminal, and a name never', async ({ server, cli }) => {
  server.reply({ body: `{"models":[${flash},${pro}]}` });
  server.reply(notFound);
  const ran = await cli(['models'], { tty: { stdout: true }, columns: 34 });
  expect(ran.stdout).toBe('gemini-2.5-flash  1M in  Gemini 2…\ngemini-2.5-pro\n');
  server.reply({ body: `{"models":[${flash}]}` });
  server.reply(notFound);
  const narrow = await cli(['models'], { tty: { stdout: true }, columns: 10 });
  expect(narrow.stdout).toBe('gemini-2.5-flash\n');
});

/** Days from now, as lists write them. */
const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

test('the table has the end, the state, the limits, the prices and what goes in and out, as far as the list says', async ({
  server,
  cli,
}) => {
  const soon = dayIn(15);
  const data = [
    { id: 'm-10', architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] } },
    { id: 'm-9', expiration_date: soon, pricing: { prompt: '0.000001', completion: '0.000005' } },
    { id: 'm-8', lifecycle: 'deprecated', line: 'opus', max_tokens: 64000, max_input_tokens: 200000 },
  ];
  server.always({ body: { data } });
  const argv = ['models', '--service', 'openrouter', '--base-url', server.url];
  expect((await cli(argv)).stdout).toBe('m-8\nm-9\nm-10\n');
  const ran = await cli(argv, { tty: { stdout: true }, columns: 100 });
  expect(ran.stdout.split('\n')).toEqual([
    'm-8                    deprecated  opus  200K in  64K out',
    `m-9   ends ${soon}                                      $1/$5`,
    'm-10                                                              text+image→text',
    '',
  ]);
  expect((await cli([...argv, '--ending', '60d'])).stdout).toBe('m-8\nm-9\n');
  expect((await cli([...argv, '--ending', '10d'])).stdout).toBe('m-8\n');
});

test('--use takes what the list says of a model, and where it says nothing what its name says', async ({
  server,
  cli,
}) => {
  const drawing = { id: 'painter', architecture: { input_modalities: ['text'], output_modalities: ['image'] } };
  server.always({ body: { data: [drawing, { id: 'gpt-image-2' }, { id: 'gpt-6-luna' }, { id: 'whisper-1' }] } });
  const argv = ['models', '--service', 'openai', '--base-url', server.url];
  expect((await cli([...argv, '--use', 'image'])).stdout).toBe('gpt-image-2\npainter\n');
  expect((await cli([...argv, '--use', 'text'])).stdout).toBe('gpt-6-luna\n');
  expect((await cli([...argv, '--use', 'video'])).code).toBe(2);
});

test('one list is enough, with a warning about the other', async ({ server, cli }) => {
  server.reply({ status: 401, body: '{"error":{"code":401,"message":"no","status":"UNAUTHENTICATED"}}' });
  server.reply({ body: `{"data":[${claude}],"has_more":false}` });
  const ran = await cli(['models']);
  expect(ran).toMatchObject({ code: 0, stdout: 'claude-sonnet-4-5\n' });
  expect(ran.stderr).toContain('one of two lists: the gateway answered 401');
});

test('a gateway without lists says so', async ({ server, cli }) => {
  server.reply(notFound);
  server.reply({ body: '<!doctype html><title>Welcome</title>' });
  const ran = await cli(['models']);
  expect(ran.code).toBe(4);
  expect(ran.stderr).toContain('this gateway has no list of models');
  expect(ran.stderr).toContain('-m <model>');
});

test('a refused key is the error of the key', async ({ server, cli }) => {
  server.always({ status: 401, body: '{"error":{"message":"bad key"}}' });
  expect((await cli(['models'])).code).toBe(3);
});

describe('an incomplete list is printed with a warning', () => {
  const page = (more: string) => `{"models":[${flash}]${more}}`;
  let pages = 0;
  test.for([
    ['leads back to a page of its own', () => page(',"nextPageToken":"again"'), 2, 'its pages go in a circle'],
    ['never ends', () => page(`,"nextPageToken":"${pages++}"`), 100, 'it has more than 100 pages'],
    ['goes on, and does not say where', () => page(',"has_more":true'), 1, 'it does not say where it goes on'],
  ] as const)(
    'an incomplete list of models, which %s, is printed with a warning',
    async ([, body, asked, why], { server, cli }) => {
      server.always(() => ({ body: body() }));
      const ran = await cli(['models', '--service', 'gemini'], gemini);
      expect(ran).toMatchObject({ code: 0, stdout: 'gemini-2.5-flash\n' });
      expect(ran.stderr).toContain(`warning: the list of models is not whole: ${why}`);
      expect(server.requests).toHaveLength(asked);
      const { stdout } = await cli(['models', '--service', 'gemini', '--json'], gemini);
      expect(JSON.parse(stdout)).toMatchObject({ ok: true, complete: false, models: [{ id: 'gemini-2.5-flash' }] });
    },
  );

  test('a list with too many models is printed as far as it was read, with a warning', async ({ server, cli }) => {
    const models = Array.from({ length: 10_001 }, (_, at) => ({ name: `models/m-${at}` }));
    server.reply({ body: { models } });
    const ran = await cli(['models', 'm-10000', '--service', 'gemini'], gemini);
    expect(ran).toMatchObject({ code: 0, stdout: '' });
    expect(ran.stderr).toContain('it has more than 10000 models');
  });

  test('one of two lists that is incomplete is printed with a warning', async ({ server, cli }) => {
    server.reply({ status: 503, body: '{}' });
    server.always({ body: `{"data":[${claude}]}` });
    const ran = await cli(['models', '--json', '--retries', '0']);
    expect(JSON.parse(ran.stdout)).toMatchObject({ ok: true, complete: false, models: [{ id: 'claude-sonnet-4-5' }] });
  });
});

test('without a base URL the hint says how to set one, and does not mention a model', async () => {
  const ran = await run(['models']);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('no base URL is set');
});

test('the lists of two gateways with one format are both asked for', async ({ server }) => {
  const other = await startScriptedServer();
  onTestFinished(() => other.close());
  const file = join(scratchFolder(), 'config.json');
  const profile = (baseUrl: string) => ({ service: 'gemini', baseUrl, apiKey: canaryKey });
  const config = { profile: { text: 'a', chat: 'b' }, profiles: { a: profile(server.url), b: profile(other.url) } };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  server.reply({ body: `{"models":[${flash}]}` });
  other.reply({ body: `{"models":[${pro}]}` });
  const ran = await run(['models'], { env: { GATEWAY_CONFIG: file } });
  expect(ran).toMatchObject({ code: 0, stdout: 'gemini-2.5-flash\ngemini-2.5-pro\n', stderr: '' });
});

test('without a base URL it names the services whose keys are set', async () => {
  const ran = await run(['models'], { env: { GEMINI_API_KEY: canaryKey, ANTHROPIC_API_KEY: canaryKey } });
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('the keys of several services are set: GEMINI_API_KEY, ANTHROPIC_API_KEY');
  for (const service of ['gemini', 'anthropic']) expect(ran.stderr).toContain(`--service ${service}`);
});

/** The file of what is remembered for a day. */
function memory(): string {
  return join(cache, 'gateway-cli', 'memory.json');
}

/** Runs `models`, which caches the names of the server. */
async function keep(server: { reply(answer: object): void }, cli: (argv: string[]) => Promise<unknown>) {
  server.reply({ body: `{"models":[${flash},${pro}]}` });
  server.reply(notFound);
  await cli(['models']);
}

test('the names are cached readable only by their owner, without the key', async ({ server, cli }) => {
  await keep(server, cli);
  expect(statSync(memory()).mode & 0o777).toBe(0o600);
  expect(readFileSync(memory(), 'utf8')).not.toContain(canaryKey);
});

test('a memory that cannot be read, is damaged or of another version is no memory, and the next list replaces it', async ({
  server,
  cli,
}) => {
  await keep(server, cli);
  const complete = async () => (await cli(['__complete', 'fish', '--', 'text', '-m', 'gemini'])).stdout;
  const kept = readFileSync(memory(), 'utf8');
  const all = 'gemini-2.5-flash\ngemini-2.5-pro\n:none\n';
  expect(await complete()).toBe(all);
  const { addresses, ...rest } = JSON.parse(kept) as { addresses: object };
  const damaged = [
    kept.slice(0, -40),
    '[]',
    '\0\0',
    JSON.stringify({ ...rest, version: 2, addresses }),
    JSON.stringify({ ...rest, addresses: Object.values(addresses) }),
    JSON.stringify({ ...rest, addresses: { ...addresses, more: 'x'.repeat(32 * 2 ** 20) } }),
    kept.replace('"value":{', '"value":[{').replace('},"at"', '}],"at"'),
    kept.replace(/"at":\d+/, '"at":null'),
  ];
  for (const text of damaged) {
    writeFileSync(memory(), text);
    expect(await complete()).toBe(':none\n');
    expect((await cli(['text', 'hi', '--dry-run'])).code).toBe(0);
  }
  await keep(server, cli);
  expect(await complete()).toBe(all);
  rmSync(memory());
  // A reader would wait forever.
  execFileSync('mkfifo', [memory()]);
  expect(await complete()).toBe(':none\n');
});

test('-m completes from the cached names for a day, and sends nothing', async ({ server, cli }) => {
  await keep(server, cli);
  const complete = async (more: string[] = []) =>
    (await cli(['__complete', 'fish', '--', 'text', ...more, '-m', 'gemini'])).stdout;
  expect(await complete()).toBe('gemini-2.5-flash\ngemini-2.5-pro\n:none\n');
  expect(await complete(['--base-url', 'http://127.0.0.1:9'])).toBe(':none\n');
  expect(server.requests).toHaveLength(2);
  const aged = readFileSync(memory(), 'utf8').replaceAll(/"at":\d+/g, `"at":${Date.now() - 24 * 60 * 60 * 1000}`);
  writeFileSync(memory(), aged);
  expect(await complete()).toBe(':none\n');
});

test('a name that a shell could execute, or a terminal interpret, is not completed', async ({ server, cli }) => {
  const names = [
    'gemini-$(id)',
    'gemini-`id`',
    'gemini-a;id',
    'gemini-\u001b[2J',
    'gemini-a\tb',
    ':none',
    '-x',
    'gemini-fine',
  ];
  server.reply({ body: { models: names.map((name) => ({ name: `models/${name}` })) } });
  server.reply(notFound);
  await cli(['models']);
  const ran = await cli(['__complete', 'fish', '--', 'text', '-m', '']);
  expect(ran.stdout.split('\n').filter((line) => !line.startsWith('local-'))).toEqual([
    'm',
    'gemini-fine',
    ':none',
    '',
  ]);
});

const unknownModel =
  '{"error":{"code":404,"message":"models/gemini-2.5-flsh is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.","status":"NOT_FOUND"}}';

test('a 404 for a model that is not in the cached list names the nearest', async ({ server, cli }) => {
  await keep(server, cli);
  server.always({ status: 404, body: unknownModel });
  expect((await cli(['text', '-m', 'gemini-2.5-flsh', 'hi'])).stderr).toContain('-m gemini-2.5-flash');
  expect((await cli(['chat', '-m', 'gemini-2.5-prp', 'hi'])).stderr).toContain('-m gemini-2.5-pro');
  expect((await cli(['text', '-m', 'gemini-2.5-flash', 'hi'])).stderr).toContain('gateway-cli models');
});

test('a nearest name of Ollama has no tag', async ({ server, cli }) => {
  server.reply({ body: '{"object":"list","data":[{"id":"llama3.2:latest"},{"id":"gemma3:4b"}]}' });
  const flags = ['--service', 'ollama', '--base-url', server.url];
  await cli(['models', ...flags]);
  server.always({ status: 404, body: '{"error":{"message":"model \'llama32\' not found","type":"not_found_error"}}' });
  expect((await cli(['text', '-m', 'llama32', 'hi', ...flags])).stderr).toContain(': -m llama3.2\n');
  // The list is older than the model's removal.
  expect((await cli(['text', '-m', 'llama3.2', 'hi', ...flags])).stderr).toContain('gateway-cli models --service');
});

test('the list of OpenRouter has the models of pictures too', async ({ server, cli }) => {
  server.reply({ body: '{"data":[{"id":"black-forest-labs/flux.2-pro"}]}' });
  const ran = await cli(['models', '--service', 'openrouter', '--base-url', server.url]);
  expect(ran).toMatchObject({ code: 0, stdout: 'black-forest-labs/flux.2-pro\n', stderr: '' });
  expect(server.requests[0]?.path).toBe('/v1/models?output_modalities=text,image');
});

test('Ollama without a model has an empty list', async ({ server, cli }) => {
  server.reply({ body: '{"object":"list","data":null}' });
  const ran = await cli(['models', '--service', 'ollama', '--base-url', server.url], { tty: { stderr: true } });
  expect(ran).toMatchObject({ code: 0, stdout: '', stderr: 'the list is empty\n' });
});

test.for([
  ['gpt-5', 400, 'gpt-5 is not a valid model ID', ': -m openai/gpt-5\n'],
  ['openai/gpt-5:free', 404, 'No endpoints found matching your data policy.', "in the vendor's console"],
  ['openai/gpt-5:free', 404, 'No endpoints found that support image input', 'this model cannot do it'],
] as const)('the hint for -m %s at OpenRouter, with %i %s', async ([model, status, message, hint], { server, cli }) => {
  server.reply({ body: '{"data":[{"id":"openai/gpt-5-mini"},{"id":"openai/gpt-5"}]}' });
  const flags = ['--service', 'openrouter', '--base-url', server.url];
  await cli(['models', ...flags]);
  server.reply({ status, body: JSON.stringify({ error: { message, code: status } }) });
  expect((await cli(['text', '-m', model, 'hi', ...flags])).stderr).toContain(hint);
});

test('a 404 for a model without a cached list names the command that lists them', async ({ server, cli }) => {
  server.always({ status: 404, body: unknownModel });
  const typed = ['text', '-m', 'gemini-2.5-flsh', 'hi'];
  expect((await cli(typed)).stderr).toContain(': gateway-cli models\n');
  const flags = ['--service', 'gemini', '--base-url', server.url];
  expect((await cli([...typed, ...flags])).stderr).toContain(`: gateway-cli models ${flags.join(' ')}\n`);
});
