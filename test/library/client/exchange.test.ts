import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../../src/index.ts';
import type { AskRequest, PrepareOptions } from '../../../src/index.ts';
import { type FakeReply, type FakeRequest, startFakeServer } from '../../fake-servers/start.ts';
import { replies } from '../../cli/request/answers.ts';

/*
 * A refused request can go out again in another form. Its reply is read as the reply to the request that was sent last.
 */

const headers = { 'content-type': 'application/json' };

function refuse(message: string, status = 400): FakeReply {
  return { status, headers, body: JSON.stringify({ error: { message, type: 'invalid_request_error' } }) };
}

async function openClient(answer: (request: FakeRequest) => FakeReply) {
  const server = await startFakeServer(answer);
  const client = createClient({ service: 'openai', baseUrl: server.url, apiKey: 'key-0123456789', retries: 0 });
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  return { client, server };
}

const completion: FakeReply = { status: 200, headers, body: JSON.stringify(replies.completions) };

test.each<[string, AskRequest, PrepareOptions, FakeReply, object]>([
  [
    'in another format',
    { model: 'm', prompt: 'hi' },
    {},
    refuse('This model is only supported in v1/responses and not in v1/chat/completions.'),
    { format: 'responses', body: { model: 'm', input: [{ role: 'user', content: 'hi' }], store: false } },
  ],
  [
    'without a field',
    { model: 'm', prompt: 'hi' },
    { format: 'responses', use: 'chat' },
    refuse('Encrypted content is not supported with this model.'),
    { format: 'responses', body: { model: 'm', input: [{ role: 'user', content: 'hi' }], store: false } },
  ],
  [
    'to another model',
    { model: 'm', prompt: 'hi' },
    { format: 'completions', fallback: 'n' },
    refuse('The model `m` does not exist', 404),
    { format: 'completions', body: { model: 'n', messages: [{ role: 'user', content: 'hi' }] } },
  ],
])('a request that goes out again %s comes back with its reply as it was sent', async (_, ...row) => {
  const [request, options, refusal, sent] = row;
  const { client, server } = await openClient(({ path }) => {
    if (server.requests.length === 1) return refusal;
    return path === '/v1/responses' ? { ...completion, body: JSON.stringify(replies.responses) } : completion;
  });
  const prepared = await client.prepare(request, options);
  const asking = client.ask(prepared);
  let next = await asking.next();
  while (!next.done) next = await asking.next();
  const { post } = next.value.request;
  expect({ format: post.format, body: post.body }).toEqual(sent);
  expect(JSON.parse(server.requests.at(-1)?.body ?? '')).toEqual(post.body);
  expect(next.value.result.text).toBe('{"a":1}');
});

test('words that only the repaired request has are no words of the service in an error inside the reply', async () => {
  // The schema goes in words into the second request, and the error quotes them.
  const schema = { type: 'string', maxLength: 8, insufficient_quota: 5 };
  const { client, server } = await openClient(({ body }) => {
    if (body.includes('json_schema')) return refuse('response_format json_schema is not supported');
    const { messages } = JSON.parse(body) as { messages: { content: string }[] };
    return { ...refuse(`Invalid prompt: ${messages[0]?.content}`), status: 200 };
  });
  const asking = client.generate({ model: 'm', prompt: 'hi', schema }, { format: 'completions' });
  await expect(asking).rejects.toMatchObject({
    class: 'rejected',
    message: expect.stringContaining('insufficient_quota'),
  });
  expect(server.requests).toHaveLength(2);
});
