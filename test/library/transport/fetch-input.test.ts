import { expect, test } from 'vitest';
import { GatewayError } from '../../../src/library/errors.ts';
import { openInputFetcher } from '../../../src/library/transport/fetch-input.ts';
import { proxyTo } from '../../helpers/proxy-to.ts';
import { authority, clientPair, serverPair } from './certificates.ts';
import { serve } from './post.ts';

/** The fetched text, or the error. */
async function fetchText(
  url: string,
  env: Record<string, string> = {},
  more: { linked?: boolean } = {},
): Promise<unknown> {
  const pair = { clientCert: clientPair.cert, clientKey: clientPair.key };
  const fetcher = openInputFetcher({ env, ca: authority, ...pair }, more);
  try {
    const { mimeType, body } = await fetcher.fetch(new URL(url), new AbortController().signal);
    let text = '';
    for await (const chunk of body) text += new TextDecoder().decode(chunk);
    return { mimeType, text };
  } catch (error) {
    return error;
  } finally {
    await fetcher.close();
  }
}

const to = (location: string) => ({ status: 302, headers: { location }, body: 'see there' });

test('requests a URL with only accept and user-agent', async () => {
  const server = await serve({ tls: serverPair });
  server.reply({ headers: { 'content-type': 'Text/Plain; charset=utf-8' }, body: 'hello' });
  expect(await fetchText(`${server.url}/a/b.txt?c=d`)).toEqual({ mimeType: 'text/plain', text: 'hello' });
  expect(server.requests).toHaveLength(1);
  expect(server.requests[0]).toMatchObject({ method: 'GET', path: '/a/b.txt?c=d' });
  expect(server.requests[0]?.headers).toEqual({
    host: `127.0.0.1:${server.port}`,
    connection: 'keep-alive',
    accept: '*/*',
    'user-agent': expect.stringMatching(/^gateway-cli\/[\d.]+$/) as string,
    'accept-encoding': 'identity',
  });
});

test.each([
  ['https://127.0.0.1:PORT/next', '127.0.0.1'],
  ['/next', '127.0.0.1'],
  ['https://localhost:PORT/next', 'localhost'],
  ['https://[::ffff:127.0.0.1]:PORT/', '::ffff:7f00:1'],
  ['https://2130706433:PORT/', '127.0.0.1'],
  ['https://10.0.0.1/', '10.0.0.1'],
  ['https://[fd00::1]/', 'fd00::1'],
  ['https://169.254.169.254/latest/meta-data', '169.254.169.254'],
])('does not follow a redirect to %s', async (location, host) => {
  const server = await serve({ tls: serverPair });
  server.reply(to(location.replace('PORT', String(server.port))));
  expect(await fetchText(`${server.url}/`)).toMatchObject({
    class: 'usage',
    message: `the redirect leads to a private address: ${host}`,
    details: { sent: 'no' },
  });
  expect(server.connections).toBe(1);
});

test.each([
  ['http://example.org/a?token', 'it redirects to a http: URL, and only https:// is followed'],
  ['file:///etc/passwd', 'it redirects to a file: URL, and only https:// is followed'],
  ['https://', 'it redirects, and does not say where to'],
])('does not follow a redirect to %s', async (location, message) => {
  const server = await serve({ tls: serverPair });
  server.reply(to(location));
  expect(await fetchText(`${server.url}/`)).toMatchObject({ class: 'usage', message });
});

test('follows five redirects, not a sixth', async () => {
  const server = await serve({ tls: serverPair });
  const { env } = await proxyTo(server);
  for (const status of [301, 302, 303, 307, 308]) server.reply({ status, headers: { location: `/${status}` } });
  server.reply({ body: 'there' });
  expect(await fetchText('https://gateway.test/', env)).toMatchObject({ text: 'there' });
  expect(server.requests.map(({ path }) => path)).toEqual(['/', '/301', '/302', '/303', '/307', '/308']);
  for (let hop = 0; hop < 6; hop++) server.reply(to('/again'));
  expect(await fetchText('https://gateway.test/', env)).toMatchObject({ message: 'it redirects more than 5 times' });
});

test('does not send a password from a redirect', async () => {
  const server = await serve({ tls: serverPair });
  const { env } = await proxyTo(server);
  server.reply(to('https://me:secret@gateway.test/next'));
  server.reply({ body: 'there' });
  expect(await fetchText('https://gateway.test/', env)).toMatchObject({ text: 'there' });
  expect(server.requests[1]?.headers['authorization']).toBeUndefined();
});

test.each(['https://metadata.google.internal/', 'https://metadata/', 'https://10.0.0.1/'])(
  'requests no %s from a proxy after a redirect',
  async (location) => {
    const server = await serve({ tls: serverPair });
    const { env, asked } = await proxyTo(server);
    server.reply(to(location));
    expect(await fetchText('https://gateway.test/', env)).toMatchObject({
      message: `the redirect leads to a private address: ${new URL(location).hostname}`,
    });
    expect(asked).toEqual(['gateway.test:443']);
  },
);

test.each([
  [404, false, 'input-url'],
  [403, false, 'input-url-private'],
  [304, false, 'input-url'],
  [503, true, 'input-url'],
])('a status %i is a usage error with nothing sent', async (status, retryable, reason) => {
  const server = await serve({ tls: serverPair });
  server.reply({ status, body: 'no' });
  expect(await fetchText(`${server.url}/`)).toMatchObject({
    class: 'usage',
    message: `the host answered ${status}`,
    details: { sent: 'no', status, retryable, reason },
  });
});

test('an unrequested encoding is a usage error', async () => {
  const server = await serve({ tls: serverPair });
  server.reply({ headers: { 'content-encoding': 'gzip' }, body: 'x' });
  expect(await fetchText(`${server.url}/`)).toMatchObject({
    class: 'usage',
    message: 'it comes encoded as gzip, although the request accepts no encoding',
  });
});

test('a host that requests a client certificate gets none', async () => {
  const server = await serve({ tls: { ...serverPair, ca: authority, requestCert: true } });
  expect(await fetchText(`${server.url}/`)).toBeInstanceOf(GatewayError);
  expect(server.requests).toEqual([]);
});

test.each([
  ['https://127.0.0.1:PORT/a.png', '127.0.0.1'],
  ['https://localhost:PORT/a.png', 'localhost'],
  ['https://169.254.169.254/latest/meta-data', '169.254.169.254'],
  ['https://[fd00::1]/', 'fd00::1'],
])('a link of a reply to the private address %s is not followed', async (url, host) => {
  const server = await serve({ tls: serverPair });
  expect(await fetchText(url.replace('PORT', String(server.port)), {}, { linked: true })).toMatchObject({
    class: 'usage',
    message: `the link leads to a private address: ${host}`,
    details: { sent: 'no' },
  });
  expect(server.requests).toEqual([]);
});

test('a link of a reply redirects within its host, and to no other', async () => {
  const server = await serve({ tls: serverPair });
  const { env, asked } = await proxyTo(server);
  server.reply(to('/next'));
  server.reply({ body: 'there' });
  expect(await fetchText('https://gateway.test/', env, { linked: true })).toMatchObject({ text: 'there' });
  server.reply(to('https://other.test/next'));
  expect(await fetchText('https://gateway.test/', env, { linked: true })).toMatchObject({
    class: 'usage',
    message: 'it redirects to another host',
  });
  expect(new Set(asked)).toEqual(new Set(['gateway.test:443']));
});
