import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { place } from './place.ts';

// `config set prices @<file|url>`: public lists of prices, as they are.

const modelsDev = {
  google: {
    id: 'google',
    env: ['GEMINI_API_KEY'],
    models: {
      'gemini-a-pro': {
        id: 'gemini-a-pro',
        cost: { input: 1.25, output: 10, cache_read: 0.125, context_over_200k: { input: 2.5, output: 15 } },
        limit: { context: 1_048_576 },
      },
      'gemini-b': {
        id: 'gemini-b',
        cost: {
          input: 0.1,
          output: 0.4,
          reasoning: 3.5,
          tiers: [{ input: 0.2, tier: { type: 'context', size: 272_000 } }],
        },
      },
      'gemini-free-of-words': { id: 'x', cost: { input: 1 } },
      'gemini-without': { id: 'y' },
    },
  },
  openai: { id: 'openai', models: { 'gpt-a': { cost: { input: 2, output: 8, cache_write: 2.5 } } } },
};
const litellm = {
  sample_spec: { input_cost_per_token: 0, output_cost_per_token: 0, litellm_provider: 'one of …' },
  'gemini/gemini-a-pro': {
    litellm_provider: 'gemini',
    mode: 'chat',
    input_cost_per_token: 1.25e-6,
    output_cost_per_token: 1e-5,
    cache_read_input_token_cost: 1.25e-7,
    cache_creation_input_token_cost_above_1hr: 2.5e-6,
    input_cost_per_token_above_200k_tokens: 2.5e-6,
    output_cost_per_token_above_200k_tokens: 1.5e-5,
    deprecation_date: '2027-01-01',
  },
  'gemini/gemini-draws': { litellm_provider: 'gemini', input_cost_per_token: 3e-7, output_cost_per_image: 0.039 },
  'gpt-a': { litellm_provider: 'openai', input_cost_per_token: 2e-6, output_cost_per_token: 8e-6 },
};

function fileOf(value: unknown): string {
  const path = join(scratchFolder(), 'list.json');
  writeFileSync(path, JSON.stringify(value));
  return path;
}

const gemini = {
  profiles: {
    default: { service: 'gemini', prices: { 'gemini-*': { input: '9', output: '9' }, 'gemini-b': { input: 7 } } },
  },
};
const pricesIn = (config: unknown): unknown =>
  (config as { profiles: { default: { prices: unknown } } }).profiles.default.prices;

test('the list of models.dev gives the profile the prices of its service beside those that it has', async () => {
  const { cli, config } = place(gemini);
  const ran = await cli(['config', 'set', 'prices', `@${fileOf(modelsDev)}`]);
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(ran.stderr).toContain('2 of the 5 models of models.dev have a price of gemini, in USD\n');
  expect(pricesIn(config())).toEqual({
    'gemini-*': { input: '9', output: '9' },
    'gemini-a-pro': {
      input: '1.25',
      output: '10',
      cached: '0.125',
      tiers: [{ above: 200_000, input: '2.5', output: '15' }],
    },
    'gemini-b': { input: '0.1', output: '0.4', thinking: '3.5', tiers: [{ above: 272_000, input: '0.2' }] },
  });
});

test("LiteLLM's list is for single tokens, and its prices are exact for a million", async () => {
  const { cli, config } = place({ profiles: { default: { service: 'gemini' } } });
  const ran = await cli(['config', 'set', 'prices', `@${fileOf(litellm)}`]);
  expect(ran.stderr).toContain('2 of the 3 models of LiteLLM have a price of gemini, in USD\n');
  expect(pricesIn(config())).toEqual({
    'gemini-a-pro': {
      input: '1.25',
      output: '10',
      cached: '0.125',
      cacheWriteLong: '2.5',
      tiers: [{ above: 200_000, input: '2.5', output: '15' }],
    },
    'gemini-draws': { input: '0.3', image: '0.039' },
  });
});

test('a profile without a service gets all prices, with the names of their providers', async () => {
  for (const [list, names] of [
    [modelsDev, ['google/gemini-a-pro', 'google/gemini-b', 'openai/gpt-a']],
    [litellm, ['gemini/gemini-a-pro', 'gemini/gemini-draws', 'gpt-a']],
  ] as const) {
    const { cli, config } = place({ profiles: { default: { baseUrl: 'https://relay.example' } } });
    expect(await cli(['config', 'set', 'prices', `@${fileOf(list)}`])).toMatchObject({ code: 0 });
    expect(Object.keys(pricesIn(config()) as object)).toEqual(names);
  }
});

test('a file of prices in our own form is taken too', async () => {
  const { cli, config } = place(gemini);
  const own = { m: { input: '1', output: '2' } };
  expect((await cli(['config', 'set', 'prices', `@${fileOf(own)}`])).stderr).toContain('1 price is taken\n');
  expect(pricesIn(config())).toMatchObject({ ...own, 'gemini-b': { input: 7 } });
});

const many = Object.fromEntries(
  Array.from({ length: 2001 }, (_, at) => [`m-${at}`, { cost: { input: 1, output: 2 } }]),
);

test.each([
  ['no JSON', () => join(import.meta.dirname, 'place.ts'), 'is not JSON'],
  ['another file', () => fileOf({ a: { b: 1 } }), 'prices.a.b is unknown'],
  ['a list without the service', () => fileOf({ openai: modelsDev.openai }), 'has no prices of gemini'],
  ['an empty list', () => fileOf([]), 'has no prices of gemini'],
  ['an empty table', () => fileOf({}), 'has no prices of gemini'],
  ['a file that is not there', () => '/nowhere/list.json', 'there is no such file'],
  ['a URL without TLS', () => 'http://127.0.0.1/list.json', 'only https:// is fetched'],
  ['too many', () => fileOf({ google: { models: many } }), 'has prices of 2001 models, and a profile holds 2000'],
])('%s in place of a list is refused, and nothing is written', async (_what, path, words) => {
  const { cli, config } = place(gemini);
  const ran = await cli(['config', 'set', 'prices', `@${path()}`]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(words);
  expect(config()).toEqual(gemini);
});
