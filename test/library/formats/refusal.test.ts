import { describe, expect, test } from 'vitest';
import { readFailedReply } from '../../../src/library/formats/failure.ts';
import { readRefusal } from '../../../src/library/formats/refusal.ts';
import { wordings } from '../../../src/library/vendors/refusals.ts';

test('texts and codes of the table are in lower case, as what they are compared with', () => {
  const texts = wordings.flatMap(({ codes = [], words = [] }) => [...codes, ...words]);
  expect(texts.filter((text) => typeof text === 'string' && text !== text.toLowerCase())).toEqual([]);
});

test('all that a refusal means is read, the first of the table first', () => {
  const message =
    "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
  expect(readRefusal(400, { message }, 'completions')).toEqual([
    { means: 'effort-none', value: undefined },
    { means: 'named-format', value: 'responses' },
    { means: 'effort', value: undefined },
  ]);
});

test.each([
  [500, 'temperature is deprecated for this model.'],
  [undefined, 'temperature is deprecated for this model.'],
  [400, 'no words of any service'],
])('with status %s, %j means nothing that is known', (status, message) => {
  expect(readRefusal(status, { message }, 'messages')).toEqual([]);
});

test.each([
  ['The model `x` has been deprecated, learn more here', true],
  ['This model models/x is no longer available to new users.', true],
  ['The model `x` has been decommissioned and is no longer supported.', true],
  ['`temperature` is deprecated for this model.', false],
  ['The model x does not support tools', false],
])('%s: that it was retired is %s', (message, isRetired) => {
  expect(readRefusal(400, { message }).some(({ means }) => means === 'model')).toBe(isRetired);
});

describe('a spent quota', () => {
  test.each([
    ['insufficient_quota as a code', { code: 'insufficient_quota' }, true],
    ['insufficient_quota as a type', { type: 'insufficient_quota' }, true],
    ['insufficient_user_quota', { code: 'insufficient_user_quota' }, true],
    ['enforced_spend_limit_reached in the details', { details: { error_code: 'enforced_spend_limit_reached' } }, true],
    ['contract_spend_limit_reached in the details', { details: { error_code: 'contract_spend_limit_reached' } }, true],
    ['contract_spend_limit_reached as a code', { code: 'contract_spend_limit_reached' }, true],
    ['enforced_spend_limit_reached in the message', { message: 'enforced_spend_limit_reached: raise it' }, true],
    ['a credit balance that is too low', { message: 'Your credit balance is too low to access the API' }, true],
    ['a spent credit balance', { type: 'credit_balance_exhausted' }, true],
    [
      'a quota for a day',
      { details: [{ violations: [{ quotaId: 'RequestsPerDayPerProject' }] }, { retryDelay: '1s' }] },
      true,
    ],
    ['a quota for a minute', { details: [{ violations: [{ quotaId: 'RequestsPerMinute' }] }] }, false],
    ['a plain rate limit', { type: 'rate_limit_error', message: 'slow down' }, false],
  ])('is recognised from %s', (_, error, expected) => {
    const body = JSON.stringify({ error: { message: 'm', ...error } });
    const { details } = readFailedReply({ status: 429, headers: {}, body, format: 'content' });
    expect(details.reason === 'quota-spent').toBe(expected);
  });
});

test.each([
  'insufficient_quota',
  'insufficient_user_quota',
  'pre_consume_token_quota_failed',
  'enforced_spend_limit_reached',
  'credit_balance_exhausted',
  'credit_balance_too_low',
  'billing_hard_limit_reached',
  'billing_error',
])('%s means that waiting does not help', (type) => {
  expect(readRefusal(429, { message: '', type: type.toUpperCase() })).toMatchObject([{ means: 'quota-spent' }]);
});
