import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type FakeReply, startFakeServer } from '../../fake-servers/start.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { replies } from '../../cli/request/answers.ts';

const json = { 'content-type': 'application/json' };
const answered: FakeReply = { status: 200, headers: json, body: JSON.stringify(replies.responses) };

beforeEach(() => {
  vi.stubEnv('XDG_CACHE_HOME', scratchFolder());
});

interface Sent {
  input: { type?: string }[];
  include?: string[];
  reasoning?: object;
}

/** A server that refuses requests in some words, and the requests that came. */
async function serveRefusing(refuses: (sent: Sent) => string | undefined) {
  const requests: Sent[] = [];
  const server = await startFakeServer(({ body }) => {
    const sent = JSON.parse(body) as Sent;
    requests.push(sent);
    const message = refuses(sent);
    const error = { message, type: 'invalid_request_error', param: 'input', code: null };
    return message === undefined ? answered : { status: 400, headers: json, body: JSON.stringify({ error }) };
  });
  onTestFinished(() => server.close());
  const env = {
    GATEWAY_BASE_URL: server.url,
    GATEWAY_FORMAT: 'responses',
    GATEWAY_API_KEY: 'key-0123456789',
    GATEWAY_MODEL: 'm',
  };
  return { requests, env };
}

const hasThinking = ({ input }: Sent): boolean => input.some(({ type }) => type === 'reasoning');

test.each([
  [
    'OpenAI, of an account that is another one',
    'The encrypted content for item rs_1 could not be verified. Reason: Encrypted content organization_id did not match.',
  ],
  [
    'OpenAI, of thinking that it does not know',
    "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
  ],
  [
    'a gateway with another upstream',
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
  ],
])('a conversation goes on without its thinking where the words are those of %s', async (_, words) => {
  const { requests, env } = await serveRefusing((sent) => (hasThinking(sent) ? words : undefined));
  const argv = ['chat', 'hi', '--no-stream', '--session', join(scratchFolder(), 's.jsonl')];
  await run(argv, { env });
  const ran = await run(argv, { env });
  expect(ran).toMatchObject({ code: 0, stdout: '{"a":1}\n' });
  expect(ran.stderr).toContain('the service refuses the thinking of earlier turns: sent again without it');
  expect(requests.map(hasThinking)).toEqual([false, true, false]);
  expect(requests.at(-1)?.input).toHaveLength(3);

  // It counts for that request: what another conversation thought is sent.
  await run(argv, { env });
  expect(requests.map(hasThinking).slice(3)).toEqual([true, false]);
});

test('thinking that can go back is not asked for again of a model that has none', async () => {
  const { requests, env } = await serveRefusing(({ include }) =>
    include === undefined ? undefined : 'Encrypted content is not supported with this model.',
  );
  const argv = ['chat', 'hi', '--no-stream'];
  for (let turn = 0; turn < 2; turn++)
    expect(await run(argv, { env })).toMatchObject({ code: 0, stdout: '{"a":1}\n', stderr: '' });
  expect(requests.map(({ include }) => include !== undefined)).toEqual([true, false, false]);
  await run([...argv, '-m', 'other'], { env });
  expect(requests.at(3)?.include).toEqual(['reasoning.encrypted_content']);
});

test('a summary of the thinking is not asked for again of an account that gets none, and the effort stays', async () => {
  const { requests, env } = await serveRefusing(({ reasoning = {} }) =>
    'summary' in reasoning
      ? 'Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general'
      : undefined,
  );
  for (let turn = 0; turn < 2; turn++)
    expect(await run(['text', 'hi', '--effort', 'high'], { env })).toMatchObject({ code: 0, stdout: '{"a":1}\n' });
  expect(requests.map(({ reasoning }) => reasoning)).toEqual([
    { effort: 'high', summary: 'auto' },
    { effort: 'high' },
    { effort: 'high' },
  ]);
});

test('a refusal about anything else is the error', async () => {
  const { requests, env } = await serveRefusing(() => "Invalid value: 'x'.");
  expect(await run(['chat', 'hi', '--no-stream'], { env })).toMatchObject({ code: 4 });
  expect(requests).toHaveLength(1);
});
