import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/library/json.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test, textReply } from '../../helpers/with-server.ts';

// Tokens of pictures and of sound have amounts of their own. Where a service counts them apart and the price has none, nothing is guessed.

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const costOf = (stdout: string): unknown => (JSON.parse(stdout) as { cost?: { amount: string } }).cost?.amount;
const priced = (price: object): string[] => ['--json', '--prices', JSON.stringify({ m: price })];

const edited = (details: object = {}): JsonObject => ({
  created: 1,
  data: [{ b64_json: pixel }],
  usage: {
    input_tokens: 343,
    input_tokens_details: { text_tokens: 20, image_tokens: 323 },
    output_tokens: 272,
    total_tokens: 615,
    ...details,
  },
});
const gptImage = { input: '5', imageInput: '10', imageOutput: '40' };

test.for([
  ['all its output', edited(), gptImage, '0.01421'],
  [
    'words beside them',
    edited({ output_tokens_details: { image_tokens: 200, text_tokens: 72 } }),
    { ...gptImage, output: '1' },
    '0.011402',
  ],
  ['a price of one image in their place', edited(), { input: '5', imageInput: '10', image: '0.011' }, '0.01433'],
  ['a price of one image alone, whose prompt is free', edited(), { image: '0.011' }, '0.011'],
  ['a price of one image too, which the counts replace', edited(), { ...gptImage, image: '9' }, '0.01421'],
] as const)('an edit of OpenAI costs its tokens of pictures: %s', async ([, body, price, amount], { server, cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'a.png'), Buffer.from(pixel, 'base64'));
  server.reply({ body });
  const asked = [
    'image',
    'edit',
    '-i',
    'a.png',
    'add a hat',
    '--service',
    'openai',
    '-m',
    'm',
    '--base-url',
    server.url,
  ];
  const ran = await cli([...asked, '-o', 'b.png', ...priced(price)], { cwd });
  expect([ran.code, costOf(ran.stdout)]).toEqual([0, amount]);
});

const spoken: JsonObject = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: 120,
    prompt_tokens_details: { audio_tokens: 100, cached_tokens: 0 },
    completion_tokens: 110,
    completion_tokens_details: { audio_tokens: 90, reasoning_tokens: 0 },
    total_tokens: 230,
  },
};
const gptAudio = { input: '2.5', output: '10', audioInput: '32', audioOutput: '64' };
const gemini = (usageMetadata: JsonObject): JsonObject => ({ ...textReply('hi'), usageMetadata }) as JsonObject;
const modality = (name: string, tokenCount: number): JsonObject => ({ modality: name, tokenCount });
const drawn = gemini({
  promptTokenCount: 10,
  candidatesTokenCount: 2020,
  candidatesTokensDetails: [modality('IMAGE', 2000)],
  totalTokenCount: 2030,
});
const heard = gemini({
  promptTokenCount: 1000,
  promptTokensDetails: [modality('TEXT', 100), modality('AUDIO', 640), modality('IMAGE', 260)],
  cachedContentTokenCount: 500,
  cacheTokensDetails: [modality('AUDIO', 400), modality('TEXT', 100)],
  candidatesTokenCount: 30,
  totalTokenCount: 1030,
});
const text = ['text', 'hi'];
const completions = [...text, '--format', 'completions'];

test.for([
  ['sound in completions', completions, spoken, gptAudio, '0.00921'],
  ['a picture of 4K at Gemini', text, drawn, { input: '2', output: '12', imageOutput: '120' }, '0.24026'],
  // 240 of sound at 1, 400 of cached sound at 0.1, 260 of pictures as text at 0.3, 100 of cached text at 0.03.
  [
    'cached sound at Gemini, where pictures in the request cost what text costs',
    text,
    heard,
    { input: '0.3', cached: '0.03', audioInput: '1', cachedAudio: '0.1', output: '2' },
    '0.000421',
  ],
  [
    'pictures at Gemini by an amount of their own',
    text,
    heard,
    { input: '0.3', cached: '0.03', audioInput: '1', imageInput: '9', output: '2' },
    '0.003043',
  ],
] as const)('%s costs its own amounts', async ([, argv, body, price, amount], { server, cli }) => {
  server.reply({ body });
  const ran = await cli([...argv, ...priced(price)]);
  expect([ran.code, costOf(ran.stdout)]).toEqual([0, amount]);
});

const plain = { input: '2', output: '12' };

test.for([
  [
    'sound in the request',
    completions,
    spoken,
    { ...plain, audioOutput: '1' },
    'no audioInput, and 100 tokens are of sound in the request',
  ],
  [
    'sound in the answer',
    completions,
    spoken,
    { ...plain, audioInput: '1' },
    'no audioOutput, and 90 tokens are of sound in the answer',
  ],
  ['pictures in the answer', text, drawn, plain, 'no imageOutput, and 2000 tokens are of pictures in the answer'],
  ['sound in the request of Gemini', text, heard, plain, 'no audioInput, and 240 tokens are of sound in the request'],
] as const)(
  'the cost is unknown, and said so, without an amount of %s',
  async ([, argv, body, price, lack], { server, cli }) => {
    server.reply({ body });
    const ran = await cli([...argv, ...priced(price)]);
    expect([ran.code, costOf(ran.stdout)]).toEqual([0, undefined]);
    expect(ran.stderr).toContain(`the cost is unknown: the price has ${lack}\n`);
  },
);

test('the cost is unknown where nobody says how much of what was cached is sound', async ({ server, cli }) => {
  const usage = { ...(spoken['usage'] as JsonObject), prompt_tokens_details: { audio_tokens: 100, cached_tokens: 50 } };
  server.reply({ body: { ...spoken, usage } });
  const ran = await cli([...completions, ...priced({ ...gptAudio, cached: '1' })]);
  expect(costOf(ran.stdout)).toBeUndefined();
  expect(ran.stderr).toContain('does not say how much of what was cached is pictures or sound\n');
});

test('the counts are in the document', async ({ server, cli }) => {
  server.reply({ body: heard });
  expect(JSON.parse((await cli([...text, '--json'])).stdout)).toMatchObject({
    usage: { imageInputTokens: 260, audioInputTokens: 640, cachedImageInputTokens: 0, cachedAudioInputTokens: 400 },
  });
  server.reply({ body: spoken });
  expect(JSON.parse((await cli([...completions, '--json'])).stdout)).toMatchObject({
    usage: { audioInputTokens: 100, audioOutputTokens: 90 },
  });
});

const tooled: JsonObject = {
  object: 'response',
  status: 'completed',
  tools: [{ type: 'image_generation', model: 'gpt-image' }],
  output: [
    { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: pixel, output_format: 'png' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'there' }] },
  ],
  usage: { input_tokens: 1000, output_tokens: 10 },
  tool_usage: {
    image_gen: {
      input_tokens: 343,
      input_tokens_details: { text_tokens: 20, image_tokens: 323 },
      output_tokens: 272,
      output_tokens_details: { text_tokens: 0, image_tokens: 272 },
      total_tokens: 615,
    },
    web_search: { num_requests: 0 },
  },
};

test.for([
  ['by its tokens', { 'gpt-image': gptImage }, '0.01523', ''],
  ['by the picture', { 'gpt-image': { image: '0.011' } }, '0.01202', ''],
  [
    'not without a price',
    {},
    undefined,
    'the cost is unknown: the model gpt-image, which worked for the one that was asked',
  ],
  [
    'not without a count',
    { 'gpt-image': gptImage },
    undefined,
    'the cost is unknown: the reply does not count what its picture tool took',
    { tool_usage: null },
  ],
  [
    'by a price of the model for a picture',
    { m: { input: '1', output: '2', image: '0.04' } },
    '0.04102',
    '',
    { tool_usage: null },
  ],
  [
    'not without a name',
    { 'gpt-image': gptImage },
    undefined,
    'the cost is unknown: the reply does not name the model that worked for the one that was asked',
    { tools: [] },
  ],
] as const)('what the picture tool of the responses format made is billed beside, %s', async (row, { server, cli }) => {
  const [, more, amount, words, change] = row;
  server.reply({ body: { ...tooled, ...change } });
  const prices = JSON.stringify({ m: { input: '1', output: '2' }, ...more });
  const asked = ['text', 'draw it', '--format', 'responses', '-o', 'out/', '--json', '--prices', prices];
  const ran = await cli(asked, { cwd: scratchFolder() });
  expect([ran.code, costOf(ran.stdout)]).toEqual([0, amount]);
  expect(ran.stderr).toContain(words);
});
