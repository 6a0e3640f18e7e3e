import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createClient } from '../../../src/index.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { canaryKey, eventStream, test, textReply } from '../../helpers/with-server.ts';

// What a service says that an answer cost, and what is computed where it does not.

const completions = ['--format', 'completions'];
const choice = { index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' };
const counts = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 };
const completion = (usage: object = {}): object => ({ choices: [choice], usage: { ...counts, ...usage } });
const stream = (usage: object): string =>
  [
    { choices: [{ index: 0, delta: { content: 'hi' } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: { ...counts, ...usage } },
  ]
    .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
    .join('') + 'data: [DONE]\n\n';
const sse = { 'content-type': 'text/event-stream' };
const usd = (amount: string): object => ({ amount, currency: 'USD' });
const costOf = (stdout: string): unknown => (JSON.parse(stdout) as { cost?: unknown }).cost;

test.for([
  ['OpenRouter', { cost: 0.00014 }, '0.00014'],
  ['OpenRouter, very little', { cost: 1.4e-7 }, '0.00000014'],
  ['OpenRouter, nothing', { cost: 0 }, '0'],
  [
    'OpenRouter, with a key of your own',
    { cost: 0.1, is_byok: true, cost_details: { upstream_inference_cost: 0.2 } },
    '0.3',
  ],
  [
    'OpenRouter, with its own key',
    { cost: 0.1, is_byok: false, cost_details: { upstream_inference_cost: 0.2 } },
    '0.1',
  ],
  ['Perplexity', { cost: { input_tokens_cost: 0.001, total_cost: 0.006 } }, '0.006'],
  ['xAI', { cost_in_usd_ticks: 318_319_000 }, '0.0318319'],
] as const)(
  'the cost that %s tells is the cost, streamed and whole, with no price and with one',
  async ([, usage, amount], { server, cli }) => {
    const cost = { ...usd(amount), told: true };
    const prices = ['--prices', '{"m":{"input":"1","output":"2"}}'];
    for (const more of [[], prices]) {
      server.reply({ body: completion(usage) });
      expect(costOf((await cli(['text', 'hi', '--json', ...completions, ...more])).stdout)).toEqual(cost);
      server.reply({ headers: sse, body: stream(usage) });
      expect(costOf((await cli(['chat', 'hi', '--json', ...completions, ...more])).stdout)).toEqual(cost);
    }
    server.reply({ headers: sse, body: stream(usage) });
    expect((await cli(['text', 'hi', '--stream', '-v', ...completions])).stderr).toContain(
      `cost: ${amount} USD as told`,
    );
  },
);

test.for([
  ['a text', { cost: 'much' }],
  ['a debt', { cost: -1 }],
  ['nothing', { cost: null, cost_in_usd_ticks: null }],
  ['an object without a total', { cost: { input_tokens_cost: 1 } }],
] as const)('%s in place of a cost is none: the price counts', async ([, usage], { server, cli }) => {
  server.reply({ body: completion(usage) });
  const ran = await cli(['text', 'hi', '--json', ...completions, '--prices', '{"m":{"input":"1","output":"2"}}']);
  expect(costOf(ran.stdout)).toEqual(usd('0.00102'));
});

test('the header of LiteLLM tells the cost in every format, but where it is 0, which it says of unknown models too', async ({
  server,
  cli,
}) => {
  server.reply({ headers: { 'x-litellm-response-cost': '3.6e-05' }, body: textReply('hi') });
  expect(costOf((await cli(['text', 'hi', '--json'])).stdout)).toEqual({ ...usd('0.000036'), told: true });
  for (const value of ['0.0', 'None', '', '-1']) {
    server.reply({ headers: { 'x-litellm-response-cost': value }, body: textReply('hi') });
    expect(costOf((await cli(['text', 'hi', '--json'])).stdout)).toBeUndefined();
  }
});

test('a told cost does not count where the price of the model is in another currency', async ({ server, cli }) => {
  server.reply({ body: completion({ cost: 0.5 }) });
  const prices = '{"m":{"input":"1","output":"2","currency":"EUR"}}';
  const ran = await cli(['text', 'hi', '--json', ...completions, '--prices', prices]);
  expect(costOf(ran.stdout)).toEqual({ amount: '0.00102', currency: 'EUR' });
});

test('a batch keeps told costs apart from computed ones, in its journal, its results and its summary', async ({
  server,
  cli,
}) => {
  server.reply({ body: completion({ cost: 0.5 }) });
  server.reply({ body: completion({ cost: 0.25 }) });
  server.reply({ body: completion() });
  const out = join(scratchFolder(), 'out');
  const prices = ['--prices', '{"m":{"input":"1","output":"2"}}'];
  const jobs = '{"prompt":"a"}\n{"prompt":"b"}\n{"prompt":"c"}\n';
  const ran = await cli(['batch', '-', '-o', out, '--concurrency', '1', ...completions, ...prices], { stdin: jobs });
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.stderr).toContain('cost: 0.75 USD as told and 0.00102 USD');
  const [first] = readFileSync(join(out, 'results.jsonl'), 'utf8').split('\n');
  expect(costOf(first as string)).toEqual({ ...usd('0.5'), told: true });
  expect(readFileSync(join(out, 'journal.jsonl'), 'utf8')).toContain(
    '"cost":{"amount":"0.25","currency":"USD","told":true}',
  );
  expect(costOf(readFileSync(join(out, 'summary.json'), 'utf8'))).toEqual([
    { ...usd('0.75'), told: true },
    usd('0.00102'),
  ]);
});

test('a batch without prices sums what the service told', async ({ server, cli }) => {
  server.always({ body: completion({ cost: 0.1 }) });
  const out = join(scratchFolder(), 'out');
  await cli(['batch', '-', '-o', out, ...completions], { stdin: '{"prompt":"a"}\n{"prompt":"b"}\n{"prompt":"c"}\n' });
  expect(costOf(readFileSync(join(out, 'summary.json'), 'utf8'))).toEqual([{ ...usd('0.3'), told: true }]);
});

test('a budget counts what the service told, and marks it', async ({ server, cli }) => {
  server.reply({ body: completion({ cost: 0.5 }) });
  const path = join(scratchFolder(), 'team.jsonl');
  const more = ['--max-tokens', '9', '--prices', '{"m":{"input":"1","output":"2"}}', '--budget', `${path}:10`];
  expect(await cli(['text', 'hi', ...completions, ...more])).toMatchObject({ code: 0 });
  expect(readFileSync(path, 'utf8')).toMatch(/"type":"spent".*"amount":"0\.5".*"told":true/);
});

test('the library has a told cost in the reply', async ({ server }) => {
  server.reply({ body: completion({ cost: 0.5 }) });
  const client = createClient({ baseUrl: server.url, service: 'openai', apiKey: canaryKey });
  expect((await client.generate({ model: 'm', prompt: 'hi' })).toldCost).toEqual(usd('0.5'));
  await client.close();
});

const message = (usage: object): object => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1000, output_tokens: 10, ...usage },
});
const response = (usage: object, more: object = {}): object => ({
  object: 'response',
  status: 'completed',
  output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
  usage: { input_tokens: 1000, output_tokens: 10, ...usage },
  ...more,
});
const written = {
  cache_creation_input_tokens: 500,
  cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 400 },
};

test.for([
  ['messages', 'writes for five minutes and for an hour', message(written), { cacheWrite: '1.25' }, '0.001945'],
  ['messages', 'a price of writes for an hour', message(written), { cacheWriteLong: '3' }, '0.00232'],
  ['messages', 'two searches', message({ server_tool_use: { web_search_requests: 2 } }), { search: '0.01' }, '0.02102'],
  [
    'completions',
    'writes within the input',
    completion({ prompt_tokens_details: { cached_tokens: 200, cache_write_tokens: 300 } }),
    { cached: '0.1', cacheWrite: '1.25' },
    '0.000915',
  ],
  [
    'completions',
    'a search',
    completion({ server_tool_use_details: { web_search_requests: 1 } }),
    { search: '0.01' },
    '0.01102',
  ],
  [
    'responses',
    'writes for half an hour and twelve',
    response({
      input_tokens_details: {
        cache_write_tokens: 300,
        cache_write_tokens_details: { ttl_30m_tokens: 100, ttl_12h_tokens: 200 },
      },
    }),
    { cacheWrite: '1.25', cacheWriteLong: '2.5' },
    '0.001345',
  ],
  [
    'responses',
    'a search',
    response({}, { tool_usage: { web_search: { num_requests: 1 } } }),
    { search: '0.01' },
    '0.01102',
  ],
] as const)(
  'a reply of the %s format with %s costs what its price says',
  async ([format, , body, more, amount], { server, cli }) => {
    server.reply({ body });
    const prices = JSON.stringify({ m: { input: '1', output: '2', ...more } });
    const ran = await cli(['text', 'hi', '--json', '--format', format, '--prices', prices]);
    expect(ran).toMatchObject({ code: 0 });
    expect(costOf(ran.stdout)).toEqual(usd(amount));
  },
);

test('a search without a price makes the cost unknown, with a warning', async ({ server, cli }) => {
  server.reply({ body: message({ server_tool_use: { web_search_requests: 2 } }) });
  const ran = await cli([
    'text',
    'hi',
    '--json',
    '--format',
    'messages',
    '--prices',
    '{"m":{"input":"1","output":"2"}}',
  ]);
  expect(costOf(ran.stdout)).toBeUndefined();
  expect(ran.stderr).toContain('the cost is unknown: the price has no search, and the service searched');
});

test.for([
  [200_000, '0.2', 'at the step'],
  [200_001, '0.400002', 'above it'],
  [400_001, '1.200003', 'above the next'],
] as const)('a prompt of %s tokens costs %s: it is %s', async ([tokens, amount], { server, cli }) => {
  server.reply({ body: completion({ prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens }) });
  const steps = [
    { above: 400_000, input: '3' },
    { above: 200_000, input: '2' },
  ];
  const prices = JSON.stringify({ m: { input: '1', output: '2', tiers: steps } });
  const ran = await cli(['text', 'hi', '--json', ...completions, '--prices', prices]);
  expect(costOf(ran.stdout)).toEqual(usd(amount));
});

test('the length of a prompt of the messages format counts what a cache has of it', async ({ server, cli }) => {
  server.reply({ body: message({ cache_read_input_tokens: 200_000 }) });
  const prices =
    '{"m":{"input":"1","output":"2","cached":"0.1","tiers":[{"above":200000,"input":"2","cached":"0.2"}]}}';
  const ran = await cli(['text', 'hi', '--json', '--format', 'messages', '--prices', prices]);
  expect(costOf(ran.stdout)).toEqual(usd('0.04202'));
});

test('a limit reserves the price of the longest prompt that a request can have', async ({ server, cli }) => {
  const file = join(scratchFolder(), 'long.txt');
  writeFileSync(file, 'x '.repeat(2000));
  const prices = ['--prices', '{"m":{"input":"1","output":"0","tiers":[{"above":1000,"input":"1000"}]}}'];
  const limit = ['--budget', `${join(scratchFolder(), 'team.jsonl')}:1`];
  const argv = ['text', '--prompt-file', file, '--max-tokens', '9', ...completions, ...prices, ...limit];
  expect(await cli(argv)).toMatchObject({ code: 13 });
  expect(server.requests).toHaveLength(0);
});

test('what another model used to write an SVG counts in the cost, and the cost is unknown without a price of it', async ({
  server,
  cli,
}) => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64');
  const usage = { input_tokens: 1000, output_tokens: 100, total_tokens: 1100 };
  const svgUsage = { model: 'writer', input_tokens: 50, output_tokens: 2000, reasoning_tokens: 0, total_tokens: 2050 };
  const reply = { body: { data: [{ b64_json: svg }], output_format: 'svg', usage, svg_usage: svgUsage } };
  const odd = { body: { ...reply.body, svg_usage: [svgUsage] } };
  for (const one of [reply, reply, odd]) server.reply(one);
  const cwd = scratchFolder();
  const asked = ['image', 'gen', 'a leaf', '--service', 'openai', '--model', 'm', '--base-url', server.url];
  const ask = (priced: string[]): ReturnType<typeof cli> =>
    cli([...asked, '-o', 'leaf.svg', '--force', '--json', '--prices', price(priced)], { cwd });
  const price = (names: string[]): string =>
    JSON.stringify(Object.fromEntries(names.map((name) => [name, { input: '1', output: '10', imageOutput: '10' }])));
  expect(costOf((await ask(['m', 'writer'])).stdout)).toEqual(usd('0.02205'));
  const unpriced = await ask(['m']);
  expect([unpriced.code, costOf(unpriced.stdout)]).toEqual([0, undefined]);
  expect(unpriced.stderr).toContain(
    'the cost is unknown: the model writer, which worked for the one that was asked, has no price',
  );
  expect(costOf((await ask(['m', 'writer'])).stdout)).toBeUndefined();
});

const usage = { input_tokens: 1000, output_tokens: 10 };
const plainPrice = { input: '1', output: '2' };

test.for([
  ['in fast mode', { speed: 'fast' }, { fast: '6' }, 'standard fast', '0.00612'],
  ['made in the United States', { inference_geo: 'us' }, { us: '1.1' }, 'standard us', '0.001122'],
  ['with both', { speed: 'fast', inference_geo: 'us' }, { fast: '6', us: '1.1' }, 'standard fast us', '0.006732'],
  ['of the usual kind', { speed: 'standard', inference_geo: 'not_available' }, {}, 'standard', '0.00102'],
  ['made anywhere', { speed: null, inference_geo: 'global' }, {}, 'standard', '0.00102'],
] as const)('an answer of Anthropic %s costs its factors, streamed and whole', async (row, { server, cli }) => {
  const [, more, factors, tier, amount] = row;
  const said = { service_tier: 'standard', ...more };
  const flags = ['--json', '--format', 'messages', '--prices', JSON.stringify({ m: { ...plainPrice, ...factors } })];
  server.reply({ body: message(said) });
  // What the end of a stream does not say again stays.
  const start = { type: 'message', role: 'assistant', content: [], model: 'm', usage: { ...usage, ...said } };
  server.reply({
    body: eventStream(
      { type: 'message_start', message: start },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { output_tokens: 10, service_tier: 'standard' },
      },
      { type: 'message_stop' },
    ),
  });
  for (const command of ['text', 'chat']) {
    const ran = await cli([command, 'hi', ...flags]);
    expect(JSON.parse(ran.stdout)).toMatchObject({ serviceTier: tier, cost: usd(amount) });
  }
});

test.for([
  ['fast mode', { speed: 'fast' }, 'fast'],
  ['a region', { inference_geo: 'us' }, 'us'],
] as const)(
  'the cost of an answer with %s that the price does not know is unknown, with a warning',
  async (row, { server, cli }) => {
    const [, said, word] = row;
    server.reply({ body: message(said) });
    const prices = ['--prices', JSON.stringify({ m: plainPrice })];
    const ran = await cli(['text', 'hi', '--json', '--format', 'messages', ...prices]);
    expect(costOf(ran.stdout)).toBeUndefined();
    expect(ran.stderr).toContain(
      `the cost is unknown: the price has no factor of the service tier ${word}, which answered`,
    );
  },
);

test('a budget reserves what fast mode costs, and has no bound where the price does not know it', async ({
  server,
  cli,
}) => {
  for (const [factors, words] of [
    [{ fast: '6' }, ''],
    [{}, 'its cost is not bounded'],
  ] as const) {
    server.reply({ body: message({ speed: 'fast' }) });
    const path = join(scratchFolder(), 'team.jsonl');
    const budget = ['--budget', `${path}:1`, '--max-tokens', '1000', '--set', 'speed=fast', '--format', 'messages'];
    const ran = await cli(['text', 'hi', ...budget, '--prices', JSON.stringify({ m: { ...plainPrice, ...factors } })]);
    expect(ran.stderr.includes(words)).toBe(true);
    const [, , reserved = ''] = readFileSync(path, 'utf8').split('\n');
    const { amount } = JSON.parse(reserved) as { amount: string };
    expect(Number(amount) > 0.012).toBe(words === '');
  }
});
