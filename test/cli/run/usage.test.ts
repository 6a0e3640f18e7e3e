import { expect } from 'vitest';
import { run } from '../../helpers/run.ts';
import { canaryKey, test } from '../../helpers/with-server.ts';

test.each([
  ['no base URL', {}, 2, ['GATEWAY_BASE_URL', '--offline']],
  ['no model', { GATEWAY_BASE_URL: 'http://127.0.0.1:1' }, 2, ['GATEWAY_MODEL', '--offline']],
  ['no key', { GATEWAY_BASE_URL: 'http://127.0.0.1:1', GATEWAY_MODEL: 'm' }, 3, ['GATEWAY_API_KEY', '--api-key-file']],
  [
    'plain http with a key',
    { GATEWAY_BASE_URL: 'http://example.test', GATEWAY_MODEL: 'm', GATEWAY_API_KEY: canaryKey },
    2,
    ['--allow-http'],
  ],
  [
    'a base URL with a fragment',
    { GATEWAY_BASE_URL: 'https://example.test/#a=1', GATEWAY_MODEL: 'm', GATEWAY_API_KEY: canaryKey },
    2,
    ['fragment'],
  ],
])('%s is found before anything is sent', async (_, env, code, words) => {
  const ran = await run(['text', 'hi'], { env });
  expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: '' });
  for (const word of words) expect(ran.stderr).toContain(word);
});

test('with --json a mistake in argv gives the document too', async () => {
  const ran = await run(['text', '--json', '--nonsense']);
  expect(ran.code).toBe(2);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    schema: 'gateway-cli/result@1',
    ok: false,
    exitCode: 2,
    error: { class: 'usage', message: 'unknown flag --nonsense', sent: 'no', billed: 'no', retryable: false },
  });
});

test('no arguments: help on stdout, 0; a group without its command: help on stderr, 2', async () => {
  expect(await run([])).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('Examples:') as string });
  const group = await run(['image']);
  expect(group).toMatchObject({ code: 2, stdout: '' });
  expect(group.stderr).toContain('gen');
});

test.each([[['text']], [['image', 'gen']], [['image', 'edit']], [['chat']]])(
  'an unknown flag of %s is exit 2',
  async (words) => {
    expect(await run([...words, 'x', '--nonsense'])).toMatchObject({ code: 2, stdout: '' });
  },
);

test.each([[['text']], [['image', 'gen']], [['image', 'edit']], [['chat']]])(
  'the help of %s begins with examples and fits 45 lines',
  async (words) => {
    const { code, stdout, stderr } = await run([...words, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').length).toBeLessThanOrEqual(46);
    expect(stdout.indexOf('Examples:')).toBeLessThan(stdout.indexOf('Usage:'));
    expect(stdout.indexOf('Flags:')).toBeLessThan(stdout.indexOf('Connection:'));
  },
);
