import { expect, test } from 'vitest';
import { type AuthForm, authHeaders, type HeaderNames, type Use } from '../../src/transport/auth.ts';

const version = { 'vendor-b-version': '2023-06-01' };
const names = { apiKey: 'X-Real-Key', version: 'Real-Version' };

test.each<[Use, AuthForm, HeaderNames | undefined, Record<string, string>]>([
  ['text', 'auto', undefined, { 'x-vendor-a-api-key': 'k' }],
  ['image', 'auto', undefined, { authorization: 'Bearer k' }],
  ['messages', 'auto', undefined, { 'x-api-key': 'k', ...version }],
  ['text', 'bearer', undefined, { authorization: 'Bearer k' }],
  ['image', 'api-key', undefined, { 'x-vendor-a-api-key': 'k' }],
  ['messages', 'bearer', undefined, { authorization: 'Bearer k', ...version }],
  ['messages', 'api-key', undefined, { 'x-api-key': 'k', ...version }],
  ['text', 'auto', names, { 'x-real-key': 'k' }],
  ['image', 'auto', names, { authorization: 'Bearer k' }],
  ['image', 'api-key', names, { 'x-real-key': 'k' }],
  ['messages', 'auto', names, { 'x-api-key': 'k', 'real-version': '2023-06-01' }],
  ['text', 'auto', { version: 'other' }, { 'x-vendor-a-api-key': 'k' }],
])('%s with form %s and names %j', (use, form, names, expected) => {
  expect(authHeaders({ use, form, names, key: 'k' })).toEqual(expected);
});

test.each([
  ['', 'the key is empty'],
  [' \n', 'the key is empty'],
  ['sk-\nsecret', 'the key has an invalid character at position 4'],
  ['sk-s\u0000ecret', 'the key has an invalid character at position 5'],
  ['sk-s\u2028ecret', 'the key has an invalid character at position 5'],
  ['sk secret', 'the key has an invalid character at position 3'],
  ['é-secret', 'the key has an invalid character at position 1'],
])('key %j with bad characters is refused and never shown', (key, message) => {
  const attempt = (): unknown => authHeaders({ use: 'text', form: 'auto', key });
  expect(attempt).toThrow(expect.objectContaining({ class: 'auth', message }));
});

test('cuts white space around the key', () => {
  expect(authHeaders({ use: 'image', form: 'auto', key: ' sk-1\r\n' })).toEqual({ authorization: 'Bearer sk-1' });
});
