import * as vitest from 'vitest';
import { describe, expect, test } from 'vitest';
import { useGateway, type Hooks } from '../../../src/gateway/testing/index.ts';

const body = JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hello' }] }] });

const ask = (text = body): Promise<Response> =>
  fetch(`${process.env['GATEWAY_BASE_URL']}/v1beta/models/m:generateContent`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${process.env['GATEWAY_API_KEY']}` },
    body: text,
  });

describe('a gateway for a file of tests', () => {
  const gateway = useGateway({ answers: [{ prompt: 'hello', turns: ['one', 'two'] }] }, vitest);

  test.each([1, 2])('sets the variables, and is reset before test %i', async () => {
    expect(process.env['GATEWAY_BASE_URL']).toBe(gateway.url);
    expect(await (await ask()).text()).toContain('"one"');
    expect(gateway.requests()).toHaveLength(1);
  });
});

/** A test runner whose hooks the test calls. */
function runner(): { hooks: Hooks; run(name: 'before' | 'afterEach' | 'after'): Promise<void> } {
  const kept = new Map<string, () => Promise<void>>();
  const keep = (name: string) => (hook: () => Promise<void>) => void kept.set(name, hook);
  const hooks = { before: keep('before'), afterEach: keep('afterEach'), after: keep('after') };
  return { hooks, run: async (name) => kept.get(name)?.() };
}

test('a test fails if no answer matched, and the variables are restored at the end', async () => {
  vitest.vi.stubEnv('GATEWAY_BASE_URL', 'https://before.example');
  vitest.vi.stubEnv('GATEWAY_PROFILE', 'work');
  const { hooks, run } = runner();
  const gateway = useGateway({ answers: { hello: 'Hi' } }, hooks);
  expect(() => gateway.url).toThrow('the gateway has not started yet');
  await run('before');
  expect(process.env['GATEWAY_PROFILE']).toBeUndefined();
  await ask(body.replace('hello', 'what?'));
  await expect(run('afterEach')).rejects.toThrow(
    "no answer for the prompt 'what?' (POST /v1beta/models/m:generateContent)",
  );
  await ask();
  await run('afterEach');
  await run('after');
  expect(process.env['GATEWAY_BASE_URL']).toBe('https://before.example');
  expect(process.env['GATEWAY_PROFILE']).toBe('work');
  vitest.vi.unstubAllEnvs();
});

test('useGateway without the hooks of vitest says how to pass them', () => {
  expect(() => useGateway()).toThrow('the functions of vitest are not global here');
});
