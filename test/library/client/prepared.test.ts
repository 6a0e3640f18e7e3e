import { expect, onTestFinished, test } from 'vitest';
import { createClient, readReply } from '../../../src/index.ts';
import { textReply } from '../../helpers/with-server.ts';
import { serve } from '../transport/post.ts';

async function clientOfServer() {
  const server = await serve();
  const client = createClient({ baseUrl: server.url, apiKey: 'secret' });
  onTestFinished(() => client.close());
  return { server, client };
}

test('a prepared request shows what is sent, but for the key, and is sent as it is shown', async () => {
  const { server, client } = await clientOfServer();
  server.reply({ body: textReply('hello') });
  const prepared = await client.prepare({ model: 'm', prompt: 'hi' });
  const shown = client.address(prepared.post);
  expect(shown.url.pathname).toBe('/v1beta/models/m:generateContent');
  expect(JSON.stringify(shown)).not.toContain('secret');
  const deltas = client.ask(prepared);
  const texts: string[] = [];
  let step = await deltas.next();
  for (; !step.done; step = await deltas.next())
    for (const delta of step.value) if (delta.type === 'text') texts.push(delta.text);
  expect(texts.join('')).toBe('hello');
  expect(step.value).toMatchObject({ attempts: 1, isRecorded: false, result: { text: 'hello' }, error: undefined });
  const [sent] = server.requests;
  expect(JSON.parse(String(sent?.body))).toEqual(prepared.post.body);
  expect(sent?.headers).toMatchObject({ 'x-vendor-a-api-key': 'secret' });
  await prepared.close();
});

test.each(['https://host.example', 'https://host.example/prefix'])(
  'who changes the addresses of a request that was shown changes no later one of a client of %s',
  async (baseUrl) => {
    const client = createClient({ baseUrl, apiKey: 'secret' });
    const { post } = await client.prepare({ model: 'm', prompt: 'hi' });
    const shown = client.address(post);
    const before = shown.url.href;
    for (const url of [shown.url, shown.base]) if (url) url.host = 'other.example';
    expect(client.address(post).url.href).toBe(before);
    await client.close();
  },
);

test('a reply that was kept is read as the client reads its own', async () => {
  const { server, client } = await clientOfServer();
  server.always({ body: textReply('hello') });
  const { post } = await client.prepare({ model: 'm', prompt: 'hi' });
  const { reply, attempts } = await client.send(post);
  const kept: Uint8Array[] = [];
  for await (const chunk of reply.body) kept.push(chunk);
  const { status, headers } = reply;
  const { result } = await readReply({ status, headers, body: Buffer.concat(kept) }, { format: 'content', model: 'm' });
  expect([attempts, result.text]).toEqual([1, (await client.generate({ model: 'm', prompt: 'hi' })).text]);
});

test('a request that cannot be made is refused when it is prepared, with a hint', async () => {
  const { client } = await clientOfServer();
  await expect(client.prepare({ model: 'm', prompt: 'hi', mask: new Uint8Array(3) })).rejects.toMatchObject({
    class: 'usage',
    details: { sent: 'no' },
  });
});
