import { expect, onTestFinished, test, vi } from 'vitest';
import { createClient } from '../../src/library/client/client.ts';
import { serviceNames, services } from '../../src/library/vendors/services.ts';
import { startFakeServer, type FakeReply, type FakeServer } from '../fake-servers/start.ts';
import { run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';

// Where requests go: every service from its own variables alone, and base URLs as people paste them.

const key = 'key-0123456789abcdef';

/** The request that the documents of each service show, from nothing but its own variables. */
const documented: readonly [service: string, env: Record<string, string>, url: string][] = [
  ['xai', { XAI_API_KEY: key }, 'https://api.x.ai/v1/responses'],
  ['groq', { GROQ_API_KEY: key }, 'https://api.groq.com/openai/v1/chat/completions'],
  ['mistral', { MISTRAL_API_KEY: key }, 'https://api.mistral.ai/v1/chat/completions'],
  ['deepseek', { DEEPSEEK_API_KEY: key }, 'https://api.deepseek.com/chat/completions'],
  ['together', { TOGETHER_API_KEY: key }, 'https://api.together.ai/v1/chat/completions'],
  ['fireworks', { FIREWORKS_API_KEY: key }, 'https://api.fireworks.ai/inference/v1/chat/completions'],
  ['cerebras', { CEREBRAS_API_KEY: key }, 'https://api.cerebras.ai/v1/chat/completions'],
  ['deepinfra', { DEEPINFRA_API_KEY: key }, 'https://api.deepinfra.com/v1/openai/chat/completions'],
  ['nvidia', { NVIDIA_API_KEY: key }, 'https://integrate.api.nvidia.com/v1/chat/completions'],
  ['perplexity', { PERPLEXITY_API_KEY: key }, 'https://api.perplexity.ai/v1/responses'],
  ['huggingface', { HF_TOKEN: key }, 'https://router.huggingface.co/v1/chat/completions'],
  ['vercel', { AI_GATEWAY_API_KEY: key }, 'https://ai-gateway.vercel.sh/v1/chat/completions'],
  ['zai', { ZAI_API_KEY: key }, 'https://api.z.ai/api/paas/v4/chat/completions'],
  ['moonshot', { MOONSHOT_API_KEY: key }, 'https://api.moonshot.ai/v1/chat/completions'],
  ['minimax', { MINIMAX_API_KEY: key }, 'https://api.minimax.io/v1/chat/completions'],
  ['alibaba', { DASHSCOPE_API_KEY: key }, 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions'],
  [
    'azure',
    { AZURE_API_KEY: key, AZURE_RESOURCE_NAME: 'mine' },
    'https://mine.openai.azure.com/openai/v1/chat/completions',
  ],
  [
    'azure',
    { AZURE_OPENAI_API_KEY: key, AZURE_OPENAI_ENDPOINT: 'https://mine.openai.azure.com/' },
    'https://mine.openai.azure.com/openai/v1/chat/completions',
  ],
  [
    'bedrock',
    { AWS_BEARER_TOKEN_BEDROCK: key, AWS_REGION: 'eu-west-1' },
    'https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1/chat/completions',
  ],
  [
    'vertex',
    { CLOUDSDK_AUTH_ACCESS_TOKEN: key, GOOGLE_CLOUD_PROJECT: 'p-1', GOOGLE_CLOUD_LOCATION: 'europe-west4' },
    'https://europe-west4-aiplatform.googleapis.com/v1/projects/p-1/locations/europe-west4/endpoints/openapi/chat/completions',
  ],
  [
    'vertex',
    { CLOUDSDK_AUTH_ACCESS_TOKEN: key, GOOGLE_CLOUD_PROJECT: 'p-1', GOOGLE_CLOUD_LOCATION: 'global' },
    'https://aiplatform.googleapis.com/v1/projects/p-1/locations/global/endpoints/openapi/chat/completions',
  ],
  [
    'cloudflare',
    { CLOUDFLARE_API_TOKEN: key, CLOUDFLARE_ACCOUNT_ID: 'a1' },
    'https://api.cloudflare.com/client/v4/accounts/a1/ai/v1/chat/completions',
  ],
  [
    'databricks',
    { DATABRICKS_TOKEN: key, DATABRICKS_HOST: 'https://dbc-1.cloud.databricks.com/' },
    'https://dbc-1.cloud.databricks.com/serving-endpoints/chat/completions',
  ],
  ['openrouter', { OPENROUTER_API_KEY: key }, 'https://openrouter.ai/api/v1/chat/completions'],
];

/** Those that need no key: they are named. */
const keyless: readonly [service: string, url: string][] = [
  ['ollama', 'http://127.0.0.1:11434/v1/chat/completions'],
  ['lmstudio', 'http://127.0.0.1:1234/v1/chat/completions'],
  ['vllm', 'http://127.0.0.1:8000/v1/chat/completions'],
  ['llamacpp', 'http://127.0.0.1:8080/v1/chat/completions'],
];

const turns = [{ role: 'user', content: 'hi' }];

/** The request of `text hi`, byte for byte. */
function requestTo(url: string, keyHeader: string): string {
  const usual = 'content-type: application/json\naccept: application/json\nuser-agent: gateway-cli/0.1.0\n';
  const body = { model: 'm', ...(url.endsWith('/responses') ? { input: turns, store: false } : { messages: turns }) };
  return `POST ${url}\n${usual}${keyHeader}\n${JSON.stringify(body, undefined, 2)}\n`;
}

test.each(documented)('%s from its variables alone: %j', async (service, env, url) => {
  const ran = await run(['text', 'hi', '-m', 'm', '--dry-run'], { env });
  const header = service === 'azure' ? 'api-key: (redacted)\n' : 'authorization: Bearer (redacted)\n';
  expect(ran).toMatchObject({ code: 0, stdout: requestTo(url, header), stderr: '' });
});

test("OpenAI's name at a host of Azure means the service there: its key, its form, its fields", async () => {
  const endpoint = 'https://mine.openai.azure.com/openai/v1';
  const line = [
    'text',
    'hi',
    '-m',
    'm',
    '--service',
    'openai',
    '--base-url',
    endpoint,
    '--max-tokens',
    '9',
    '--dry-run',
  ];
  const ran = await run(line, { env: { AZURE_OPENAI_API_KEY: key } });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toContain(`POST ${endpoint}/chat/completions\n`);
  expect(ran.stdout).toContain('\napi-key: (redacted)\n');
  expect(ran.stdout).toContain('"max_completion_tokens": 9');
  const other = await run(line.with(7, 'https://openrouter.ai/api'));
  expect(other).toMatchObject({ code: 2, stdout: '' });
  expect(other.stderr).toContain('is the host of openrouter, and the service is openai');
});

test.each(keyless)('%s without a key', async (service, url) => {
  const ran = await run(['text', 'hi', '-m', 'm', '--service', service, '--dry-run']);
  expect(ran).toMatchObject({ code: 0, stdout: requestTo(url, ''), stderr: '' });
});

test('every service of the completions format is in one of both tables', () => {
  const shown = new Set([...documented, ...keyless].map(([name]) => name));
  expect(serviceNames.filter((name) => services[name].formats.text === 'completions' && !shown.has(name))).toEqual([]);
});

/** Base URLs as people paste them, and where `text hi --format completions` goes. */
const pasted: readonly [baseUrl: string, url: string][] = [
  ['https://host', 'https://host/v1/chat/completions'],
  ['https://host/v1/', 'https://host/v1/chat/completions'],
  ['https://host/api/paas/v4', 'https://host/api/paas/v4/chat/completions'],
  ['https://host/v1beta/openai/', 'https://host/v1beta/openai/chat/completions'],
  ['https://host/openai/v1', 'https://host/openai/v1/chat/completions'],
  ['https://host/compat', 'https://host/compat/chat/completions'],
  ['https://host/inference', 'https://host/inference/chat/completions'],
  ['https://host/serving-endpoints', 'https://host/serving-endpoints/chat/completions'],
  ['https://host/openai?api-version=2026-01-01', 'https://host/openai/chat/completions?api-version=2026-01-01'],
  ['https://host?api-version=1', 'https://host/v1/chat/completions?api-version=1'],
  ['https://api.groq.com', 'https://api.groq.com/openai/v1/chat/completions'],
  ['https://openrouter.ai/api', 'https://openrouter.ai/api/v1/chat/completions'],
  ['https://openrouter.ai', 'https://openrouter.ai/api/v1/chat/completions'],
  ['https://api.deepseek.com/v1', 'https://api.deepseek.com/v1/chat/completions'],
  ['https://mine.services.ai.azure.com', 'https://mine.services.ai.azure.com/openai/v1/chat/completions'],
];

test.each(pasted)('the base URL %s leads to %s', async (baseUrl, url) => {
  const argv = ['text', 'hi', '-m', 'm', '--format', 'completions', '--base-url', baseUrl];
  const ran = await run([...argv, '--dry-run'], { env: { GATEWAY_API_KEY: key } });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout.split('\n')[0]).toBe(`POST ${url}`);
  const curl = await run([...argv, '--curl'], { env: { GATEWAY_API_KEY: key } });
  expect(curl.stdout).toContain(`'${url}'`);
});

/** Whole operations, pasted; the end that is cut is told. */
const operations: readonly [format: string, baseUrl: string, url: string, cut: string][] = [
  ['completions', 'https://host/v1/chat/completions', 'https://host/v1/chat/completions', '/chat/completions'],
  ['completions', 'https://host/v1/responses', 'https://host/v1/chat/completions', '/responses'],
  [
    'completions',
    'https://host/api/v4/images/generations',
    'https://host/api/v4/chat/completions',
    '/images/generations',
  ],
  ['completions', 'https://host/v1/models?v=1', 'https://host/v1/chat/completions?v=1', '/models'],
  ['completions', 'https://host/chat/completions', 'https://host/chat/completions', '/chat/completions'],
  [
    'content',
    'https://host/v1beta/models/x:generateContent',
    'https://host/v1beta/models/m:generateContent',
    '/v1beta/models/x:generateContent',
  ],
  ['responses', 'https://host/openai/v1/responses?v=1', 'https://host/openai/v1/responses?v=1', '/responses'],
  ['content', 'https://host/a/v1beta', 'https://host/a/v1beta/models/m:generateContent', '/v1beta'],
  ['messages', 'https://host/a/v1/messages', 'https://host/a/v1/messages', '/v1/messages'],
  ['messages', 'https://host/v1?x=1', 'https://host/v1/messages?x=1', '/v1'],
];

test.each(operations)('in %s the pasted %s is no base URL, and leads to %s', async (format, baseUrl, url, cut) => {
  const argv = ['text', 'hi', '-m', 'm', '--format', format, '--base-url', baseUrl, '--dry-run'];
  const ran = await run(argv, { env: { GATEWAY_API_KEY: key } });
  expect(ran.code).toBe(0);
  expect(ran.stdout.split('\n')[0]).toBe(`POST ${url}`);
  expect(ran.stderr).toContain(`${cut} at the end of the base URL is cut`);
});

test.each([
  ['content', 'https://host/v1/chat/completions', 'completions'],
  ['messages', 'https://host/chat/completions', 'completions'],
  ['messages', 'https://host/openai/v1/responses', 'responses'],
  ['content', 'https://host/v1/images/generations', 'completions'],
])('in %s the pasted %s is refused, and the format that has it is named', async (format, baseUrl, other) => {
  const argv = ['text', 'hi', '-m', 'm', '--format', format, '--base-url', baseUrl, '--dry-run'];
  const ran = await run(argv, { env: { GATEWAY_API_KEY: key } });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(`, which the ${format} format does not have\n  choose the ${other} format, or leave`);
  const examined = await run(['doctor', '--format', format, '--base-url', baseUrl.replace('host', '127.0.0.1:9')]);
  expect(examined.stdout).toMatch(new RegExp(`^FAILED +base URL .*, which the ${format} format does not have$`, 'm'));
});

const json = { 'content-type': 'application/json' };
const answered: FakeReply = {
  status: 200,
  headers: json,
  body: '{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}]}',
};

/** A server whose operations are below a path alone. */
async function serveBelow(path: string): Promise<FakeServer> {
  const server = await startFakeServer((request) => {
    if (request.path === `${path}/models`) return { status: 200, headers: json, body: '{"data":[{"id":"m"}]}' };
    const isThere = request.path === `${path}/chat/completions`;
    return isThere ? answered : { status: 404, headers: json, body: '{"detail":"Not Found"}' };
  });
  onTestFinished(() => server.close());
  vi.stubEnv('XDG_CACHE_HOME', scratchFolder());
  return server;
}

const asked = { GATEWAY_API_KEY: key, GATEWAY_FORMAT: 'completions', GATEWAY_MODEL: 'm' };

test('another path is taken whole, and after a 404 tried once with /v1, which is told and remembered', async () => {
  const server = await serveBelow('/llm/v1');
  const env = { ...asked, GATEWAY_BASE_URL: `${server.url}/llm?team=a` };
  const first = await run(['text', 'hi'], { env });
  expect(first).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  expect(first.stderr).toContain(`nothing answers at ${server.url}/llm: trying ${server.url}/llm/v1`);
  const next = await run(['chat', 'hi', '--no-stream'], { env });
  expect(next).toMatchObject({ code: 0, stderr: '' });
  const paths = ['/llm/chat/completions', '/llm/v1/chat/completions', '/llm/v1/chat/completions'];
  expect(server.requests.map(({ path }) => path)).toEqual(paths);
  expect(server.requests.every(({ query }) => query.get('team') === 'a')).toBe(true);
  const shown = await run(['text', 'hi', '--dry-run'], { env });
  expect(shown.stdout).toContain(`POST ${server.url}/llm/v1/chat/completions?team=a\n`);
});

test('a whole operation that was pasted is asked where it is, and after a 404 once below /v1', async () => {
  for (const [there, paths] of [
    ['', ['/chat/completions']],
    ['/v1', ['/chat/completions', '/v1/chat/completions']],
  ] as const) {
    const server = await serveBelow(there);
    const env = { ...asked, GATEWAY_BASE_URL: `${server.url}/chat/completions` };
    expect(await run(['text', 'hi'], { env })).toMatchObject({ code: 0, stdout: 'Hello.\n' });
    expect(server.requests.map(({ path }) => path)).toEqual(paths);
  }
});

test('a path that was right without /v1 and answers 404 with it is asked without it again, and that is remembered', async () => {
  let isBelow = true;
  const server = await startFakeServer((request) => {
    const there = isBelow ? '/llm/v1/chat/completions' : '/llm/chat/completions';
    return request.path === there ? answered : { status: 404, headers: json, body: '{"detail":"Not Found"}' };
  });
  onTestFinished(() => server.close());
  vi.stubEnv('XDG_CACHE_HOME', scratchFolder());
  const env = { ...asked, GATEWAY_BASE_URL: `${server.url}/llm` };
  expect(await run(['text', 'hi'], { env })).toMatchObject({ code: 0 });
  isBelow = false;
  const moved = await run(['text', 'hi'], { env });
  expect(moved).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  expect(moved.stderr).toContain(`nothing answers at ${server.url}/llm/v1: trying ${server.url}/llm, `);
  expect(await run(['text', 'hi'], { env })).toMatchObject({ code: 0, stderr: '' });
  const [plain, below] = ['/llm/chat/completions', '/llm/v1/chat/completions'];
  expect(server.requests.map(({ path }) => path)).toEqual([plain, below, below, plain, plain]);
});

test('models, the library and doctor --live find the path with /v1 too', async () => {
  const server = await serveBelow('/llm/v1');
  const env = { ...asked, GATEWAY_BASE_URL: `${server.url}/llm` };
  expect((await run(['models'], { env })).stdout).toBe('m\n');
  vi.stubEnv('XDG_CACHE_HOME', scratchFolder());
  const live = await run(['doctor', '--live'], { env });
  expect(live.stdout).toMatch(new RegExp(`^ok +completions +accepted$`, 'm'));
  const client = createClient({ baseUrl: `${server.url}/llm`, format: 'completions' });
  onTestFinished(() => client.close());
  expect(await client.generate({ model: 'm', prompt: 'hi' })).toMatchObject({ text: 'Hello.', attempts: 2 });
});

test.each([
  ['a version', '/v2', 1],
  ['no path', '', 1],
  ['another path', '/elsewhere', 2],
])('a 404 of a base URL with %s names the path that was used', async (_, path, requests) => {
  const server = await serveBelow('/llm');
  const ran = await run(['text', 'hi'], { env: { ...asked, GATEWAY_BASE_URL: server.url + path } });
  expect(ran.code).toBe(4);
  expect(server.requests).toHaveLength(requests);
  expect(ran.stderr).toContain(`${server.url}${server.requests.at(-1)?.path}`);
});

test('an unknown model is a 404 that says so: nothing is tried', async () => {
  const server = await startFakeServer(() => ({
    status: 404,
    headers: json,
    body: '{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}',
  }));
  onTestFinished(() => server.close());
  const ran = await run(['text', 'hi'], { env: { ...asked, GATEWAY_BASE_URL: `${server.url}/llm` } });
  expect(ran.code).toBe(4);
  expect(server.requests).toHaveLength(1);
});

test.each([
  ['azure', { AZURE_API_KEY: key }, 'AZURE_RESOURCE_NAME', 'AZURE_OPENAI_ENDPOINT'],
  ['bedrock', { AWS_BEARER_TOKEN_BEDROCK: key }, 'AWS_REGION', '--base-url'],
  [
    'vertex',
    { CLOUDSDK_AUTH_ACCESS_TOKEN: key, GOOGLE_CLOUD_LOCATION: 'global' },
    'GOOGLE_CLOUD_PROJECT',
    '--base-url',
  ],
  ['cloudflare', { CLOUDFLARE_API_TOKEN: key }, 'CLOUDFLARE_ACCOUNT_ID', '--base-url'],
  ['databricks', { DATABRICKS_TOKEN: key }, 'DATABRICKS_HOST', '--base-url'],
])('%s without a part of its address ends with 2, and names the variable', async (_, env, variable, other) => {
  const ran = await run(['text', 'hi', '-m', 'm'], { env });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(`${variable} is not set`);
  expect(ran.stderr).toContain(`set ${variable}, or give the whole address`);
  expect(ran.stderr).toContain(other);
});

test('a part of an address that would change the rest of it is refused', async () => {
  const env = { AZURE_API_KEY: key, AZURE_RESOURCE_NAME: 'evil.example/x' };
  const ran = await run(['text', 'hi', '-m', 'm', '--dry-run'], { env });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('AZURE_RESOURCE_NAME: not a part of an address');
});

test('a service without a default model says how to name one', async () => {
  const ran = await run(['text', 'hi'], { env: { GROQ_API_KEY: key } });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('no model is set');
  expect(ran.stderr).toContain('gateway-cli models');
});

test.each([
  ['azure', { AZURE_API_KEY: key }, 'https://azure.example/openai/v1'],
  ['groq', { GROQ_API_KEY: key }, 'https://groq.example/v1'],
  ['databricks', { DATABRICKS_TOKEN: key, DATABRICKS_HOST: 'mine.example' }, 'https://other.example'],
])('the key of %s goes to no other host: exit code 3', async (service, env, baseUrl) => {
  const ran = await run(['text', 'hi', '-m', 'm', '--service', service, '--base-url', baseUrl], { env });
  expect(ran.code).toBe(3);
});

test('an address in a variable gets the key beside it, and the path that its own tools add', async () => {
  const relay = { GROQ_API_KEY: key, GROQ_BASE_URL: 'https://relay.example' };
  const ran = await run(['text', 'hi', '-m', 'm', '--dry-run'], { env: relay });
  expect(ran.stdout).toContain('POST https://relay.example/openai/v1/chat/completions\n');
  expect(ran.stdout).toContain('authorization: Bearer (redacted)');
  const own = { DATABRICKS_TOKEN: key, DATABRICKS_HOST: 'data.mine.example' };
  const named = await run(['text', 'hi', '-m', 'm', '--dry-run'], { env: own });
  expect(named.stdout).toContain('POST https://data.mine.example/serving-endpoints/chat/completions\n');
  expect(named.stdout).toContain('authorization: Bearer (redacted)');
});

test('a key of a service without a default model, and a token that opens other things too, yield to others', async () => {
  const env = { HF_TOKEN: key, CLOUDFLARE_API_TOKEN: key, GROQ_API_KEY: key, OPENAI_API_KEY: key };
  const ran = await run(['text', 'hi', '--dry-run'], { env });
  expect(ran.stdout).toContain('POST https://api.openai.com/v1/responses\n');
  const groq = await run(['text', 'hi', '-m', 'm', '--dry-run'], { env: { HF_TOKEN: key, GROQ_API_KEY: key } });
  expect(groq.stdout).toContain('POST https://api.groq.com/');
  const both = await run(['text', 'hi', '-m', 'm'], { env: { GROQ_API_KEY: key, XAI_API_KEY: key } });
  expect(both).toMatchObject({ code: 2, stdout: '' });
  expect(both.stderr).toContain('gateway-cli text --service groq');
});

test("Mistral's seed has its own name", async () => {
  const argv = ['text', 'hi', '-m', 'm', '--seed', '7', '--dry-run'];
  expect((await run(argv, { env: { MISTRAL_API_KEY: key } })).stdout).toContain('"random_seed": 7');
});

test('a credential in the query of a base URL goes with the request, and is shown nowhere', async () => {
  const server = await serveBelow('/v1');
  const env = { ...asked, GATEWAY_BASE_URL: `${server.url}/v1?code=secret0123456789&v=1` };
  for (const argv of [['text', 'hi', '--verbose'], ['text', 'hi', '--dry-run'], ['config', 'list'], ['doctor']]) {
    const ran = await run(argv, { env });
    expect(ran.code).toBe(0);
    expect(ran.stdout + ran.stderr).not.toContain('secret0123456789');
  }
  expect(server.requests[0]?.query.get('code')).toBe('secret0123456789');
});
