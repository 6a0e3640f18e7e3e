import { expect } from 'vitest';
import { run } from '../helpers/run.ts';
import { canaryKey, test } from '../helpers/with-server.ts';

const reply = {
  body: { choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }] },
};

test.for(['127.0.0.1', 'localhost', 'localhost.', 'models.localhost', '0.0.0.0', '[::ffff:127.0.0.1]'])(
  'a server at %s is one of this machine: it needs no key, no https and no proxy, and gets the key in a variable',
  async (host, { server }) => {
    const baseUrl = `http://${host}:${new URL(server.url).port}`;
    const env = { http_proxy: 'http://127.0.0.1:9', GATEWAY_SERVICE: 'openai', GATEWAY_BASE_URL: baseUrl };
    server.reply(reply);
    server.reply(reply);
    expect(await run(['text', 'hi', '-m', 'm'], { env })).toMatchObject({ code: 0, stdout: 'Hello.\n', stderr: '' });
    const keyed = await run(['text', 'hi', '-m', 'm'], { env: { ...env, OPENAI_API_KEY: canaryKey } });
    expect(keyed).toMatchObject({ code: 0, stdout: 'Hello.\n', stderr: '' });
    const sent = server.requests.map(({ headers }) => headers['authorization']);
    expect(sent).toEqual([undefined, `Bearer ${canaryKey}`]);
  },
);

test('a host whose name only begins with localhost is another machine', async ({ server }) => {
  const { port } = new URL(server.url);
  const ran = await run(['text', 'hi', '-m', 'm', '--retries', '0'], {
    env: {
      GATEWAY_SERVICE: 'openai',
      GATEWAY_BASE_URL: `http://localhost.invalid:${port}`,
      GATEWAY_API_KEY: canaryKey,
    },
  });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('unencrypted');
});

const way = "if a server with OpenAI's format answers there, such as llama.cpp, vLLM or LM Studio: --service openai\n";

test.for([
  ['chat hi --base-url http://127.0.0.1:9', 'no model is set'],
  ['chat hi --base-url http://127.0.0.1:9/v1 -m m', 'no API key is set'],
  ['text hi --base-url http://0.0.0.0:9 -m m', 'no API key is set'],
  ['models --base-url http://localhost:9', 'no API key is set'],
] as const)('%s names the service of most servers on this machine', async ([line, message]) => {
  const ran = await run(line.split(' '));
  expect(ran.stdout).toBe('');
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain(`  ${way}`);
});

test.for(['chat hi --base-url https://gateway.test -m m', 'image gen hi --base-url http://127.0.0.1:9 -m m'])(
  '%s does not name it',
  async (line) => {
    const ran = await run(line.split(' '));
    expect(ran.stderr).toContain('no API key is set');
    expect(ran.stderr).not.toContain(way);
  },
);
