import { expect, test } from 'vitest';
import { type Endpoint, endpointHeaders } from '../../../src/library/client/endpoint.ts';
import { byAuthUse } from '../../../src/library/formats/format.ts';
import type { AuthUse } from '../../../src/library/formats/types.ts';
import type { AuthForm } from '../../../src/library/vendors/services.ts';
import { checkHeaderKey } from '../../../src/library/transport/request.ts';

const version = { 'vendor-b-version': '2023-06-01' };
const neutral = { apiKey: 'x-vendor-a-api-key', version: 'vendor-b-version' };
const names = { apiKey: 'X-Real-Key', version: 'Real-Version' };

test.each<[AuthUse, AuthForm, Endpoint['headerNames'], Record<string, string>]>([
  ['text', 'auto', neutral, { 'x-vendor-a-api-key': '' }],
  ['image', 'auto', neutral, { authorization: 'Bearer ' }],
  ['messages', 'auto', neutral, { 'x-api-key': '', ...version }],
  ['completions', 'auto', neutral, { authorization: 'Bearer ' }],
  ['text', 'bearer', neutral, { authorization: 'Bearer ' }],
  ['image', 'api-key', neutral, { 'x-vendor-a-api-key': '' }],
  ['messages', 'bearer', neutral, { authorization: 'Bearer ', ...version }],
  ['messages', 'api-key', neutral, { 'x-api-key': '', ...version }],
  ['completions', 'bearer', neutral, { authorization: 'Bearer ' }],
  ['completions', 'api-key', names, { 'x-real-key': '' }],
  ['text', 'auto', names, { 'x-real-key': '' }],
  ['image', 'auto', names, { authorization: 'Bearer ' }],
  ['image', 'api-key', names, { 'x-real-key': '' }],
  ['messages', 'auto', names, { 'x-api-key': '', 'real-version': '2023-06-01' }],
])('the place of the key for %s with form %s and names %j', (use, form, names, expected) => {
  expect(endpointHeaders({ apiKey: 'k', auth: byAuthUse(() => form), headerNames: names }, use)).toEqual(expected);
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
  const attempt = (): unknown => checkHeaderKey(key);
  expect(attempt).toThrow(expect.objectContaining({ class: 'auth', message }));
});

test('the white space around a key is removed', () => {
  expect(checkHeaderKey(' sk-1\r\n')).toBe('sk-1');
});
