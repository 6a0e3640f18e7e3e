import { describe, expect, test } from 'vitest';
import { feedAll, sample } from './feeding.ts';

const { start, stop, end, block, text } = sample;
const begun = [start, block({ type: 'text', text: '' }), text('Hel')];
const error = (type: string, message = 'm') =>
  JSON.stringify({ type: 'error', error: { details: null, type, message } });

describe('an error event (deviation 25)', () => {
  test.each([
    ['overloaded_error', 'gateway', 529, true],
    ['api_error', 'gateway', 500, true],
    ['timeout_error', 'gateway', 504, true],
    ['rate_limit_error', 'quota', 429, true],
    ['billing_error', 'quota', 402, false],
    ['authentication_error', 'auth', 401, false],
    ['permission_error', 'auth', 403, false],
    ['invalid_request_error', 'rejected', 400, false],
    ['not_found_error', 'rejected', 404, false],
    ['request_too_large', 'rejected', 413, false],
    ['a_new_error', 'gateway', undefined, false],
  ])('%s is of class %s as if its status were %s', (type, errorClass, status, retryable) => {
    const fed = feedAll([...begun, error(type)]);
    expect(fed.error).toMatchObject({ class: errorClass, details: { status, retryable, sent: 'yes' } });
    expect(fed.error?.message).toBe(`the gateway reported an error (${type}): m`);
  });

  test('keeps what came before, and leaves the reply incomplete', () => {
    const { result, complete, deltas } = feedAll([...begun, error('overloaded_error')]);
    expect([result.text, complete, deltas.length]).toStrictEqual(['Hel', false, 3]);
  });

  test('may have been billed once the message has begun, and is not before for 529', () => {
    expect(feedAll([error('overloaded_error')]).error?.billed).toBe('no');
    expect(feedAll([...begun, error('overloaded_error')]).error?.billed).toBe('unknown');
  });

  test.each([
    ['by its event name alone', { event: 'error', data: '{"error":{"type":"overloaded_error","message":"m"}}' }],
    ['without a type', { data: '{"error":{"type":"overloaded_error","message":"m"}}' }],
    [
      'with a foreign outer type (deviation 17)',
      { data: '{"type":"one_hub_error","error":{"type":"overloaded_error","message":"m"}}' },
    ],
    ['with a status code', { data: '{"error":{"code":529,"message":"m"}}' }],
    [
      'with JSON in its message (deviation 18)',
      { data: JSON.stringify({ type: 'error', error: { message: error('overloaded_error') } }) },
    ],
  ])('is seen %s', (_, event) => {
    expect(feedAll([...begun, event]).error).toMatchObject({ class: 'gateway', details: { status: 529 } });
  });

  test.each([
    ['without data', { event: 'error', data: '' }],
    ['with an error that is a text', { data: '{"error":"boom"}' }],
    ['without success', { data: '{"success":false,"message":"boom"}' }],
    ['with an empty error', { event: 'error', data: '{"type":"error","error":{}}' }],
  ])('%s is a failing gateway', (_, event) => {
    expect(feedAll([...begun, event]).error).toMatchObject({ class: 'gateway', exitCode: 6 });
  });

  test('carries its request id', () => {
    const { error: thrown } = feedAll([
      '{"type":"error","error":{"type":"api_error","message":"m"},"request_id":"req_1"}',
    ]);
    expect(thrown?.details.requestId).toBe('req_1');
  });

  test('after the end changes nothing', () => {
    expect(feedAll([...begun, end, stop, error('api_error')]).error).toBeUndefined();
  });

  test.each(['{"type":"x","error":null}', '{"type":"x","error":""}', '{"type":"ping","message":"m"}'])(
    'is not seen in %s',
    (data) => {
      expect(feedAll([...begun, data]).error).toBeUndefined();
    },
  );
});
