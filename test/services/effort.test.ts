import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { createClient } from '../../src/index.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { canaryKey, test, textReply } from '../helpers/with-server.ts';

// One word for how much a model thinks, and what each service and each family of models is told. The table can be read as
// documentation: the fields that the word becomes, or why nothing is sent.

const folder = scratchFolder();
const budget = (thinkingBudget: number): object => ({ generationConfig: { thinkingConfig: { thinkingBudget } } });
const level = (thinkingLevel: string): object => ({ generationConfig: { thinkingConfig: { thinkingLevel } } });
const reasoning = (word: string): object => ({ reasoning_effort: word });
const output = (effort: string): object => ({ output_config: { effort } });

const table: [service: string, model: string, word: string, sent: object | string, told?: string][] = [
  ['openai', 'gpt-6-luna', 'none', reasoning('none')],
  ['openai', 'gpt-6-luna', 'max', reasoning('max')],
  ['openai', 'gpt-6-luna', 'minimal', 'it takes --effort none, low, medium, high, xhigh, max'],
  ['openai', 'gpt-6.2-sol', 'none', 'it takes --effort low, medium, high, xhigh, max'],
  ['openai', 'gpt-5.4-2026-03-05', 'xhigh', reasoning('xhigh')],
  ['openai', 'gpt-5.1', 'xhigh', 'it takes --effort none, low, medium, high'],
  ['openai', 'gpt-5-mini', 'minimal', reasoning('minimal')],
  ['openai', 'a-model-of-tomorrow', 'minimal', reasoning('minimal')],
  ['anthropic', 'claude-sonnet-5-5', 'xhigh', output('xhigh')],
  ['anthropic', 'claude-sonnet-5-5', 'none', { thinking: { type: 'between_tools' } }],
  ['anthropic', 'claude-sonnet-5-5', 'minimal', output('low'), 'has no effort minimal: low is asked for'],
  ['anthropic', 'claude-opus-5-5', 'none', 'it takes --effort low, medium, high, xhigh, max'],
  ['anthropic', 'claude-sonnet-4-6', 'none', { thinking: { type: 'disabled' } }],
  ['anthropic', 'claude-haiku-4-5-20251001', 'low', 'it takes --effort none'],
  ['anthropic', 'claude-of-tomorrow-7', 'none', { thinking: { type: 'disabled' } }],
  ['gemini', 'gemini-3.8-flash', 'high', level('HIGH')],
  ['gemini', 'gemini-3.8-flash', 'minimal', 'it takes --effort low, medium, high'],
  ['gemini', 'gemini-3.8-flash', 'none', 'it takes --effort low, medium, high'],
  ['gemini', 'gemini-3.5-flash', 'none', level('MINIMAL'), 'has no effort none: minimal is asked for'],
  ['gemini', 'gemini-4-hydrogen', 'xhigh', level('XHIGH')],
  ['gemini', 'gemini-4-argon', 'max', 'it takes --effort low, medium, high'],
  ['gemini', 'gemini-2.5-flash', 'none', budget(0)],
  ['gemini', 'gemini-2.5-flash', 'medium', budget(8192)],
  ['gemini', 'gemini-2.5-pro', 'max', budget(32_768)],
  ['gemini', 'gemini-2.5-pro', 'none', 'it takes --effort minimal, low, medium, high, xhigh, max'],
  ['gemini', 'gemini-of-tomorrow', 'xhigh', level('XHIGH')],
  ['openrouter', 'openai/gpt-6.2-sol', 'none', { reasoning: { effort: 'none' } }],
  ['ollama', 'qwen3', 'medium', reasoning('medium')],
  ['ollama', 'qwen3', 'xhigh', reasoning('max'), 'has no effort xhigh: max is asked for'],
];

const effortFields = new Set(['reasoning_effort', 'reasoning', 'thinking', 'output_config', 'generationConfig']);

test.for(table)(
  '%s is asked of %s with the effort %s as it takes it',
  async ([service, model, word, sent, told], { cli }) => {
    const argv = ['text', 'hi', '--dry-run', '--json', '--service', service, '-m', model, '--effort', word];
    const ran = await cli(argv);
    if (typeof sent === 'string') {
      const words = `gateway-cli: usage: ${model} does not take the effort ${word}\n  ${sent}\n`;
      return expect(ran).toMatchObject({ code: 2, stderr: words });
    }
    const { body } = JSON.parse(ran.stdout) as { body: Record<string, unknown> };
    const fields = Object.entries(body).filter(([name]) => effortFields.has(name));
    expect({ fields: Object.fromEntries(fields), stderr: ran.stderr }).toEqual({
      fields: sent,
      stderr: told === undefined ? '' : `gateway-cli: warning: ${model} ${told}\n`,
    });
  },
);

test('a request without an effort says nothing of thinking, in any format', async ({ server, cli }) => {
  server.always({ status: 400, body: {} });
  for (const format of ['content', 'messages', 'completions']) await cli(['text', 'hi', '--format', format]);
  const fields = server.requests.flatMap((request) => Object.keys(request.json() as object));
  expect(fields.filter((name) => effortFields.has(name))).toEqual([]);
});

test('the effort of a profile is that of texts and chats, a flag wins over it, and so does a field that --set says', async ({
  server,
  cli,
}) => {
  const path = join(folder, 'config.json');
  const profile = { baseUrl: server.url, apiKey: canaryKey, models: { text: 'm', image: 'm' }, effort: 'low' };
  writeFileSync(path, JSON.stringify({ profile: 'p', profiles: { p: profile } }), { mode: 0o600 });
  server.always({ status: 400, body: {} });
  const env = { GATEWAY_CONFIG: path };
  await cli(['text', 'hi'], { env });
  await cli(['text', 'hi', '--effort', 'high'], { env });
  await cli(['text', 'hi', '--set', 'generationConfig.thinkingConfig.thinkingBudget=7'], { env });
  await cli(['image', 'gen', 'hi', '-o', join(folder, 'x.png')], { env });
  const configs = server.requests.map((request) => (request.json() as { generationConfig?: object }).generationConfig);
  expect(configs).toEqual([
    { thinkingConfig: { thinkingLevel: 'LOW' } },
    { thinkingConfig: { thinkingLevel: 'HIGH' } },
    { thinkingConfig: { thinkingBudget: 7 } },
    undefined,
  ]);
});

test.for([
  [
    '--set',
    ['--set', 'reasoning_effort=low'],
    '--effort and --set reasoning_effort both say how much the model thinks',
  ],
  ['--body', ['--body', '{"reasoning_effort":"low"}'], 'an effort is given, and the body has reasoning_effort'],
] as const)('an effort that %s says too is refused before anything is sent', async ([, more, words], { cli }) => {
  const ran = await cli(['text', 'hi', '--format', 'completions', '--effort', 'high', ...more]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(words);
  expect(ran.stderr).toContain('keep one of them');
});

test('a job of a batch has its own effort, and what stands for another word is a warning of its result', async ({
  server,
  cli,
}) => {
  server.always({ body: textReply('Hello.') });
  const jobs =
    '{"id":"a","prompt":"hi","effort":"high"}\n{"id":"b","prompt":"hi","effort":"none","model":"gemini-3-flash"}\n';
  const out = join(folder, 'out');
  const ran = await cli(['batch', '-', '-o', out, '--format', 'content', '--concurrency', '1'], { stdin: jobs });
  expect(ran).toMatchObject({ code: 0 });
  const sent = server.requests.map((request) => (request.json() as { generationConfig: object }).generationConfig);
  expect(sent).toEqual([
    { thinkingConfig: { thinkingLevel: 'HIGH' } },
    { thinkingConfig: { thinkingLevel: 'MINIMAL' } },
  ]);
  const results = readFileSync(join(out, 'results.jsonl'), 'utf8').trim().split('\n');
  expect(results.map((line) => (JSON.parse(line) as { warnings?: string[] }).warnings?.[0])).toEqual([
    undefined,
    'gemini-3-flash has no effort none: minimal is asked for',
  ]);
  const bad = await cli(['batch', '-', '-o', join(folder, 'bad')], { stdin: '{"prompt":"hi","effort":"huge"}\n' });
  expect(bad).toMatchObject({ code: 2 });
  expect(bad.stderr).toContain('medium');
});

test('the library sends an effort, tells what stands for it, and refuses what the model is known not to take', async ({
  server,
}) => {
  server.always({ body: textReply('Hello.') });
  const client = createClient({ baseUrl: server.url, service: 'gemini', apiKey: canaryKey });
  const { warnings } = await client.generate({ model: 'gemini-3.5-flash', prompt: 'hi', effort: 'none' });
  expect(server.requests[0]?.json()).toMatchObject(level('MINIMAL'));
  expect(warnings).toContain('gemini-3.5-flash has no effort none: minimal is asked for');
  await expect(client.generate({ model: 'gemini-3.8-flash', prompt: 'hi', effort: 'max' })).rejects.toMatchObject({
    class: 'usage',
    details: { reason: 'effort', value: 'low, medium, high', sent: 'no' },
  });
  await expect(client.generate({ model: 'm', prompt: 'hi', effort: 'huge' as 'high' })).rejects.toMatchObject({
    class: 'usage',
  });
  await client.close();
});

/** What the lists say of efforts, and what a word becomes, or why nothing is sent. */
const anthropicModel = (effort: object, types: object): object => ({
  id: 'claude-of-tomorrow',
  capabilities: { effort, thinking: { supported: true, types } },
});
const supported = { supported: true };
const routed = { id: 'claude-of-tomorrow', reasoning: { mandatory: false, supported_efforts: ['high', 'low'] } };
const listed: [service: string, model: object, word: string, sent: object | string][] = [
  ['anthropic', anthropicModel({ supported: true, low: supported, max: supported }, {}), 'max', output('max')],
  ['anthropic', anthropicModel({ supported: true, low: supported, max: null }, {}), 'max', 'it takes --effort low'],
  [
    'anthropic',
    anthropicModel({ supported: true, low: supported }, { between_tools: supported, disabled: { supported: false } }),
    'none',
    { thinking: { type: 'between_tools' } },
  ],
  ['anthropic', anthropicModel({ supported: true, low: supported }, {}), 'none', 'it takes --effort low'],
  ['anthropic', anthropicModel({ supported: false }, {}), 'low', 'change --effort, or leave it out'],
  ['openrouter', routed, 'low', { reasoning: { effort: 'low' } }],
  ['openrouter', routed, 'none', { reasoning: { effort: 'none' } }],
  ['openrouter', routed, 'max', 'it takes --effort none, low, high'],
  [
    'openrouter',
    { ...routed, reasoning: { mandatory: true, supported_efforts: ['high'] } },
    'none',
    'it takes --effort high',
  ],
];

test.for(listed)(
  'by the kept list, %s with %j gets the effort %s as it takes it',
  async ([service, model, word, sent], { server, cli }) => {
    vi.stubEnv('XDG_CACHE_HOME', scratchFolder());
    server.always({ body: { data: [model] } });
    const env = { GATEWAY_SERVICE: service, GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: canaryKey };
    const argv = ['text', 'hi', '--dry-run', '--json', '-m', 'claude-of-tomorrow', '--effort', word];
    expect(await cli(['models'], { env })).toMatchObject({ code: 0 });
    const ran = await cli(argv, { env });
    expect(server.requests.length).toBe(1);
    if (typeof sent === 'string') {
      const words = `gateway-cli: usage: claude-of-tomorrow does not take the effort ${word}\n  ${sent}\n`;
      return expect(ran).toMatchObject({ code: 2, stderr: words });
    }
    expect((JSON.parse(ran.stdout) as { body: object }).body).toMatchObject(sent);
  },
);

test('models shows the efforts of a list, and names them in the hint of one that --set says and the service refuses', async ({
  server,
  cli,
}) => {
  vi.stubEnv('XDG_CACHE_HOME', scratchFolder());
  const env = { GATEWAY_SERVICE: 'openrouter', GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: canaryKey };
  server.reply({ body: { data: [routed] } });
  const shown = await cli(['models', '--json'], { env });
  expect(JSON.parse(shown.stdout)).toMatchObject({ models: [{ efforts: ['none', 'low', 'high'] }] });
  server.reply({ body: { data: [routed] } });
  const seen = await cli(['models'], { env, tty: { stdout: true } });
  expect(seen.stdout).toContain('effort none…high');
  server.reply({ status: 400, body: { error: { message: 'reasoning.effort: not here' } } });
  const argv = ['text', 'hi', '-m', 'claude-of-tomorrow', '--set', 'reasoning.effort=max'];
  expect((await cli(argv, { env })).stderr).toContain('\n  it takes --effort none, low, high\n');
});

test('a fallback gets the effort in its own words, and one that it does not take is refused before anything is sent', async ({
  server,
  cli,
}) => {
  const busy = { status: 429, body: { error: { code: 429, message: 'busy', status: 'RESOURCE_EXHAUSTED' } } };
  const sentConfigs = (): unknown[] =>
    server.requests.slice(-2).map((request) => (request.json() as { generationConfig?: object }).generationConfig);
  const both = [level('LOW'), budget(1024)].map((body) => (body as { generationConfig: object }).generationConfig);
  const flags = ['--effort', 'low', '--fallback', 'gemini-2.5-flash', '-m', 'gemini-3.8-flash'];
  const expectBoth = async (argv: string[], stdin = ''): Promise<void> => {
    server.reply(busy);
    server.reply({ body: textReply('Hello.') });
    const ran = await cli([...argv, '--retries', '0', '--format', 'content'], { stdin });
    expect(ran).toMatchObject({ code: 0 });
    expect(sentConfigs()).toEqual(both);
  };
  await expectBoth(['text', 'hi', ...flags]);
  await expectBoth(['chat', 'hi', '--no-stream', ...flags]);
  const job = { prompt: 'hi', model: 'gemini-3.8-flash', effort: 'low', fallback: 'gemini-2.5-flash' };
  await expectBoth(['batch', '-', '-o', join(folder, 'fb')], `${JSON.stringify(job)}\n`);
  const client = createClient({ baseUrl: server.url, service: 'gemini', apiKey: canaryKey, retries: 0 });
  server.reply(busy);
  server.reply({ body: textReply('Hello.') });
  const request = { model: 'gemini-3.8-flash', prompt: 'hi', effort: 'low' } as const;
  await client.generate(request, { fallback: 'gemini-2.5-flash' });
  expect(sentConfigs()).toEqual(both);
  const off = { ...request, model: 'gemini-2.5-flash', effort: 'none' } as const;
  await expect(client.generate(off, { fallback: 'gemini-3.8-flash' })).rejects.toMatchObject({ class: 'usage' });
  await client.close();
  const refused = await cli([
    'text',
    'hi',
    '-m',
    'gemini-2.5-flash',
    '--effort',
    'none',
    '--fallback',
    'gemini-3.8-flash',
  ]);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('gemini-3.8-flash does not take the effort none');
});

const openai = { GATEWAY_SERVICE: 'openai', GATEWAY_API_KEY: canaryKey };

test.for([
  [
    'OpenAI',
    'completions',
    {
      error: {
        message:
          "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.",
        type: 'invalid_request_error',
        param: 'reasoning_effort',
        code: 'unsupported_value',
      },
    },
    'it takes --effort none, low, medium, high, xhigh\n',
  ],
  [
    'Google',
    'content',
    {
      error: {
        code: 400,
        message: "'minimal' is not a supported thinking level for this model. Allowed values are: medium, low, high.",
        status: 'INVALID_ARGUMENT',
      },
    },
    'it takes --effort low, medium, high\n',
  ],
  [
    'Anthropic',
    'messages',
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'This model does not support the effort parameter.' },
    },
    'change --effort, or leave it out\n',
  ],
] as const)(
  'the hint of an effort that %s refuses names what its words name',
  async ([, format, body, hint], { server, cli }) => {
    server.reply({ status: 400, body });
    const ran = await cli(['text', 'hi', '--format', format, '--effort', 'minimal'], { env: openai });
    expect(ran).toMatchObject({ code: 4, stdout: '' });
    expect(ran.stderr).toContain(`\n  ${hint}`);
    expect(server.requests).toHaveLength(1);
  },
);

test.for([
  [
    'gpt-6-luna',
    /'temperature': change --temperature, or leave it out; without thinking, the model may take it: --effort none\n$/,
  ],
  ['gpt-6.2-sol', /'temperature': change --temperature, or leave it out\n$/],
] as const)(
  'the hint of a temperature that %s refuses names --effort none where the model has it',
  async ([model, hint], { server, cli }) => {
    const message = "Unsupported parameter: 'temperature' is not supported with this model.";
    const error = { message, type: 'invalid_request_error', param: 'temperature', code: 'unsupported_parameter' };
    server.reply({ status: 400, body: { error } });
    const ran = await cli(['text', 'hi', '--temperature', '0.5', '-m', model], { env: openai });
    expect(ran).toMatchObject({ code: 4 });
    expect(ran.stderr).toMatch(hint);
  },
);
