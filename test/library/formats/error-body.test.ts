import { describe, expect, test } from 'vitest';
import { readErrorBody } from '../../../src/library/formats/error-body.ts';
import { findErrorInReply } from '../../../src/library/formats/format.ts';

const json = (value: unknown) => JSON.stringify(value);
const google = { error: { code: 404, message: 'not found', status: 'NOT_FOUND' } };
const vendor = {
  type: 'error',
  error: { details: null, type: 'overloaded_error', message: 'Overloaded' },
  request_id: 'req_1',
};
const info = (type: string) => `type.googleapis.com/google.rpc.${type}`;

describe('readErrorBody', () => {
  test.each<[string, string, object]>([
    ['the content format', json(google), { message: 'not found', code: 404, status: 'NOT_FOUND' }],
    ['the messages format', json(vendor), { message: 'Overloaded', type: 'overloaded_error', requestId: 'req_1' }],
    [
      'the chat format of relays (deviation 16)',
      json({ error: { message: 'bad', type: 'new_api_error', param: '', code: 'model_not_found' } }),
      { message: 'bad', type: 'new_api_error', code: 'model_not_found' },
    ],
    [
      'a foreign outer type (deviation 17)',
      json({ type: 'one_hub_error', error: { message: 'bad', code: 'x' } }),
      { message: 'bad', type: 'one_hub_error', code: 'x' },
    ],
    [
      'the id of the request inside the error',
      json({ error: { message: 'bad', request_id: 'req_2' } }),
      { message: 'bad', requestId: 'req_2' },
    ],
    [
      'the id of the request around the error before one inside it',
      json({ error: { message: 'bad', request_id: 'req_2' }, request_id: 'req_1' }),
      { message: 'bad', requestId: 'req_1' },
    ],
    ['success: false (deviation 17)', json({ success: false, message: 'no' }), { message: 'no' }],
    ['detail (deviation 17)', json({ detail: 'Not Found' }), { message: 'Not Found' }],
    [
      'a list of details (deviation 17)',
      json({ detail: [{ loc: ['body', 'model'], msg: 'field required' }, { msg: 'other' }] }),
      { message: 'body.model: field required; other' },
    ],
    ['an error that is a text (deviation 17)', json({ error: 'Unauthorized' }), { message: 'Unauthorized' }],
    ['a status that is a number', json({ status: 502, error: 'Bad Gateway' }), { message: 'Bad Gateway', code: 502 }],
    ['an array (deviation 19)', json([google]), { message: 'not found', code: 404, status: 'NOT_FOUND' }],
    ['a JSON text', json('no'), { message: 'no' }],
    ['no message, but a name', json({ error: { type: 'api_error' } }), { message: 'api_error', type: 'api_error' }],
    ['no message, but a code', json({ error: { code: 404 } }), { message: '404', code: 404 }],
    [
      'an error in an event (deviation 40)',
      `event: error\r\ndata: ${json(vendor)}\r\n\r\n`,
      { message: 'Overloaded', type: 'overloaded_error' },
    ],
    ['plain text', '  upstream\n connect   error ', { message: 'upstream connect error' }],
    ['JSON that says nothing', '{"a":1}', { message: '{"a":1}' }],
    ['an empty message', json({ error: { message: '', type: 'api_error' } }), { message: 'api_error' }],
    ['a byte order mark', `\uFEFF${json(google)}`, { message: 'not found' }],
  ])('reads %s', (_, body, expected) => {
    expect(readErrorBody(body)).toMatchObject(expected);
  });

  test.each(['', '  \n'])('readErrorBody finds no error in %j', (body) => {
    expect(readErrorBody(body)).toBeUndefined();
  });

  test.each([
    ['once', json({ error: { message: json(google), code: 400, status: 'Bad Request' } })],
    ['twice', json({ error: { message: json({ error: { message: json(google) } }) } })],
    ['with blanks and line breaks', json({ error: { message: `\n ${JSON.stringify(google, null, 2)}\n` } })],
    ['as a JSON text', json(json(google))],
  ])('unwraps a message that is JSON %s (deviation 18)', (_, body) => {
    expect(readErrorBody(body)).toMatchObject({ message: 'not found', code: 404, status: 'NOT_FOUND' });
  });

  test('unwraps no deeper than two levels, and keeps the outer facts where the inner has none (deviation 18)', () => {
    const nest = (message: string) => json({ error: { message } });
    expect(readErrorBody(nest(nest(nest(nest('x')))))?.message).toBe(nest('x'));
    const body = json({ error: { message: nest('inner'), type: 'api_error' }, request_id: 'r' });
    expect(readErrorBody(body)).toMatchObject({ message: 'inner', type: 'api_error', requestId: 'r' });
  });

  test.each([
    [
      'the title',
      '<!DOCTYPE html><html><head><TITLE lang=en>\n502 Bad\n Gateway</TITLE></head><body>x</body>',
      '502 Bad Gateway',
    ],
    ['the text where no title is', '<html><body><h1>Error</h1><p>down</p></body></html>', 'Error down'],
    ['the text where the title is empty', '<title></title><p>down</p>', 'down'],
    ['what came of a cut page', '<html><body>down <b', 'down'],
  ])('takes %s of an HTML page (deviation 39)', (_, html, expected) => {
    expect(readErrorBody(html)?.message).toBe(expected);
  });

  test.each([
    ['plain text', 'é'.repeat(5000)],
    ['HTML', `<p>${'é'.repeat(5000)}`],
  ])('keeps at most 200 characters of %s (deviation 39)', (_, body) => {
    expect(readErrorBody(body)?.message).toBe(`${'é'.repeat(199)}…`);
  });

  test.each([
    ['open tags', '<'.repeat(1_000_000)],
    ['titles', '<title'.repeat(200_000)],
    ['brackets', '['.repeat(1_000_000)],
    ['nested arrays', `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`],
    ['blanks', `{${' '.repeat(1_000_000)}`],
    ['digits', `retry in ${'1'.repeat(1_000_000)}`],
    ['event lines', 'data:[\n'.repeat(100_000)],
  ])('reading an error body takes no long time for a million %s', (_, body) => {
    expect(readErrorBody(body)?.message.length).toBeLessThanOrEqual(200);
  });
});

describe('the wish to wait', () => {
  test.each([
    [
      'RetryInfo',
      { details: [{ '@type': info('Help') }, { '@type': info('RetryInfo'), retryDelay: '34.4s' }] },
      34_400,
    ],
    ['RetryInfo in whole seconds', { details: [{ retryDelay: '47s' }] }, 47_000],
    ['RetryInfo in snake case', { details: [{ retry_delay: { seconds: 3, nanos: 500000000 } }] }, 3500],
    ['prose', { message: 'Quota exceeded. Please retry in 25.465784708s.' }, 25_466],
    ['prose in minutes', { message: 'Please try again in 1m2.5s, or upgrade' }, 62_500],
    ['prose in milliseconds', { message: 'please retry in 496.9ms' }, 497],
    ['prose in words', { message: 'Retry after 20 seconds' }, 20_000],
    ['RetryInfo before prose', { message: 'Please retry in 9s', details: [{ retryDelay: '2s' }] }, 2000],
    ['nothing', { message: 'Please retry in a while' }, undefined],
    ['a number without a unit', { message: 'retry in 5' }, undefined],
    ['a unit of another word', { message: 'retry in 5 hamsters' }, undefined],
    ['a negative delay', { details: [{ retryDelay: '-5s' }] }, undefined],
    ['a delay that is no number', { details: [{ retryDelay: { seconds: 'x' } }] }, undefined],
  ])('is read from %s (formats 2)', (_, error, expected) => {
    expect(readErrorBody(json({ error: { message: 'm', ...error } }))?.retryDelayMs).toBe(expected);
  });
});

test.each([
  ['request_id outside', { request_id: 'a', error: { message: 'm' } }, 'a'],
  ['request_id inside', { error: { message: 'm', request_id: 'b' } }, 'b'],
  [
    'the end of the message (deviation 21)',
    { error: { message: '当前分组 default 下对于模型 X 无可用渠道 (request id: 2025abc)' } },
    '2025abc',
  ],
  ['nowhere', { error: { message: 'm' } }, undefined],
])('reads the request id from %s', (_, body, expected) => {
  expect(readErrorBody(json(body))?.requestId).toBe(expected);
});

test('reads the reason and the refused fields from the details', () => {
  const details = [
    { '@type': info('ErrorInfo'), reason: 'API_KEY_INVALID', domain: 'd' },
    { '@type': info('BadRequest'), fieldViolations: [{ field: 'a.b', description: 'x' }, { description: 'y' }] },
    null,
  ];
  expect(readErrorBody(json({ error: { message: 'm', details } }))).toMatchObject({
    reason: 'API_KEY_INVALID',
    fields: ['a.b'],
  });
});

describe('findErrorInReply', () => {
  test.each<[string, unknown, string]>([
    ['an error of the content format', google, 'not found'],
    ['an error of the messages format', vendor, 'Overloaded'],
    ['an error in an array', [google], 'not found'],
    ['an error after pieces of a reply', [{ candidates: [] }, google], 'not found'],
    ['an error beside candidates', { ...google, candidates: [] }, 'not found'],
    ['an error in a wrapper', { response: google }, 'not found'],
    ['an error that is a text', { error: 'no' }, 'no'],
    ['success: false', { success: false, message: 'no' }, 'no'],
    ['detail', { detail: 'Not Found' }, 'Not Found'],
  ])('finds %s (deviation 15)', (_, reply, message) => {
    expect(findErrorInReply(reply)?.message).toBe(message);
  });

  test.each([
    ['a content reply', { candidates: [{ content: {} }] }],
    ['a blocked prompt', { promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: 'm' } }],
    ['a message', { type: 'message', role: 'assistant', content: [] }],
    ['a reply with error: null', { candidates: [], error: null }],
    ['a reply with a message of its own', { candidates: [], message: 'ok' }],
    ['an empty object', {}],
    ['a number', 1],
    ['null', null],
    ['an array of texts', ['error']],
  ])('no error is found in %s', (_, reply) => {
    expect(findErrorInReply(reply)).toBeUndefined();
  });
});
