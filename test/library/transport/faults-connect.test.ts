import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { chooseHint } from '../../../src/library/reasons.ts';
import { authority, clientPair, elsewherePair, serverPair } from './certificates.ts';
import { failureOf, post, serve } from './post.ts';

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('a refused connection is not-sent', async () => {
  const port = await closedPort();
  const ending = await post(`http://127.0.0.1:${port}/v1/messages?key=secret`);
  const error = failureOf(ending);
  expect(ending.sent).toBe(false);
  expect(error).toMatchObject({ class: 'not-sent', billed: 'no', details: { sent: 'no', retryable: true } });
  expect(error.message).toBe(`cannot connect to 127.0.0.1:${port}: the connection was refused (ECONNREFUSED)`);
  expect(error.details.request).toBe(`POST http://127.0.0.1:${port}/v1/messages`);
});

test('refused on every address of a name', async () => {
  const port = await closedPort();
  const error = failureOf(await post(`http://localhost:${port}/`));
  expect(error).toMatchObject({ class: 'not-sent', details: { retryable: true } });
  expect(error.message).toContain(`cannot connect to localhost:${port}: the connection was refused at `);
});

test('a host name that cannot be resolved is not-sent', async () => {
  const error = failureOf(await post('http://nope.invalid/'));
  expect(error.class).toBe('not-sent');
  expect(error.message).toMatch(/^cannot connect to nope\.invalid: [a-z ]+ \((?:ENOTFOUND|EAI_AGAIN)\)$/);
  expect(error.details.retryable).toBe(error.message.includes('EAI_AGAIN'));
});

test('a certificate that is not trusted is not-sent', async () => {
  const server = await serve({ tls: serverPair });
  const ending = await post(server.url);
  expect(failureOf(ending)).toMatchObject({ class: 'not-sent', details: { sent: 'no', retryable: false } });
  expect(failureOf(ending).message).toContain('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  expect(failureOf(ending).details).toMatchObject({ reason: 'untrusted' });
  expect(chooseHint(failureOf(ending))).toContain('NODE_EXTRA_CA_CERTS');
  expect(server.requests).toHaveLength(0);
});

test('a certificate of another host is not-sent', async () => {
  const server = await serve({ tls: elsewherePair });
  const error = failureOf(await post(server.url, { ca: authority }));
  expect(error).toMatchObject({ class: 'not-sent', details: { retryable: false } });
  expect(error.message).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
});

test('TLS to a port that speaks http', async () => {
  const server = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const error = failureOf(await post(`https://127.0.0.1:${(server.address() as AddressInfo).port}`));
  expect(error).toMatchObject({
    class: 'not-sent',
    details: { retryable: false, reason: 'port-speaks-http' },
  });
});

test('trusts an authority given with --cacert', async () => {
  const server = await serve({ tls: serverPair });
  server.reply({ body: 'hello' });
  expect(await post(server.url, { ca: authority })).toMatchObject({ text: 'hello', sent: true });
});

test('keeps NODE_EXTRA_CA_CERTS beside --cacert', async () => {
  const server = await serve({ tls: serverPair });
  server.reply({ body: 'hello' });
  const path = new URL('../../fixtures/tls/ca.pem', import.meta.url).pathname;
  const ending = await post(server.url, { ca: elsewherePair.cert, env: { NODE_EXTRA_CA_CERTS: path } });
  expect(ending).toMatchObject({ text: 'hello' });
});

test('sends a client certificate to a server that requests one', async () => {
  const server = await serve({ tls: { ...serverPair, ca: authority, requestCert: true } });
  server.reply({ body: 'hello' });
  const pair = { clientCert: clientPair.cert, clientKey: clientPair.key };
  expect(await post(server.url, { ca: authority, ...pair })).toMatchObject({ text: 'hello' });
});

test.each([
  ['no certificate', { ca: 'hello' }, 'the certificate authorities contain no valid PEM certificate'],
  ['a certificate alone', { clientCert: clientPair.cert }, 'a client certificate must come with its key'],
  [
    'a key of another',
    { clientCert: clientPair.cert, clientKey: serverPair.key },
    'the client certificate and its key',
  ],
])('refuses %s', async (_name, options, message) => {
  const error = failureOf(await post('https://127.0.0.1:1/', options));
  expect(error.class).toBe('usage');
  expect(error.message).toContain(message);
});

test('NODE_TLS_REJECT_UNAUTHORIZED=0 is refused except for loopback', async () => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  expect(failureOf(await post('https://gateway.test/', { env })).class).toBe('usage');
  const server = await serve({ tls: serverPair });
  server.reply({ body: 'hello' });
  expect(await post(server.url, { env, ca: authority })).toMatchObject({ text: 'hello' });
});

test('a handshake that never ends fails after the connect timeout: nothing was sent', async () => {
  // It accepts connections, but does not answer the handshake.
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const ending = await post(`https://127.0.0.1:${port}/`, { connectTimeoutMs: 50 });
  expect(ending.sent).toBe(false);
  expect(failureOf(ending)).toMatchObject({ class: 'not-sent', details: { sent: 'no', retryable: true } });
  expect(failureOf(ending).message).toContain('no connection within 0.05 s');
});

test('happy eyeballs reaches a server on one address of a name', async () => {
  const server = await serve();
  server.reply({ body: 'hello' });
  expect(await post(`http://localhost:${server.port}/`)).toMatchObject({ text: 'hello' });
});
