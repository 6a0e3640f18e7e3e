import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { place } from './place.ts';

// `config set prices @<file|url>`: the public list of prices of models.dev as it is, and files of our own form.

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

test('amounts of sound and of pictures are those that models.dev has, and none where it does not say', async () => {
  const { cli, config } = place(gemini);
  const model = (cost: object, input: string[], output: string[]): object => ({ cost, modalities: { input, output } });
  const models = {
    hears: model({ input: 0.3, output: 2.5, input_audio: 1 }, ['text', 'image', 'audio'], ['text']),
    listens: model({ input: 2, output: 12 }, ['text', 'audio'], ['text']),
    speaks: model({ input: 0.5, output: 10 }, ['text'], ['audio']),
    converses: model({ input: 1, output: 2, input_audio: 3, output_audio: 4 }, ['text', 'audio'], ['text', 'audio']),
    draws: model({ input: 2, output: 120 }, ['text', 'image'], ['text', 'image']),
  };
  await cli(['config', 'set', 'prices', `@${fileOf({ google: { models } })}`]);
  expect(pricesIn(config())).toMatchObject({
    hears: { input: '0.3', output: '2.5', imageInput: '0.3', audioInput: '1' },
    listens: { input: '2', output: '12', audioInput: '2' },
    speaks: { input: '0.5', output: '10', audioOutput: '10' },
    converses: { input: '1', output: '2', audioInput: '3', audioOutput: '4' },
    draws: { input: '2', output: '120', imageOutput: '120' },
  });
  expect(pricesIn(config())).not.toHaveProperty('draws.imageInput');
});

test('a profile without a service gets all prices, with the names of their providers', async () => {
  const { cli, config } = place({ profiles: { default: { baseUrl: 'https://relay.example' } } });
  expect(await cli(['config', 'set', 'prices', `@${fileOf(modelsDev)}`])).toMatchObject({ code: 0 });
  expect(Object.keys(pricesIn(config()) as object)).toEqual(['google/gemini-a-pro', 'google/gemini-b', 'openai/gpt-a']);
});

test('without a profile, the only key that a variable holds says whose prices they are, and requests find them', async () => {
  const { cli, config } = place();
  const env = { OPENAI_API_KEY: 'sk-a' };
  const ran = await cli(['config', 'set', 'prices', `@${fileOf(modelsDev)}`], { env });
  expect(ran.stderr).toContain('1 of the 5 models of models.dev have a price of openai, in USD\n');
  expect(pricesIn(config())).toEqual({ 'gpt-a': { input: '2', output: '8', cacheWrite: '2.5' } });
  const two = { OPENAI_API_KEY: 'sk-a', GEMINI_API_KEY: 'g' };
  const both = await place().cli(['config', 'set', 'prices', `@${fileOf(modelsDev)}`], { env: two });
  expect(both.stderr).toContain('3 of the 5 models of models.dev have a price, in USD\n');
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
  ['a list of prices without names', () => fileOf([{ input: '1', output: '2' }]), 'has no prices of gemini'],
  ['null', () => fileOf(null), 'has no prices of gemini'],
  ['an empty table', () => fileOf({}), 'has no prices of gemini'],
  ['a file that is not there', () => '/nowhere/list.json', 'there is no such file'],
  ['a URL without TLS', () => 'http://127.0.0.1/list.json', 'only https:// is fetched'],
  [
    'a list of others that is too long',
    () => fileOf(many),
    'becomes one of ours, of one service: gateway-cli help costs',
  ],
  ['too many', () => fileOf({ google: { models: many } }), 'has prices of 2001 models, and a profile holds 2000'],
])('%s in place of a list is refused, and nothing is written', async (_what, path, words) => {
  const { cli, config } = place(gemini);
  const ran = await cli(['config', 'set', 'prices', `@${path()}`]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(words);
  expect(config()).toEqual(gemini);
});
