import { describe, expect, it } from 'vitest';
import {
  dig,
  imagePath,
  key,
  message,
  textPath,
  turn,
  type GatewayUnderTest,
  sharedGateway,
} from './gateway-under-test.ts';

const headerNames = { apiKey: 'x-goog-api-key', version: 'anthropic-version' };
const gateway = sharedGateway();
const named = sharedGateway({ headerNames });

async function ask(
  server: GatewayUnderTest,
  path: string,
  headers: Record<string, string>,
  method = 'POST',
): Promise<number> {
  const body = JSON.stringify(path.startsWith('/v1/messages') ? message('hi') : turn('hi'));
  const sent = { 'content-type': 'application/json', ...headers };
  const response = await fetch(server.url + path, { method, headers: sent, ...(method === 'POST' && { body }) });
  await response.arrayBuffer();
  return response.status;
}

describe('the key', () => {
  const version = { 'vendor-b-version': '2023-06-01' };
  const rows: [name: string, path: string, headers: Record<string, string>, status: number][] = [
    ['content, vendor header', textPath, { 'x-vendor-a-api-key': key }, 200],
    ['content, bearer', imagePath.replace('image', 'text'), { authorization: `Bearer ${key}` }, 200],
    ['content, x-api-key', textPath, { 'x-api-key': key }, 200],
    ['content, ?key=', `${textPath}?key=${key}`, {}, 200],
    ['content, none', textPath, {}, 401],
    ['content, wrong', textPath, { 'x-vendor-a-api-key': `${key}x` }, 401],
    ['messages, all three headers', '/v1/messages', { 'x-api-key': key, ...version }, 200],
    ['messages, bearer', '/v1/messages', { authorization: `Bearer ${key}`, ...version }, 200],
    ['messages, without the version', '/v1/messages', { 'x-api-key': key }, 400],
    ['messages, a later version', '/v1/messages', { 'x-api-key': key, 'vendor-b-version': '2026-10-21' }, 200],
    ['messages, no version at all', '/v1/messages', { 'x-api-key': key, 'vendor-b-version': 'latest' }, 400],
    ['messages, wrong', '/v1/messages', { 'x-api-key': 'no', ...version }, 401],
    ['an unknown header', textPath, { 'x-other-api-key': key }, 401],
    ["content, a vendor's own header", textPath, { 'x-goog-api-key': key }, 200],
    ["messages, a vendor's own version", '/v1/messages', { 'x-api-key': key, 'anthropic-version': '2023-06-01' }, 200],
    [
      "messages, a vendor's own version of a later date",
      '/v1/messages',
      { 'x-api-key': key, 'anthropic-version': '2026-10-21' },
      200,
    ],
    [
      "messages, a vendor's own version that is no date",
      '/v1/messages',
      { 'x-api-key': key, 'anthropic-version': 'latest' },
      400,
    ],
  ];
  it.each(rows)('%s', async (_, path, headers, status) => {
    expect(await ask(gateway, path, headers)).toBe(status);
  });

  it('the key is found in the headers that the vendors really use, where the gateway was told their names', async () => {
    expect(await ask(named, textPath, { 'x-goog-api-key': key })).toBe(200);
    expect(await ask(named, '/v1/messages', { 'x-api-key': key, 'anthropic-version': '2026-10-21' })).toBe(200);
  });

  it('that is missing is reported with the headers that are taken', async () => {
    const { json } = await gateway.post(textPath, turn('hi'), { authorization: '' });
    expect(dig(json, 'error', 'message')).toBe('no API key: send x-vendor-a-api-key or Authorization: Bearer');
  });

  it('that is wrong gets the error shape of the format', async () => {
    const headers = { authorization: 'Bearer wrong' };
    expect(await gateway.post(textPath, turn('hi'), headers)).toMatchObject({
      status: 401,
      json: { error: { code: 401, message: 'the API key is not valid', status: 'UNAUTHENTICATED' } },
    });
    const { status, json, headers: sent } = await gateway.post('/v1/messages', message('hi'), headers);
    const id = sent.get('request-id');
    expect({ status, json }).toEqual({
      status: 401,
      json: { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' }, request_id: id },
    });
  });

  it('never comes back in a reply', async () => {
    const texts = [
      await gateway.post(textPath, turn('hi')),
      await gateway.post(textPath, '{"x":1}'),
      await gateway.post('/nowhere', '{}'),
    ];
    for (const { text } of texts) expect(text).not.toContain(key);
  });
});

describe('paths and methods', () => {
  const bearer = { authorization: `Bearer ${key}`, 'vendor-b-version': '2023-06-01', 'x-api-key': key };
  const rows: [method: string, path: string, status: number][] = [
    ['GET', '/healthz', 200],
    ['POST', '/healthz', 405],
    ['GET', '/v1/messages', 405],
    ['OPTIONS', '/v1/messages', 405],
    ['POST', '/v1/responses/compact', 404],
    ['POST', '/v1/responses/resp_1', 405],
    ['GET', textPath, 405],
    ['POST', '/v1/messages?beta=true', 200],
    ['POST', '/v1/models/local-text:generateContent', 200],
    ['POST', '/v1beta/models/local-text:streamGenerateContent', 200],
    ['POST', '/v1beta/models/local-text:countTokens', 200],
    ['POST', '/v1/messages/count_tokens', 200],
    ['GET', '/v1beta/models', 200],
    ['GET', '/v1/models', 200],
    ['POST', '/v1/models', 405],
    ['GET', '/v1beta/models/local-image', 200],
    ['GET', '/v1/models/local-chat', 200],
    ['GET', '/v1/models/local-voice', 404],
    ['POST', '/v1beta/models/local-text:embedContent', 404],
    ['POST', '/v1beta/models/a/b:generateContent', 404],
    ['POST', '/v1beta/models/%E0%A4%A:generateContent', 404],
    ['POST', '/v1beta/models/..%2f..%2fetc:generateContent', 404],
    ['GET', '/', 404],
  ];
  it.each(rows)('%s %s', async (method, path, status) => {
    expect(await ask(gateway, path, bearer, method)).toBe(status);
  });

  it('reports which method is allowed', async () => {
    const response = await fetch(`${gateway.url}/v1/messages`, { headers: bearer });
    expect(response.headers.get('allow')).toBe('POST');
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
  });

  it('needs no key for the health check, which reports nothing else', async () => {
    expect(await (await fetch(`${gateway.url}/healthz`)).text()).toBe('{"status":"ok"}');
  });

  it('answers an unknown model in the shape of its format', async () => {
    const missing = await gateway.post('/v1beta/models/local-9:generateContent', turn('hi'));
    expect(missing).toMatchObject({ status: 404, json: { error: { code: 404, status: 'NOT_FOUND' } } });
    const other = await gateway.post('/v1/messages', message('hi', { model: 'local-9' }));
    expect(other).toMatchObject({ status: 404, json: { type: 'error', error: { type: 'not_found_error' } } });
    expect(other.text).toContain('model: local-9');
  });
});
