import { expect, test } from 'vitest';
import { computeBound } from '../../../src/library/cost/cost.ts';
import { completions } from '../../../src/library/formats/completions/format.ts';
import { content } from '../../../src/library/formats/content/format.ts';
import { type Format, loadFormat, type RequestLimits } from '../../../src/library/formats/format.ts';
import { messages } from '../../../src/library/formats/messages/format.ts';
import { type Body, createUpload } from '../../../src/library/body.ts';
import { flash, opus, scaled, sum } from './prices.ts';
import type { FormatName } from '../../../src/library/formats/types.ts';

test('a request can cost its limit of tokens, its bytes as input, and its images; the cost of files is unknown', () => {
  const limited = { generationConfig: { maxOutputTokens: 100, candidateCount: 2 } };
  const bytes = JSON.stringify(limited).length;
  const most = sum(`${bytes} × 0.30 + 200 × 3.50 + 2 images × 0.039`);
  const bound = computeBound(limited, flash, content.limits(limited));
  expect([scaled(bound.amount), bound.isMost]).toEqual([most, true]);
  const contents = [createUpload(new Uint8Array(9))];
  expect(computeBound({ ...limited, contents }, flash, content.limits(limited)).isMost).toBe(false);
  expect(computeBound({ contents: [] }, flash, content.limits({ contents: [] }))).toEqual({
    amount: '0.039',
    isMost: false,
  });
});

test.each<[Format, Body, RequestLimits]>([
  [content, { generationConfig: { maxOutputTokens: 7, candidateCount: 2 } }, { maxTokens: 7, candidates: 2 }],
  [content, { generationConfig: { maxOutputTokens: 'x' } }, { maxTokens: undefined, candidates: 1 }],
  [content, { generationConfig: { maxOutputTokens: '7', candidateCount: '8' } }, { maxTokens: 7, candidates: 8 }],
  [content, { generationConfig: { max_output_tokens: 7, candidate_count: 8 } }, { maxTokens: 7, candidates: 8 }],
  [content, { generation_config: { maxOutputTokens: 7, candidate_count: 8 } }, { maxTokens: 7, candidates: 8 }],
  [
    content,
    { generationConfig: { maxOutputTokens: 7 }, generation_config: { max_output_tokens: 9, candidate_count: 3 } },
    { maxTokens: 9, candidates: 3 },
  ],
  [
    content,
    { generationConfig: { maxOutputTokens: 7, candidateCount: 'all' } },
    { maxTokens: undefined, candidates: 1 },
  ],
  [messages, { max_tokens: '9' }, { maxTokens: 9, candidates: 1, images: 0 }],
  [completions, { max_tokens: 5, n: '3' }, { maxTokens: 5, candidates: 3 }],
  [completions, { max_tokens: 9, max_completion_tokens: 6 }, { maxTokens: 9, candidates: 1 }],
  // It draws no pictures.
  [messages, { max_tokens: 1000 }, { maxTokens: 1000, candidates: 1, images: 0 }],
  [completions, { max_tokens: 5, n: 3 }, { maxTokens: 5, candidates: 3 }],
  [completions, { max_tokens: 5, max_completion_tokens: 6 }, { maxTokens: 6, candidates: 1 }],
  [completions, {}, { maxTokens: undefined, candidates: 1 }],
])('the limits of a request in $name: %j', ({ limits }, body, expected) => {
  expect(limits(body)).toEqual(expected);
});

test.each<[string, object, boolean]>([
  ['of images alone', { image: '0.067' }, true],
  ['whose tokens cost nothing', { input: 0, image: '0.067' }, true],
  ['of the prompt too', { input: '2', image: '0.067' }, false],
  ['whose answer is counted in tokens', { imageOutput: '40', image: '0.067' }, false],
])('without a limit of tokens, a price %s bounds a request of two images with a file: %j, %s', (_, price, isMost) => {
  const body = { n: 2, prompt: 'a hat', image: createUpload(new Uint8Array(9)) };
  expect(computeBound(body, price, completions.limits(body)).isMost).toBe(isMost);
  expect(computeBound({ ...body, image: 'none' }, { image: '0.067' }, completions.limits(body))).toEqual({
    amount: '0.134',
    isMost: true,
  });
});

test('a prompt without files costs its bytes at most, where the answer is paid by the image', () => {
  const body = { n: 2, prompt: 'a hat' };
  const bytes = JSON.stringify(body).length;
  const bound = computeBound(body, { input: '2', image: '0.067' }, completions.limits(body));
  expect([scaled(bound.amount), bound.isMost]).toEqual([sum(`${bytes} × 2 + 2 images × 0.067`), true]);
});

test('a limit of tokens bounds a message', () => {
  const body = { max_tokens: 1000 };
  expect(computeBound(body, opus, messages.limits(body)).isMost).toBe(true);
  expect(computeBound(body, { ...opus, image: '9' }, messages.limits(body)).amount).toBe(
    computeBound(body, opus, messages.limits(body)).amount,
  );
});

test.each([
  ['live', 'priority'],
  ['flex', 'priority'],
  ['batch', 'batch'],
] as const)('in the lane %s a request can cost what the tier %s costs', (lane, tier) => {
  const body = { max_tokens: 1000 };
  const own = { batch: { input: '1', output: '2' }, priority: { input: '5', output: '9' } };
  const price = { input: '3', output: '4', flex: '0.5', ...own };
  const limits = messages.limits(body);
  expect(computeBound(body, price, { ...limits, lane })).toEqual(computeBound(body, own[tier], limits));
});

const limited = { max_tokens: 100 };

test.each<[FormatName, string, Body]>([
  ['content', 'Google search', { tools: [{ googleSearch: {} }] }],
  ['content', 'code execution beside functions', { tools: [{ functionDeclarations: [], codeExecution: {} }] }],
  ['content', 'a single tool', { tools: { url_context: {} } }],
  ['content', 'a cache', { cachedContent: 'cachedContents/a' }],
  ['content', 'a file of the service', { contents: [{ parts: [{ fileData: { fileUri: 'https://h/files/a' } }] }] }],
  [
    'content',
    'a file in Base64',
    { contents: [{ parts: [{ inline_data: { mime_type: 'image/png', data: 'AAAA' } }] }] },
  ],
  ['messages', 'a search', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ['messages', 'a thread that is kept there', { thread: { type: 'continue', previous_message_id: 'msg_1' } }],
  ['messages', 'servers of tools', { mcp_servers: [{ type: 'url', url: 'https://h', name: 'a' }] }],
  [
    'messages',
    'a picture by its URL',
    { messages: [{ content: [{ source: { type: 'url', url: 'https://h/a.png' } }] }] },
  ],
  ['messages', 'a file by its id', { messages: [{ content: [{ source: { type: 'file', file_id: 'f-1' } }] }] }],
  ['messages', 'a document in Base64', { messages: [{ content: [{ source: { type: 'base64', data: 'AAAA' } }] }] }],
  ['completions', 'a search', { web_search_options: {} }],
  ['completions', 'plugins', { plugins: [{ id: 'web' }] }],
  ['completions', 'a tool of another type', { tools: [{ type: 'web_search' }] }],
  ['completions', 'a picture', { messages: [{ content: [{ image_url: { url: 'data:image/png;base64,AAAA' } }] }] }],
  ['completions', 'a sound', { messages: [{ content: [{ input_audio: { data: 'AAAA', format: 'wav' } }] }] }],
])('in the format %s, a request with %s can cost more than its bytes and its limit', async (name, _what, body) => {
  const { limits } = await loadFormat(name);
  const whole = { ...body, ...limited, generationConfig: { maxOutputTokens: 100 } };
  expect(limits(whole).maxTokens).toBe(100);
  expect(computeBound(whole, opus, limits(whole)).isMost).toBe(false);
});

test.each<[FormatName, Body]>([
  ['content', { tools: [{ functionDeclarations: [{ name: 'a', parameters: { properties: { url: {} } } }] }] }],
  [
    'messages',
    {
      tools: [
        { name: 'a', input_schema: {} },
        { type: 'custom', name: 'b' },
      ],
    },
  ],
  ['completions', { tools: [{ type: 'function', function: { name: 'a' } }] }],
  ['completions', { tools: [{ function: { name: 'a' } }] }],
])('in the format %s, tools of the caller are bounded by their bytes: %j', async (name, body) => {
  const { limits } = await loadFormat(name);
  const whole = { ...body, ...limited, generationConfig: { maxOutputTokens: 100 } };
  expect(computeBound(whole, opus, limits(whole)).isMost).toBe(true);
});

test('a limit that is not a count bounds nothing', () => {
  expect(completions.limits({ max_tokens: -5, n: -1 })).toEqual({ maxTokens: undefined, candidates: 1 });
  expect(completions.limits({ max_tokens: 1e300, n: 0.5 })).toEqual({ maxTokens: undefined, candidates: 1 });
  const zeros = { maxOutputTokens: 0, candidateCount: 0 };
  expect(content.limits({ generationConfig: zeros })).toEqual({ maxTokens: undefined, candidates: 1 });
});
