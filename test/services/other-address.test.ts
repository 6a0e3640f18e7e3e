import { expect } from 'vitest';
import { createClient } from '../../src/index.ts';
import { canaryKey, test } from '../helpers/with-server.ts';

// OpenAI's format at an address that is not OpenAI's: Azure, LiteLLM, other proxies.

const reply = {
  body: { choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }] },
};
const refused = (message: string, more: object = {}): object => ({
  status: 400,
  body: { error: { message, type: 'invalid_request_error', ...more } },
});
const renamed = refused(
  "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  { param: 'max_tokens', code: 'unsupported_parameter' },
);
const openai = { GATEWAY_SERVICE: 'openai', GATEWAY_API_KEY: canaryKey };

test('text, doctor --live and the library name the limit of tokens alike', async ({ server, cli }) => {
  server.always(({ method }) => (method === 'POST' ? reply : { status: 404 }));
  await cli(['text', 'hi', '--max-tokens', '16'], { env: openai });
  await cli(['doctor', '--live'], { env: openai });
  const client = createClient({ baseUrl: server.url, service: 'openai', apiKey: canaryKey });
  await client.generate({ model: 'm', prompt: 'hi', maxTokens: 16 });
  const posts = server.requests.filter(({ method }) => method === 'POST');
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], max_tokens: 16 };
  expect(posts.map((post) => post.json())).toEqual([body, body, body]);
});

test('a refused max_tokens goes out again as max_completion_tokens; where that is refused too, the hint names a field', async ({
  server,
  cli,
}) => {
  server.reply(renamed);
  server.reply(reply);
  const ran = await cli(['text', 'hi', '--max-tokens', '16'], { env: openai });
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello.\n', stderr: '' });
  expect(server.requests[1]?.json()).toMatchObject({ max_completion_tokens: 16 });
  server.always(renamed);
  const again = await cli(['text', 'hi', '--max-tokens', '16'], { env: openai });
  expect(again).toMatchObject({ code: 4, stdout: '' });
  expect(again.stderr).toMatch(/\n {2}.*add --set max_completion_tokens=<n>, and leave --max-tokens out\n$/);
});

test('the hint of a limit that thinking used up is to allow more tokens', async ({ server, cli }) => {
  const message = 'Could not finish the message because max_tokens or model output limit was reached.';
  server.reply(refused(message));
  const ran = await cli(['text', 'hi', '--max-tokens', '16'], { env: openai });
  expect(ran).toMatchObject({ code: 4, stdout: '' });
  expect(ran.stderr).toMatch(/\n {2}allow more with --max-tokens <n>\n$/);
});

test('the hint of tools that a model takes only without thinking is how to turn it off', async ({ server, cli }) => {
  const message =
    "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
  server.reply(refused(message, { param: 'reasoning_effort', code: null }));
  const ran = await cli(['text', 'hi', '--format', 'completions'], { env: openai });
  expect(ran).toMatchObject({ code: 4, stdout: '' });
  expect(ran.stderr).toMatch(/\n {2}.*--effort none\n$/);
});
