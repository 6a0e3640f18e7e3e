import { expect, test } from 'vitest';
import { byAuthUse } from '../../src/formats/format.ts';
import type { AuthUse } from '../../src/formats/types.ts';
import type { AuthForm } from '../../src/services.ts';
import { keyHeaders, type Target } from '../../src/transport/request.ts';

const version = { 'vendor-b-version': '2023-06-01' };
const neutral = { apiKey: 'x-vendor-a-api-key', version: 'vendor-b-version' };
const names = { apiKey: 'X-Real-Key', version: 'Real-Version' };
const usual = { auth: byAuthUse(() => 'auto' as const), headerNames: neutral };

test.each<[AuthUse, AuthForm, Target['headerNames'], Record<string, string>]>([
  ['text', 'auto', neutral, { 'x-vendor-a-api-key': 'k' }],
  ['image', 'auto', neutral, { authorization: 'Bearer k' }],
  ['messages', 'auto', neutral, { 'x-api-key': 'k', ...version }],
  ['completions', 'auto', neutral, { authorization: 'Bearer k' }],
  ['text', 'bearer', neutral, { authorization: 'Bearer k' }],
  ['image', 'api-key', neutral, { 'x-vendor-a-api-key': 'k' }],
  ['messages', 'bearer', neutral, { authorization: 'Bearer k', ...version }],
  ['messages', 'api-key', neutral, { 'x-api-key': 'k', ...version }],
  ['completions', 'bearer', neutral, { authorization: 'Bearer k' }],
  ['completions', 'api-key', names, { 'x-real-key': 'k' }],
  ['text', 'auto', names, { 'x-real-key': 'k' }],
  ['image', 'auto', names, { authorization: 'Bearer k' }],
  ['image', 'api-key', names, { 'x-real-key': 'k' }],
  ['messages', 'auto', names, { 'x-api-key': 'k', 'real-version': '2023-06-01' }],
])('%s with form %s and names %j', (use, form, names, expected) => {
  expect(keyHeaders({ key: 'k', auth: byAuthUse(() => form), headerNames: names }, use)).toEqual(expected);
});

test.each([
  ['', 'the key is empty'],
  [' \n', 'the key is empty'],
  ['sk-\nsecret', 'the key has an invalid character at position 4'],
  ['sk-s\u0000ecret', 'the key has an invalid character at position 5'],
  ['sk-s\u2028ecret', 'the key has an invalid character at position 5'],
  ['sk secret', 'the key has an invalid character at position 3'],
  ['é-secret', 'the key has an invalid character at position 1'],
])('refuses key %j with invalid characters without showing it', (key, message) => {
  const attempt = (): unknown => keyHeaders({ key, ...usual }, 'text');
  expect(attempt).toThrow(expect.objectContaining({ class: 'auth', message }));
});

test('removes whitespace around the key', () => {
  expect(keyHeaders({ key: ' sk-1\r\n', ...usual }, 'image')).toEqual({ authorization: 'Bearer sk-1' });
});
