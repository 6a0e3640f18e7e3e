import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createClient, GatewayError, ResponseError } from '../../../src/index.ts';
import { createPause } from '../../helpers/scripted-server.ts';
import { canaryKey, eventStream, imageReply, messageEvents, textReply } from '../../helpers/with-server.ts';
import { test } from './library-client.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const png = Buffer.from(dot, 'base64');

test('generate sends the fields that were set and answers with one shape', async ({ server, client }) => {
  server.reply({ body: textReply('Hello') });
  const reply = await client().generate({ model: 'm', prompt: 'hi', temperature: 0, media: [png] });
  expect(reply).toMatchObject({
    text: 'Hello',
    complete: true,
    stopReason: 'STOP',
    responseId: 'r-1',
    usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    images: [],
    attempts: 1,
  });
  const [request] = server.requests;
  expect(request?.path).toBe('/v1beta/models/m:generateContent');
  expect(request?.headers['x-vendor-a-api-key']).toBe(canaryKey);
  expect(request?.json()).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'hi' }, { inlineData: { mimeType: 'image/png', data: dot } }] }],
    generationConfig: { temperature: 0 },
  });
});

test('generateImages keeps pictures in memory, or in a folder that it makes', async ({ server, client }) => {
  server.always({ body: imageReply({ mimeType: 'image/jpeg', data: dot }, { mimeType: 'image/png', data: dot }) });
  const memory = await client().generateImages({ model: 'm', prompt: 'a dot', aspect: '1:1' });
  expect(memory.images).toHaveLength(2);
  expect(memory.images[0]).toMatchObject({ mimeType: 'image/png', extension: 'png', width: 1, height: 1, bytes: 70 });
  expect(Buffer.from(memory.images[0]?.data ?? []).equals(png)).toBe(true);
  expect(memory.warnings).toEqual([expect.stringContaining('declared "image/jpeg"') as string]);
  expect(server.requests[0]?.headers['authorization']).toBe(`Bearer ${canaryKey}`);

  const folder = join(scratchFolder(), 'new');
  const files = await client().generateImages({ model: 'm', prompt: 'a dot' }, { folder });
  expect(files.images.map(({ path }) => path)).toEqual([join(folder, 'image-1.png'), join(folder, 'image-2.png')]);
  expect(readFileSync(join(folder, 'image-2.png')).equals(png)).toBe(true);
  await expect(client().generateImages({ model: 'm' }, { folder: join(folder, 'a/b') })).rejects.toMatchObject({
    class: 'usage',
  });
});

test('a picture that an answer only links to is not fetched: the reply has its URL, and so has that of the error', async ({
  server,
  client,
}) => {
  const link = 'https://pictures.test/cat.png';
  server.reply({ body: textReply(`Here: ![cat](${link}) and again ![cat](${link})`) });
  expect(await client().generate({ model: 'm', prompt: 'a cat' })).toMatchObject({ links: [link], images: [] });
  server.reply({ body: { created: 1, data: [{ url: link }] } });
  const openai = client({ service: 'openai' });
  await expect(openai.generateImages({ model: 'm', prompt: 'a cat' })).rejects.toMatchObject({
    class: 'no-result',
    reply: { links: [link] },
  });
  server.reply({ body: textReply('none') });
  expect(await client().generate({ model: 'm', prompt: 'a cat' })).not.toHaveProperty('links');
});

test('media come from files too, and a file that is not an image is refused before anything is sent', async ({
  server,
  client,
}) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'dot.png'), png);
  writeFileSync(join(cwd, 'dot.txt'), 'plain');
  server.reply({ body: imageReply({ mimeType: 'image/png', data: dot }) });
  const gateway = client();
  await gateway.generateImages({ model: 'm', prompt: 'gray', media: [{ path: join(cwd, 'dot.png') }] });
  expect(server.requests[0]?.json()).toMatchObject({
    contents: [{ parts: [{ text: 'gray' }, { inlineData: { mimeType: 'image/png', data: dot } }] }],
  });
  const bad = [{ path: join(cwd, 'dot.txt') }, Buffer.from('plain')];
  for (const media of bad)
    await expect(gateway.generate({ model: 'm', media: [media] })).rejects.toMatchObject({ class: 'usage' });
});

test('in the messages format, generate asks for one reply and stream for deltas as they arrive', async ({
  server,
  client,
}) => {
  const gateway = client({ headerNames: { version: 'x-version' } });
  server.reply({
    body: { id: 'msg', role: 'assistant', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' },
  });
  expect(await gateway.generate({ model: 'm', maxTokens: 5, prompt: 'hi' }, { format: 'messages' })).toMatchObject({
    text: 'Hi',
    complete: true,
  });
  expect(server.requests[0]?.json()).toEqual({
    model: 'm',
    max_tokens: 5,
    messages: [{ role: 'user', content: 'hi' }],
  });
  expect(server.requests[0]?.headers).toMatchObject({ 'x-api-key': canaryKey, 'x-version': '2023-06-01' });

  const pause = createPause();
  const events = messageEvents('one ', 'two').map((event) => eventStream(event));
  server.reply({ chunks: [events.slice(0, 3).join(''), pause.until, events.slice(3).join('')] });
  const stream = gateway.stream({ model: 'm', maxTokens: 5, prompt: 'hi' }, { format: 'messages' });
  const seen: string[] = [];
  for await (const delta of stream) {
    if (delta.type !== 'text') continue;
    seen.push(delta.text);
    pause.release();
  }
  expect(seen).toEqual(['one ', 'two']);
  expect(await stream.reply()).toMatchObject({ text: 'one two', stopReason: 'end_turn', complete: true });
  expect(server.requests[1]?.json()).toMatchObject({ stream: true });
});

test('reply() without a loop reads the stream to its end', async ({ server, client }) => {
  server.reply({ body: eventStream(...messageEvents('all')) });
  expect(
    await client().stream({ model: 'm', maxTokens: 5, prompt: 'x' }, { format: 'messages' }).reply(),
  ).toMatchObject({
    text: 'all',
  });
});

test('leaving the loop ends the request', async ({ server, client }) => {
  const pause = createPause();
  const events = messageEvents('one ', 'two').map((event) => eventStream(event));
  server.reply({ chunks: [events.slice(0, 3).join(''), pause.until] });
  const stream = client().stream({ model: 'm', maxTokens: 5, prompt: 'x' }, { format: 'messages' });
  for await (const delta of stream) if (delta.type === 'text') break;
  await server.requests[0]?.closed;
  await expect(stream.reply()).rejects.toMatchObject({ class: 'incomplete' });
});

test('a reply without the requested content is thrown with what came', async ({ server, client }) => {
  const gateway = client();
  server.reply({ body: textReply('no picture today') });
  const words: unknown = await gateway.generateImages({ model: 'm', prompt: 'x' }).catch((error: unknown) => error);
  expect(words).toBeInstanceOf(ResponseError);
  expect(words).toMatchObject({ class: 'no-result', reply: { text: 'no picture today', images: [] } });
  server.reply({ body: eventStream(...messageEvents('half').slice(0, 3)) });
  const stream = gateway.stream({ model: 'm', maxTokens: 5, prompt: 'x' }, { format: 'messages' });
  const texts: string[] = [];
  const cut: unknown = await (async () => {
    for await (const delta of stream) if (delta.type === 'text') texts.push(delta.text);
  })().catch((error: unknown) => error);
  expect(texts).toEqual(['half']);
  expect(cut).toMatchObject({ class: 'incomplete', reply: { text: 'half', complete: false } });
  await expect(stream.reply()).rejects.toBe(cut);
});

test('failures of the gateway are GatewayErrors, retried by the options of the client', async ({ server, client }) => {
  server.reply({ status: 503, headers: { 'retry-after-ms': '1' }, body: {} });
  server.reply({ body: textReply('ok') });
  expect(await client().generate({ model: 'm', prompt: 'x' })).toMatchObject({ text: 'ok', attempts: 2 });
  server.reply({ status: 503, body: {} });
  const refused: unknown = await client({ retries: 0 })
    .generate({ model: 'm', prompt: 'x' })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(GatewayError);
  expect(refused).toMatchObject({ class: 'gateway', details: { status: 503, sent: 'yes' } });
  expect(JSON.stringify(refused)).not.toContain(canaryKey);
});

test('a signal ends a call with its own reason, before and while it is sent', async ({ server, client }) => {
  const gateway = client();
  const reason = new Error('enough');
  await expect(gateway.generate({ model: 'm', prompt: 'x' }, { signal: AbortSignal.abort(reason) })).rejects.toBe(
    reason,
  );
  const pause = createPause();
  server.reply({ chunks: ['{"candidates":', pause.until] });
  const abort = new AbortController();
  const call = gateway.generate({ model: 'm', prompt: 'x' }, { signal: abort.signal });
  await server.received(1);
  abort.abort(reason);
  await expect(call).rejects.toBe(reason);
});

test('timeoutMs bounds a call of the library', async ({ server, client }) => {
  // Asked or not: the time may be over before the request goes out.
  server.always({ chunks: [createPause().until] });
  const call = client().generate({ model: 'm', prompt: 'x' }, { timeoutMs: 50 });
  await expect(call).rejects.toMatchObject({ name: 'GatewayError' });
});

test('an answer that the token limit cut is rejected only on request', async ({ server, client }) => {
  server.always({ body: { candidates: [{ content: { parts: [{ text: 'half' }] }, finishReason: 'MAX_TOKENS' }] } });
  const request = { model: 'm', prompt: 'x' };
  expect(await client().generate(request)).toMatchObject({ text: 'half', complete: false });
  await expect(client().generate(request, { requireComplete: true })).rejects.toMatchObject({
    class: 'incomplete',
  });
});

test('the key may come from a function, called once; another form is chosen by auth', async ({ server, client }) => {
  let asked = 0;
  const apiKey = async (): Promise<string> => `k-${++asked}-abcdef`;
  const gateway = client({ apiKey, auth: { text: 'bearer' }, headers: { 'X-Team': 'docs' } });
  server.always({ body: textReply('ok') });
  await gateway.generate({ model: 'm', prompt: 'x' });
  await gateway.generate({ model: 'm', prompt: 'x' });
  expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([
    'Bearer k-1-abcdef',
    'Bearer k-1-abcdef',
  ]);
  expect(server.requests[0]?.headers['x-team']).toBe('docs');
});

test('the library reads no environment: neither proxies nor keys', async ({ server }) => {
  process.env['HTTP_PROXY'] = 'http://127.0.0.1:1';
  const gateway = createClient({ baseUrl: server.url });
  server.reply({ body: textReply('ok') });
  try {
    await gateway.generate({ model: 'm', prompt: 'x' });
  } finally {
    delete process.env['HTTP_PROXY'];
    await gateway.close();
  }
  expect(Object.keys(server.requests[0]?.headers ?? {})).not.toContain('x-vendor-a-api-key');
  expect(() => createClient({ baseUrl: 'ftp://x' })).toThrow(GatewayError);
});
