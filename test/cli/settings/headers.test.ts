import { describe, expect, test } from 'vitest';
import { isCredential, isCredentialName, revealHeaders } from '../../../src/cli/settings/redact.ts';
import { parseHeader, parseHeaderLines, readHeaderFlags } from '../../../src/cli/settings/headers.ts';

const readFile = async (path: string) => `x-from: ${path}\nx-list: three`;

test.each([
  ['authorization', true],
  ['Proxy-Authorization', true],
  ['cookie', true],
  ['set-cookie', true],
  ['x-api-key', true],
  ['x-goog-api-key', true],
  ['x-vendor-a-api-key', true],
  ['apikey', true],
  ['X-Auth', true],
  ['x-auth-token', true],
  ['cf-access-client-secret', true],
  ['x-amz-signature', true],
  ['x-password', true],
  ['x_token2', true],
  ['idempotency-key', false],
  ['X-Idempotency-Key', false],
  ['x-author', false],
  ['x-team', false],
  ['anthropic-beta', false],
  ['anthropic-ratelimit-tokens-remaining', false],
  ['x-ratelimit-limit-tokens', false],
  ['www-authenticate', false],
  ['vendor-b-version', false],
  ['x-portkey-provider', false],
  ['x-portkey-api-key', true],
  ['x-monkey', false],
  ['x-keyboard', false],
  ['x-turkey', false],
  ['x-tokenizer', false],
  ['x-cache-key', false],
  ['ocp-apim-subscription-key', true],
  ['x-accesstoken', true],
  ['XApiKey', true],
  ['cf-aig-authorization', true],
  ['x-secretary', false],
])('%s holds a credential: %s', (name, expected) => {
  expect(isCredentialName(name)).toBe(expected);
});

test.each([
  ['x-team', 'docs', false],
  ['x-portkey-provider', 'anthropic', false],
  ['x-org', 'organisation-name-2024', false],
  ['x-corp', '4f9a83be01c27d5566aa90', true],
  ['x-corp', 'sk-proj-4f9a83be01c27d5566aa90', true],
  ['x-auth', 'true', true],
  ['traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', false],
])('%s: %s is a credential: %s', (name, value, expected) => {
  expect(isCredential(name, value)).toBe(expected);
});

describe('parseHeader', () => {
  test.each([
    ['a header', 'X-Team: docs', { name: 'x-team', value: 'docs' }],
    ['one without a blank', 'x-team:docs', { name: 'x-team', value: 'docs' }],
    ['colons in the value', 'x-when: 12:30', { name: 'x-when', value: '12:30' }],
    ['blanks around', ' x-team :  a b  ', { name: 'x-team', value: 'a b' }],
  ])('reads %s', (_name, text, expected) => {
    expect(parseHeader(text)).toEqual(expected);
  });

  test.each([
    ['a credential', 'Authorization: Bearer sk-canary', 'would show a secret'],
    ['a key by another name', 'x-goog-api-key: sk-canary', 'would show a secret'],
    ['a cookie', 'Cookie: sk-canary', 'would show a secret'],
    ['a name without end', `${'a'.repeat(201)}: b`, 'is not a header name'],
    ['no colon', 'sk-canary', "is not of the form 'Name: value'"],
    ['no name', ': sk-canary', "is not of the form 'Name: value'"],
    ['a blank in the name', 'a b: c', 'is not a header name'],
    ['a line break', 'a: sk-canary\r\nb: c', 'has a character at position 10'],
    ['a letter beyond ASCII', 'a: Zoë', 'has a character at position 3'],
    ['no value', 'x-team:', 'has no value'],
  ])('refuses %s', (_name, text, message) => {
    expect(() => parseHeader(text)).toThrow(expect.objectContaining({ class: 'usage' }));
    expect(() => parseHeader(text)).toThrow(message);
    expect(() => parseHeader(text)).not.toThrow('canary');
  });
});

test.each([
  'accept-encoding',
  'Connection',
  'content-encoding',
  'Content-Length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'Transfer-Encoding',
  'upgrade',
])('the header %s cannot be set', (name) => {
  expect(() => parseHeader(`${name}: x`)).toThrow('is set by the connection itself');
});

describe('header files', () => {
  test('hold one header a line, credentials too, and keep their values secret', () => {
    const headers = parseHeaderLines(
      '\uFEFF# for the proxy\r\nAuthorization: Basic sk-canary\r\n\r\nX-Team: docs\n',
      'h.txt',
    );
    expect(revealHeaders(headers)).toEqual({ authorization: 'Basic sk-canary', 'x-team': 'docs' });
    expect(JSON.stringify(headers)).not.toMatch(/canary|docs/);
  });

  test('name the line that is wrong', () => {
    expect(() => parseHeaderLines('a: b\nsecret', 'h.txt')).toThrow("h.txt:2 is not of the form 'Name: value'");
    expect(() => parseHeaderLines('te: b', 'h.txt')).toThrow('h.txt:1: "te" is set by the connection itself');
  });
});

test('readHeaderFlags keeps secret only what came from a file', async () => {
  expect(await readHeaderFlags(['x-list: one', 'X-List: two'], readFile)).toEqual([
    { name: 'x-list', value: 'one, two' },
  ]);
  const mixed = await readHeaderFlags(['@h.txt', 'X-List: four'], readFile);
  expect(revealHeaders(mixed)).toMatchObject({ 'x-list': 'three, four' });
  expect(JSON.stringify(mixed)).not.toContain('four');
});

test('readHeaderFlags reads @files in their place and joins what is given twice', async () => {
  const headers = await readHeaderFlags(['X-List: one', 'x-list: two', '@h.txt'], readFile);
  expect(revealHeaders(headers)).toEqual({ 'x-list': 'one, two, three', 'x-from': 'h.txt' });
  expect(JSON.stringify(headers)).not.toContain('three');
});
