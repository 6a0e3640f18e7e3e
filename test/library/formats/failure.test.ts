import { describe, expect, test } from 'vitest';
import { readFailedReply } from '../../../src/library/formats/failure.ts';

const error = (value: object) => JSON.stringify({ error: value });
const fail = (status: number, body = '', headers: Record<string, string> = {}) =>
  readFailedReply({ status, body, headers, format: 'content' });

describe('the failure of a reply with an error status', () => {
  test.each([
    [400, 'rejected', 4, 'no', false],
    [401, 'auth', 3, 'no', false],
    [402, 'quota', 5, 'no', false],
    [403, 'auth', 3, 'no', false],
    [404, 'rejected', 4, 'no', false],
    [408, 'gateway', 6, 'unknown', true],
    [409, 'rejected', 4, 'no', false],
    [413, 'rejected', 4, 'no', false],
    [422, 'rejected', 4, 'no', false],
    [429, 'quota', 5, 'no', true],
    [499, 'rejected', 4, 'no', false],
    [500, 'gateway', 6, 'unknown', true],
    [501, 'gateway', 6, 'unknown', false],
    [502, 'gateway', 6, 'unknown', true],
    [503, 'gateway', 6, 'no', true],
    [504, 'gateway', 6, 'unknown', true],
    [524, 'gateway', 6, 'unknown', true],
    [529, 'gateway', 6, 'no', true],
    [301, 'bad-reply', 9, 'yes', false],
    [304, 'bad-reply', 9, 'yes', false],
    [200, 'bad-reply', 9, 'yes', false],
    [204, 'bad-reply', 9, 'yes', false],
    [700, 'bad-reply', 9, 'yes', false],
  ])('%i is of class %s', (status, errorClass, exitCode, billed, retryable) => {
    expect(fail(status)).toMatchObject({
      class: errorClass,
      exitCode,
      billed,
      details: { status, retryable, sent: 'yes' },
    });
  });

  test.each([
    [
      'a bad key that is answered with 400',
      400,
      { code: 400, message: 'm', details: [{ reason: 'API_KEY_INVALID' }] },
      'auth',
      3,
    ],
    ['a bad key of the chat format', 400, { code: 'invalid_api_key', message: 'm' }, 'auth', 3],
    [
      '400 for a spent balance',
      400,
      { type: 'invalid_request_error', message: 'Your credit balance is too low' },
      'quota',
      5,
    ],
    ['403 for a spent quota', 403, { code: 'insufficient_user_quota', message: 'm' }, 'quota', 5],
    ['500 for a spent quota', 500, { code: 'insufficient_quota', message: 'm' }, 'gateway', 6],
  ])('is recognised by the body too: %s', (_, status, body, errorClass, exitCode) => {
    expect(fail(status, error(body))).toMatchObject({ class: errorClass, exitCode });
  });
});

describe('the failure of a reply with status 200', () => {
  test.each([
    ['a code', { code: 503, message: 'm' }, 'gateway', 503],
    ['a code that is a text', { code: '429', message: 'm' }, 'quota', 429],
    ['a name of the messages format', { type: 'overloaded_error', message: 'm' }, 'gateway', 529],
    ['a name of the content format', { status: 'RESOURCE_EXHAUSTED', message: 'm' }, 'quota', 429],
    ['a bad argument', { status: 'INVALID_ARGUMENT', message: 'm' }, 'rejected', 400],
    ['a bad key', { status: 'INVALID_ARGUMENT', message: 'm', details: [{ reason: 'API_KEY_INVALID' }] }, 'auth', 400],
    ['a code of the chat format', { code: 'model_not_found', type: 'new_api_error', message: 'm' }, 'rejected', 404],
    ['a spent quota', { type: 'insufficient_user_quota', message: 'm' }, 'quota', undefined],
    ['a name nobody knows', { type: 'one_hub_error', message: 'm' }, 'gateway', undefined],
    ['the lowest status of a failure as its code', { code: 400, message: 'm' }, 'rejected', 400],
    ['the highest status of a failure as its code', { code: 599, message: 'm' }, 'gateway', 599],
    ['a code below every status of a failure', { code: 399, message: 'm' }, 'gateway', undefined],
    ['a code above every status', { code: 600, message: 'm' }, 'gateway', undefined],
    ['a code that is part of a number', { code: '429.5', message: 'm' }, 'gateway', undefined],
    ['a code that is no status', { code: 1001, message: 'm' }, 'gateway', undefined],
  ])('with an error goes by %s (deviation 15)', (_, body, errorClass, status) => {
    const failure = fail(200, error(body));
    expect(failure).toMatchObject({ class: errorClass, details: { status } });
    expect(failure.message).toMatch(/^the gateway answered 200 with an error/);
  });

  test.each([
    ['nothing', '', 'the gateway answered 200 without a body'],
    ['HTML', '<html><title>Log in</title>', 'the gateway answered 200 with something that is not a reply: Log in'],
    ['cut JSON', '{"candidates":[', 'the gateway answered 200 with something that is not a reply: {"candidates":['],
    ['a text', 'ok', 'the gateway answered 200 with something that is not a reply: ok'],
  ])('with %s is a bad reply', (_, body, message) => {
    expect(fail(200, body)).toMatchObject({ class: 'bad-reply', message, details: { retryable: false } });
  });
});

describe('the message', () => {
  test.each([
    ['status alone', 502, '', 'the gateway answered 502'],
    ['an HTML page', 502, '<title>Bad Gateway</title>', 'the gateway answered 502: Bad Gateway'],
    [
      'a name',
      404,
      error({ status: 'NOT_FOUND', message: 'models/x is not found' }),
      'the gateway answered 404 (NOT_FOUND): models/x is not found',
    ],
    ['a code', 403, error({ code: 'denied', message: 'no' }), 'the gateway answered 403 (denied): no'],
    ['a name and no message', 500, error({ type: 'api_error' }), 'the gateway answered 500 (api_error)'],
    ['a message of several lines', 400, error({ message: 'a\r\n\tb' }), 'the gateway answered 400: a b'],
  ])('tells %s', (_, status, body, expected) => {
    expect(fail(status, body).message).toBe(expected);
  });

  test('quotes at most 200 characters, and never half a character', () => {
    const { message } = fail(400, error({ message: '🦅'.repeat(500) }));
    expect(message).toBe(`the gateway answered 400: ${'🦅'.repeat(199)}…`);
  });
});

describe('the details', () => {
  test.each([
    ['request-id', { 'request-id': 'a', 'x-request-id': 'b' }, 'a'],
    ['x-request-id', { 'x-request-id': 'b' }, 'b'],
    ['the body', {}, 'c'],
  ])('hold the request id of %s', (_, headers, expected) => {
    const body = JSON.stringify({ error: { message: 'm' }, request_id: 'c' });
    expect(fail(500, body, headers).details.requestId).toBe(expected);
  });

  test('hold the wish of the body to wait', () => {
    expect(fail(429, error({ message: 'Please retry in 2s' })).details.retryAfterMs).toBe(2000);
  });

  test.each([
    ['x-should-retry: true', 400, '', 'true', true],
    ['x-should-retry: false', 503, '', 'false', false],
    ['another x-should-retry', 503, '', 'maybe', true],
    ['a spent quota', 429, error({ type: 'insufficient_quota' }), 'true', false],
  ])('say whether to try again: %s', (_, status, body, wish, expected) => {
    expect(fail(status, body, { 'x-should-retry': wish }).details.retryable).toBe(expected);
  });
});

test('a quota of a day that only the metadata of the error names is spent', () => {
  const metadata = { quota_limit: 'GenerateRequestsPerDayPerProjectPerModel', quota_limit_value: '50' };
  const body = error({ code: 429, message: 'exceeded', details: [{ reason: 'RATE_LIMIT_EXCEEDED', metadata }] });
  expect(fail(429, body)).toMatchObject({
    message: expect.stringContaining('(limit GenerateRequestsPerDayPerProjectPerModel)') as string,
    details: { reason: 'quota-spent', retryable: false },
  });
});
