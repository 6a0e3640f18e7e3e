import { getEventListeners } from 'node:events';
import { expect } from 'vitest';
import type { Client } from '../../../src/index.ts';
import { eventStream, messageEvents, textReply } from '../../helpers/with-server.ts';
import { test } from './library-client.ts';

/** Aborts in the loop at its first text; all of the answer is here by then. */
async function abortInLoop(gateway: Client, { leave }: { leave: boolean }) {
  const abort = new AbortController();
  const reason = new Error('enough');
  const stream = gateway.stream(
    { model: 'm', maxTokens: 5, prompt: 'x' },
    { format: 'messages', signal: abort.signal },
  );
  const texts: string[] = [];
  const looped: unknown = await (async () => {
    for await (const delta of stream) {
      if (delta.type !== 'text') continue;
      texts.push(delta.text);
      abort.abort(reason);
      if (leave) break;
    }
  })().catch((error: unknown) => error);
  return { stream, texts, looped, reason };
}

test('after an abort in the loop no delta of a buffered stream comes, and reply() rejects with its reason', async ({
  server,
  client,
}) => {
  server.always({ body: eventStream(...messageEvents('one', 'two', 'three')) });
  const { stream, texts, looped, reason } = await abortInLoop(client(), { leave: false });
  expect(texts).toEqual(['one']);
  expect(looped).toBe(reason);
  await expect(stream.reply()).rejects.toBe(reason);
  const left = await abortInLoop(client(), { leave: true });
  expect(left.looped).toBeUndefined();
  await expect(left.stream.reply()).rejects.toBe(left.reason);
});

test('an abort at the last delta rejects, and one after the loop changes nothing', async ({ server, client }) => {
  server.always({ body: eventStream(...messageEvents('one')) });
  const request = { model: 'm', maxTokens: 5, prompt: 'x' };
  const abort = new AbortController();
  const reason = new Error('enough');
  const stream = client().stream(request, { format: 'messages', signal: abort.signal });
  const looped = (async () => {
    for await (const delta of stream) if (delta.type === 'end') abort.abort(reason);
  })();
  await expect(looped).rejects.toBe(reason);
  const later = new AbortController();
  const whole = client().stream(request, { format: 'messages', signal: later.signal });
  const types: string[] = [];
  for await (const { type } of whole) types.push(type);
  expect(types).toEqual(['start', 'block-start', 'text', 'block-stop', 'stop', 'end']);
  later.abort(reason);
  expect(await whole.reply()).toMatchObject({ text: 'one', complete: true });
});

test('when time is up in the loop, no delta comes and the error holds the reply', async ({ server, client }) => {
  server.reply({ body: eventStream(...messageEvents('one', 'two')) });
  server.raw(new Promise(() => {}));
  const request = { model: 'm', maxTokens: 5, prompt: 'x' };
  const stream = client().stream(request, { format: 'messages', timeoutMs: 1500 });
  const texts: string[] = [];
  const looped: unknown = await (async () => {
    for await (const delta of stream) {
      if (delta.type !== 'text') continue;
      texts.push(delta.text);
      // Its time is as long and begins later: that of the stream is over, too, when it fails.
      await expect(client().generate(request, { format: 'messages', timeoutMs: 1500 })).rejects.toMatchObject({
        class: 'no-reply',
      });
    }
  })().catch((error: unknown) => error);
  expect(texts).toEqual(['one']);
  expect(looped).toMatchObject({ class: 'incomplete', reply: { text: 'onetwo' } });
});

test('a call that has ended leaves no listener on its signal', async ({ server, client }) => {
  server.always({ body: textReply('ok') });
  const { signal } = new AbortController();
  await client().generate({ model: 'm', prompt: 'x' }, { signal });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('calls share a signal without a warning of a leak', async ({ server, client }) => {
  server.always({ body: textReply('hi') });
  const warnings: Error[] = [];
  const warned = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warned);
  const { signal } = new AbortController();
  const gateway = client();
  const request = { model: 'm', prompt: 'x' };
  await Promise.all(Array.from({ length: 20 }, () => gateway.generate(request, { signal })));
  process.off('warning', warned);
  expect(warnings).toEqual([]);
});

test('after an abort a stream still tells what came, and that it was sent and billed', async ({ server, client }) => {
  server.reply({ body: eventStream(...messageEvents('one', 'two')) });
  const abort = new AbortController();
  const stream = client().stream(
    { model: 'm', maxTokens: 5, prompt: 'x' },
    { format: 'messages', signal: abort.signal },
  );
  expect(stream.received()).toEqual({ text: '', attempts: 0, sent: 'no', billed: 'no' });
  const looped = (async () => {
    for await (const delta of stream) if (delta.type === 'text') abort.abort(new Error('enough'));
  })();
  await expect(looped).rejects.toThrow('enough');
  expect(stream.received()).toEqual({ text: 'one', attempts: 1, sent: 'yes', billed: 'yes' });
});

test('a stream that the gateway refuses was not billed, and its error counts the requests', async ({
  server,
  client,
}) => {
  server.reply({ status: 429, headers: { 'retry-after-ms': '1' }, body: '{}' });
  server.reply({ status: 401, body: '{}' });
  const stream = client().stream({ model: 'm', maxTokens: 5, prompt: 'x' }, { format: 'messages' });
  const error: unknown = await stream.reply().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ class: 'auth', details: { attempts: 2 } });
  expect(stream.received()).toEqual({ text: '', attempts: 2, sent: 'yes', billed: 'no' });
});
