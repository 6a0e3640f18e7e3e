import { expect, test } from 'vitest';
import type { Body } from '../../src/library/body.ts';
import { createUpload } from '../../src/library/body.ts';
import { keyRow } from '../../src/batch/key.ts';
import { formatNames } from '../../src/library/formats/format.ts';
import type { FormatName } from '../../src/library/formats/types.ts';

const origin = 'https://a.example';

const requests: Record<FormatName, { path: string; body: Body }> = {
  content: {
    path: '/v1beta/models/m:streamGenerateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], generationConfig: { temperature: 1 } },
  },
  messages: {
    path: '/v1/messages',
    body: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  },
  completions: {
    path: '/v1/chat/completions',
    body: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  },
  responses: { path: '/v1/responses', body: { model: 'm', input: 'hi' } },
};

const keyOf = async (format: FormatName, change: Body = {}, at = origin): Promise<string> => {
  const { path, body } = requests[format];
  return (await keyRow({ origin: at, path, format, body: { ...body, ...change } })).key;
};

/** Requests that differ only in these ask the same. */
const unkeyed: Record<FormatName, Body[]> = {
  content: [
    { generationConfig: { temperature: 1, maxOutputTokens: 9 } },
    { store: false, labels: { team: 'a' }, serviceTier: 'flex' },
  ],
  messages: [{ max_tokens: 9, stream: true, service_tier: 'auto', metadata: { user_id: 'u' } }],
  completions: [
    { max_tokens: 9, stream: true, stream_options: { include_usage: true }, service_tier: 'flex' },
    { max_completion_tokens: 9, store: true, metadata: { a: 'b' }, user: 'u' },
  ],
  responses: [{ max_output_tokens: 9, stream: true, service_tier: 'flex', store: false, metadata: {}, user: 'u' }],
};

/** A change of how requests are built, or of the table of fields, would ask for each answer again. */
test('the key of a request is pinned', async () => {
  const keys = Object.fromEntries(await Promise.all(formatNames.map(async (name) => [name, await keyOf(name)])));
  expect(keys).toMatchInlineSnapshot(`
    {
      "completions": "8283952656e4cf2ff10806d9fae18761",
      "content": "6aa5c595c3cd80391b73f39298c9a41a",
      "messages": "b7c15f1c8c537f43a176d17b73f8d415",
      "responses": "8dc7dc848367bca4798459fa2327f1af",
    }
  `);
});

test('what bounds, routes or labels a request is not in its key', async () => {
  for (const format of formatNames)
    for (const change of unkeyed[format])
      expect([format, await keyOf(format, change)]).toEqual([format, await keyOf(format)]);
});

test('a token limit that is alone in its object leaves no trace', async () => {
  const { generationConfig: _, ...body } = requests.content.body;
  const { path } = requests.content;
  const ask = async (more: Body) => (await keyRow({ origin, path, format: 'content', body: { ...body, ...more } })).key;
  expect(await ask({ generationConfig: { maxOutputTokens: 9 } })).toBe(await ask({}));
});

test('everything else is: address, path, model, and what is asked', async () => {
  for (const format of formatNames) {
    const key = await keyOf(format);
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    expect(await keyOf(format, { odd: 1 })).not.toBe(key);
    expect(await keyOf(format, {}, 'offline')).not.toBe(key);
  }
  expect(new Set(await Promise.all(formatNames.map((name) => keyOf(name)))).size).toBe(formatNames.length);
});

test('a file counts by its bytes, and a URL by its text; the order of fields says nothing', async () => {
  const bytes = (text: string) => createUpload(Buffer.from(text));
  expect(await keyOf('messages', { file: bytes('a') })).toBe(await keyOf('messages', { file: bytes('a') }));
  expect(await keyOf('messages', { file: bytes('a') })).not.toBe(await keyOf('messages', { file: bytes('b') }));
  const at = (url: string) => createUpload('', 0, { url });
  expect(await keyOf('messages', { file: at('https://x/a') })).not.toBe(
    await keyOf('messages', { file: at('https://x/b') }),
  );
  expect(await keyOf('responses', { b: 1, a: { d: 1, c: 2 } })).toBe(
    await keyOf('responses', { a: { c: 2, d: 1 }, b: 1 }),
  );
});
