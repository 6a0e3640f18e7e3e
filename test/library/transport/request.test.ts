import { expect, test } from 'vitest';
import { isLoopback, joinUrl, parseBaseUrl, requireSafeUrl } from '../../../src/library/transport/request.ts';

test.each([
  ['https://host', 'https://host/'],
  ['  https://host///\n', 'https://host/'],
  ['https://host:8443/a/b//', 'https://host:8443/a/b'],
  ['https://host/proxy/v1/', 'https://host/proxy/v1'],
  ['https://host/openai?api-version=1', 'https://host/openai?api-version=1'],
  ['https://host/?a=1', 'https://host/?a=1'],
  ['http://[::1]:80', 'http://[::1]/'],
])('reads the base URL %j as %s', (text, href) => {
  expect(parseBaseUrl(text).href).toBe(href);
});

test.each([
  ['host/v1', 'is not a URL'],
  ['', 'is not a URL'],
  ['localhost:8080', 'is not a URL'],
  ['ftp://host', 'begins with ftp:'],
  ['file:///etc/passwd', 'is not a URL'],
  ['https://me:secret@host', 'user name or password'],
  ['https://secret@host', 'user name or password'],
  ['https://:secret@host', 'user name or password'],
  ['https://host/#secret', 'has a fragment'],
  ['https://ho st/secret', 'is not a URL'],
])('refuses the base URL %j', (text, message) => {
  expect(() => parseBaseUrl(text)).toThrow(expect.objectContaining({ class: 'usage', exitCode: 2 }));
  expect(() => parseBaseUrl(text)).toThrow(message);
  expect(() => parseBaseUrl(text)).not.toThrow('secret');
});

test.each([
  ['https://host', '/v1/messages', 'https://host/v1/messages'],
  ['https://host/v1/proxy', '/v1/messages', 'https://host/v1/proxy/v1/messages'],
  ['https://host', '/v1beta/models/a%2Fb:generateContent', 'https://host/v1beta/models/a%2Fb:generateContent'],
  ['https://host/%C3%A4', '/v1/x', 'https://host/%C3%A4/v1/x'],
])('joins %s and %s', (base, path, href) => {
  expect(joinUrl(new URL(base), path).href).toBe(href);
});

test('every joined URL is a new object, even for the same base and path', () => {
  const base = new URL('https://host/prefix');
  const first = joinUrl(base, '/v1/messages');
  first.search = '?mine';
  expect(joinUrl(base, '/v1/messages').href).toBe('https://host/prefix/v1/messages');
});

test.each(['/v1/../x', '/v1/%2e%2E/x', '/v1/./x', '/v1/a?b', '/v1/a#b', '/v1/a b', '/v1/a\nb', '/v1\\..\\x'])(
  'model or path injection: %j is refused',
  (path) => {
    expect(() => joinUrl(new URL('https://host/prefix'), path)).toThrow(expect.objectContaining({ class: 'usage' }));
  },
);

test.each([
  ['http://localhost:1', true],
  ['http://LOCALHOST', true],
  ['http://127.0.0.1', true],
  ['http://127.9.9.9', true],
  ['http://2130706433', true],
  ['http://[::1]', true],
  ['http://[::ffff:127.0.0.1]', true],
  ['http://0.0.0.0', true],
  ['http://0', true],
  ['http://[::]', true],
  ['http://localhost.', true],
  ['http://models.localhost:8080', true],
  ['http://a.b.localhost.', true],
  ['http://xlocalhost', false],
  ['http://0.0.0.1', false],
  ['http://128.0.0.1', false],
  ['http://localhost.evil.test', false],
  ['http://127.0.0.1.evil.test', false],
  ['http://[::2]', false],
])('%s is loopback: %s', (url, expected) => {
  expect(isLoopback(new URL(url))).toBe(expected);
});

test('http:// with a key is refused', () => {
  expect(() => requireSafeUrl(new URL('http://gateway.test/x'), { allowHttp: false, hasKey: true })).toThrow(
    expect.objectContaining({ class: 'usage', message: 'the key would go to http://gateway.test unencrypted' }),
  );
});

test.each([
  ['http://gateway.test', true, true],
  ['http://gateway.test', false, false],
  ['http://127.0.0.1:8080', false, true],
  ['https://gateway.test', false, true],
])('allows %s with http allowed: %s and a key: %s', (url, allowHttp, hasKey) => {
  expect(() => requireSafeUrl(new URL(url), { allowHttp, hasKey })).not.toThrow();
});
