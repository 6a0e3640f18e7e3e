import { expect, test } from 'vitest';
import { checkHead } from '../../src/transport/exchange.ts';
import { createPause } from '../helpers/scripted-server.ts';
import { open, post, requestTo, serve } from './post.ts';

const url = new URL('https://gateway.test/v1/messages?key=secret');

test('posts the body and returns head and chunks of the reply', async () => {
  const server = await serve();
  server.reply({ headers: { 'X-Two': 'a', 'x-two': 'b' }, body: { ok: true } });
  const ending = await post(`${server.url}/v1/messages`, { body: { text: 'ä"' }, headers: { 'x-api-key': 'k' } });
  expect(ending).toMatchObject({
    text: '{"ok":true}',
    sent: true,
    reply: { status: 200, headers: { 'x-two': 'a, b' } },
  });
  const [request] = server.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/v1/messages' });
  expect(request?.headers).toMatchObject({ 'accept-encoding': 'identity', 'content-length': '15', 'x-api-key': 'k' });
  expect(request?.json()).toEqual({ text: 'ä"' });
});

test('yields the first chunk before the server sends the last', async () => {
  const server = await serve();
  const pause = createPause();
  server.reply({ chunks: ['one', pause.until, 'two'] });
  const reply = await open().exchange(requestTo(server.url), { signal: new AbortController().signal });
  const seen: string[] = [];
  for await (const chunk of reply.body) {
    seen.push(Buffer.from(chunk).toString());
    pause.release();
  }
  expect(seen).toEqual(['one', 'two']);
});

test.each([300, 304, 399])('any 3xx: %i is an error that may have been billed', (status) => {
  expect(checkHead(status, {}, url)).toMatchObject({
    class: 'bad-reply',
    billed: 'unknown',
    message: `the gateway redirects (${status})`,
    details: { sent: 'yes', retryable: false },
  });
});

test.each([
  ['/elsewhere?token=1', ' to https://gateway.test'],
  ['https://other.test:8443/x?token=1', ' to https://other.test:8443'],
  ['data:text/html,token', ' to a data: URL'],
  ['http://[', ''],
])('a redirect to %s shows only the origin', (location, shown) => {
  expect(checkHead(302, { location }, url)?.message).toBe(`the gateway redirects (302)${shown}`);
});

test.each([
  [undefined, undefined],
  ['identity', undefined],
  [' Identity ', undefined],
  ['gzip', 'the reply is encoded as gzip, although the request accepts no encoding'],
  [
    `${'gzip, '.repeat(1000)}br`,
    `the reply is encoded as ${'gzip, '.repeat(1000).slice(0, 40)}, although the request accepts no encoding`,
  ],
])('decompression bomb, stacked encodings: %s', (coding, message) => {
  const headers: Record<string, string> = coding === undefined ? {} : { 'content-encoding': coding };
  expect(checkHead(200, headers, url)?.message).toBe(message);
});

test('the hint for an unrequested encoding says where to disable it', () => {
  const error = checkHead(200, { 'content-encoding': 'gzip' }, url);
  expect(error?.details.hint).toContain('Accept-Encoding: identity');
});

test.each([200, 299, 400, 503])('the body of a %i is read', (status) => {
  expect(checkHead(status, {}, url)).toBeUndefined();
});
