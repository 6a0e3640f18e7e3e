import { describe, expect, test } from 'vitest';
import { run } from '../helpers/run.ts';
import { anthropicKey, startAnthropic } from './anthropic.ts';
import { geminiKey, startGemini } from './gemini.ts';
import type { FakeServer } from './start.ts';

async function against(service: FakeServer, key: string, argv: readonly string[]) {
  const env = { GATEWAY_BASE_URL: service.url, GATEWAY_API_KEY: key };
  const ran = await run([...argv, '--retries', '0'], { env });
  await service.close();
  return ran;
}

const vendorNames = ['--header-names', 'x-goog-api-key,anthropic-version'];

describe('Gemini', () => {
  const text = ['text', 'hi', '-m', 'gemini-2.5-flash'];
  const image = ['image', 'gen', 'hi', '-m', 'gemini-nano-banana-2.1', '-o', 'a.png'];

  test('answers text and images to its own key header', async () => {
    const said = await against(await startGemini(), geminiKey, [...text, ...vendorNames]);
    expect(said).toMatchObject({ code: 0, stdout: 'Hello from Gemini.\n', stderr: '' });
    const drawn = await against(await startGemini(), geminiKey, [...image, ...vendorNames, '--auth', 'api-key', '-q']);
    expect(drawn).toMatchObject({ code: 0, stdout: 'a.png\n', stderr: '' });
  });

  test.each([
    ['a header that it does not know', text, geminiKey, 3, 'unregistered callers'],
    ['a bearer token', [...text, '--auth', 'bearer'], geminiKey, 3, 'Expected OAuth 2 access token'],
    ['a wrong key', [...text, ...vendorNames], 'wrong-key-123456', 3, 'API key not valid'],
    ['an unknown model', ['text', 'hi', '-m', 'x', ...vendorNames], geminiKey, 4, 'models/x is not found'],
    ['a path of the other format', ['chat', 'hi', '-m', 'x'], geminiKey, 4, '404'],
  ])('refuses %s', async (_what, argv, key, code, words) => {
    const ran = await against(await startGemini(), key, argv);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toContain(words);
  });

  test('lists its models in pages', async () => {
    const service = await startGemini({ models: ['a', 'b', 'c'] });
    const headers = { 'x-goog-api-key': geminiKey };
    const pages = [];
    for (const query of ['pageSize=2', 'pageSize=2&pageToken=2']) {
      const response = await fetch(`${service.url}/v1beta/models?${query}`, { headers });
      pages.push(await response.json());
    }
    await service.close();
    expect(pages).toMatchObject([
      { models: [{ name: 'models/a', displayName: 'A' }, { name: 'models/b' }], nextPageToken: '2' },
      { models: [{ name: 'models/c' }] },
    ]);
    expect(pages[1]).not.toHaveProperty('nextPageToken');
  });

  test('streams events that end with CRLF', async () => {
    const service = await startGemini();
    const url = `${service.url}/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse`;
    const response = await fetch(url, { method: 'POST', headers: { 'x-goog-api-key': geminiKey }, body: '{}' });
    const body = await response.text();
    await service.close();
    expect(body.match(/^data: .*\r\n\r\n/gm)).toHaveLength(2);
    expect(body).toContain('"finishReason":"STOP"');
  });
});

describe('Anthropic', () => {
  const chat = ['chat', 'hi', '-m', 'claude-sonnet-4-5'];

  test.each([
    ['its own header', []],
    ['a bearer token', ['--auth', 'bearer']],
  ])('answers a chat with its own version header and the key in %s', async (_what, flags) => {
    const ran = await against(await startAnthropic(), anthropicKey, [...chat, ...vendorNames, ...flags]);
    expect(ran).toMatchObject({ code: 0, stdout: 'Hello from Claude.\n', stderr: '' });
  });

  test.each([
    ['no version', chat, anthropicKey, 4, 'anthropic-version: header is required'],
    ['another token', [...chat, ...vendorNames, '--auth', 'bearer'], 'wrong-key-123456', 3, 'Invalid bearer token'],
    ['a wrong key', [...chat, ...vendorNames], 'wrong-key-123456', 3, 'invalid x-api-key'],
    ['an unknown model', ['chat', 'hi', '-m', 'x', ...vendorNames], anthropicKey, 4, 'model: x'],
    ['a path of the other format', ['text', 'hi', '-m', 'x'], anthropicKey, 4, 'Not found'],
  ])('refuses %s', async (_what, argv, key, code, words) => {
    const ran = await against(await startAnthropic(), key, argv);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toContain(words);
  });

  test('lists its models in pages', async () => {
    const service = await startAnthropic({ models: ['a', 'b', 'c'] });
    const headers = { 'x-api-key': anthropicKey, 'anthropic-version': '2023-06-01' };
    const pages = [];
    for (const query of ['limit=2', 'limit=2&after_id=b']) {
      const response = await fetch(`${service.url}/v1/models?${query}`, { headers });
      pages.push(await response.json());
    }
    await service.close();
    expect(pages).toMatchObject([
      { data: [{ type: 'model', id: 'a', display_name: 'A' }, { id: 'b' }], has_more: true, last_id: 'b' },
      { data: [{ id: 'c' }], has_more: false, first_id: 'c' },
    ]);
  });
});
