import { expect, test } from 'vitest';
import { createPause } from '../helpers/scripted-server.ts';
import { open, post, requestTo, serve } from './post.ts';

test('posts the body and returns head and chunks of the reply', async () => {
  const server = await serve();
  server.reply({ headers: { 'X-Two': 'a', 'x-two': 'b' }, body: { ok: true } });
  const ending = await post(`${server.url}/v1/messages`, { body: { text: 'ä"' }, headers: { 'x-api-key': 'k' } });
  expect(ending).toMatchObject({
    text: '{"ok":true}',
    sent: true,
    reply: { status: 200, headers: { 'x-two': 'a, b' } },
  });
  const [request] = server.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/v1/messages' });
  expect(request?.headers).toMatchObject({ 'accept-encoding': 'identity', 'content-length': '15', 'x-api-key': 'k' });
  expect(request?.json()).toEqual({ text: 'ä"' });
});

test('yields the first chunk before the server sends the last', async () => {
  const server = await serve();
  const pause = createPause();
  server.reply({ chunks: ['one', pause.until, 'two'] });
  const reply = await open().exchange(requestTo(server.url), { signal: new AbortController().signal });
  const seen: string[] = [];
  for await (const chunk of reply.body) {
    seen.push(Buffer.from(chunk).toString());
    pause.release();
  }
  expect(seen).toEqual(['one', 'two']);
});
