import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../../src/library/client/client.ts';
import type { Client, ClientOptions } from '../../../src/library/client/client-types.ts';
import { textReply } from '../../helpers/with-server.ts';
import { serve } from '../transport/post.ts';

function clientFor(baseUrl: string, options: Partial<ClientOptions> = {}): Client {
  const client = createClient({ baseUrl, ...options });
  onTestFinished(() => client.close());
  return client;
}

const request = { model: 'm', prompt: 'hi' };

test('the calls of a client share connections, and close ends them', async () => {
  const server = await serve();
  server.always({ body: textReply('hello') });
  const client = clientFor(server.url, { retries: 0 });
  for (let call = 0; call < 10; call++) await client.generate(request);
  expect(server.connections).toBeLessThanOrEqual(5);
  await client.close();
  await expect(client.generate(request)).rejects.toMatchObject({ class: 'not-sent' });
  expect(server.requests).toHaveLength(10);
});

test('a header of the caller takes the place of one of ours, in any case, and never that of the key', async () => {
  const server = await serve();
  server.always({ body: textReply('hello') });
  const headers = { 'User-Agent': 'mine', 'X-Vendor-A-Api-Key': 'not this' };
  await clientFor(server.url, { apiKey: 'k', headers }).generate(request);
  const sent = server.requests[0]?.rawHeaders.map(([name, value]) => [name.toLowerCase(), value]);
  expect(sent?.filter(([name]) => name === 'user-agent')).toEqual([['user-agent', 'mine']]);
  expect(sent?.filter(([name]) => name === 'x-vendor-a-api-key')).toEqual([['x-vendor-a-api-key', 'k']]);
});

test.each([
  ['gemini', 'generate', 'x-goog-api-key'],
  ['gemini', 'generateImages', 'x-goog-api-key'],
  ['gateway', 'generateImages', 'authorization'],
] as const)('with service %s, %s carries the key in %s', async (service, call, name) => {
  const server = await serve();
  server.always({ status: 400, body: '' });
  const client = clientFor(server.url, { apiKey: 'k', service });
  await expect(client[call](request)).rejects.toMatchObject({ class: 'rejected' });
  const names = server.requests[0]?.rawHeaders.map(([header]) => header.toLowerCase()) ?? [];
  expect(names.filter((header) => /key|authorization/.test(header))).toEqual([name]);
});

test('what may have been billed is not sent again with retrySafeOnly', async () => {
  const server = await serve();
  server.reply({ status: 500, body: 'oops' });
  await expect(clientFor(server.url, { retrySafeOnly: true }).generate(request)).rejects.toMatchObject({
    class: 'gateway',
  });
  expect(server.requests).toHaveLength(1);
});

test('the option proxy comes before the variables, and the call reports an invalid proxy', async () => {
  const server = await serve();
  server.reply({ body: textReply('hello') });
  const call = (proxy: string): Promise<unknown> =>
    clientFor('http://gateway.test', { proxy, env: { HTTP_PROXY: 'http://127.0.0.1:1' } }).generate(request);
  expect(await call(server.url)).toMatchObject({ text: 'hello' });
  await expect(call('socks5://p:1')).rejects.toMatchObject({
    class: 'usage',
    message: 'option proxy names a socks5:// proxy, which is not supported',
  });
});

test('faults 2a: http:// with a key is refused, and without a key it is not', async () => {
  const baseUrl = 'http://gateway.test';
  const options = { env: { HTTP_PROXY: 'http://127.0.0.1:1' }, retries: 0 };
  const call = (more: Partial<ClientOptions>): Promise<unknown> =>
    clientFor(baseUrl, { ...options, ...more }).generate(request);
  await expect(call({ apiKey: 'k' })).rejects.toMatchObject({ class: 'usage', details: { sent: 'no' } });
  await expect(call({})).rejects.toMatchObject({ class: 'not-sent' });
  await expect(call({ apiKey: 'k', allowHttp: true })).rejects.toMatchObject({ class: 'not-sent' });
});

test('a key that could not be read is read again by the next call', async () => {
  const server = await serve();
  server.always({ body: textReply('hello') });
  let asked = 0;
  const apiKey = async () => {
    if (asked++ === 0) throw new Error('the key store is locked');
    return 'k';
  };
  const client = clientFor(server.url, { apiKey });
  await expect(client.generate(request)).rejects.toThrow('the key store is locked');
  expect(await client.generate(request)).toMatchObject({ text: 'hello' });
  expect(asked).toBe(2);
});
