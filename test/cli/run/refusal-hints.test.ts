import { describe, expect } from 'vitest';
import { eventStream, messageEvents, test } from '../../helpers/with-server.ts';

const invalidKey = { status: 401, body: { error: { message: 'Invalid API key' } } };
const notFound = { status: 404, body: 'not found' };
const page = (title: string): object => ({
  status: 400,
  headers: { 'content-type': 'text/html' },
  body: `<html><head><title>400 ${title}</title></head><body><center><h1>400 Bad Request</h1></center></body></html>`,
});

describe('what a refusal recommends', () => {
  test.for([
    [
      'nginx without a client certificate',
      ['text', 'x'],
      page('No required SSL certificate was sent'),
      4,
      '--client-cert',
    ],
    ['nginx at its TLS port', ['text', 'x'], page('The plain HTTP request was sent to HTTPS port'), 4, 'https://'],
    [
      'Go at its TLS port',
      ['chat', 'x'],
      { status: 400, body: 'Client sent an HTTP request to an HTTPS server.\n' },
      4,
      'https://',
    ],
    [
      'a gateway of another format',
      ['text', 'x'],
      { status: 404, body: { error: { message: 'Invalid URL (POST /v1beta/x)', type: 'invalid_request_error' } } },
      4,
      'this looks like the completions format: add --format completions',
    ],
    ['a TLS server', ['text', 'x'], { raw: '\x15\x03\x03\x00\x02\x02\x28' }, 9, 'https://'],
  ] as const)('%s', async ([, argv, reply, code, hint], { server, cli }) => {
    if ('raw' in reply) server.raw(reply.raw);
    else server.reply(reply);
    const ran = await cli([...argv, '--retries', '0']);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toContain(hint);
  });
});

describe('a gateway with only the messages format, which answers 401 to any other path', () => {
  test('has no list of models; its key is not blamed', async ({ server, cli }) => {
    server.reply(invalidKey);
    server.reply(notFound);
    const ran = await cli(['models']);
    expect(ran).toMatchObject({ code: 4, stdout: '' });
    expect(ran.stderr).toContain('this gateway has no list of models');
    expect(ran.stderr).toContain('gateway-cli doctor --live');
  });

  test('passes doctor --live with a warning', async ({ server, cli }) => {
    server.always((request) =>
      request.path.startsWith('/v1/messages') ? { body: eventStream(...messageEvents('hi')) } : invalidKey,
    );
    const ran = await cli(['doctor', '--live']);
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain('perhaps the gateway does not have this format');
  });
});

test('models recommends no flag that it does not have', async ({ server, cli }) => {
  server.always({ status: 200, body: '{"some":"thing"}' });
  const ran = await cli(['models']);
  expect(ran.stderr).not.toMatch(/--model|--raw/);
});

test.for([
  ['http', 'HTTP_PROXY'],
  ['https', 'HTTPS_PROXY'],
] as const)(
  'a proxy without its password at an %s:// gateway names %s',
  async ([scheme, variable], { server, cli }) => {
    server.raw('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n');
    const base = ['--base-url', `${scheme}://gateway.test`, '--allow-http', '--retries', '0'];
    const ran = await cli(['text', 'x', '--proxy', server.url, ...base]);
    expect(ran.code).toBe(7);
    expect(ran.stderr).toContain(`set ${variable}=http://user:password@`);
  },
);

test('a 429 names the limit that was reached, and the wait', async ({ server, cli }) => {
  const details = [
    { violations: [{ quotaId: 'GenerateContentInputTokensPerModelPerMinute-FreeTier' }] },
    { retryDelay: '25s' },
  ];
  server.reply({
    status: 429,
    body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'too many', details } },
  });
  const ran = await cli(['text', 'x', '--retries', '0']);
  expect(ran.code).toBe(5);
  expect(ran.stderr).toContain('too many (limit GenerateContentInputTokensPerModelPerMinute-FreeTier)');
  expect(ran.stderr).toContain('after 25 s');
});
