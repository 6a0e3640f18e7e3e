import { expect, test } from 'vitest';
import { eventStream, messageEvents } from '../../helpers/with-server.ts';
import { contentOf, messageOf, replyOf } from '../../replies/reading.ts';

const bytes = (text: string) => Buffer.from(text);
const ping = bytes('event: ping\ndata: {"type":"ping"}\n\n');

test('does not wait for ever where only pings follow the stop reason (deviation 24)', async () => {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield bytes(eventStream(...messageEvents('Hello').slice(0, -1)));
    for (;;) yield await new Promise((resolve) => setImmediate(() => resolve(ping)));
  }
  const reply = { status: 200, headers: {}, body: body() };
  const { answer } = await messageOf(reply, { patience: { stopped: 20, ended: 1 } });
  expect(answer).toMatchObject({ error: undefined, result: { complete: true, text: 'Hello' } });
});

test('does not wait for the end of the body after message_stop', async () => {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield bytes(eventStream(...messageEvents('Hello')));
    await new Promise(() => {});
  }
  const { answer } = await messageOf({ status: 200, headers: {}, body: body() });
  expect(answer).toMatchObject({ error: undefined, result: { complete: true } });
});

test('what follows message_stop is not part of the answer', async () => {
  const { answer } = await messageOf(
    replyOf([bytes(eventStream(...messageEvents('Hello'))), bytes('event: error\ndata: {"type":"error"}\n\n')]),
  );
  expect(answer).toMatchObject({ error: undefined, result: { text: 'Hello' } });
});

test.each(['max_tokens', 'model_context_window_exceeded'])(
  'an answer that %s ended is not complete',
  async (reason) => {
    const events = eventStream(...messageEvents('Hello')).replace('end_turn', reason);
    const { answer } = await messageOf(replyOf([bytes(events)]));
    expect(answer).toMatchObject({ error: undefined, result: { complete: false, stopReason: reason } });
  },
);

const piece = (text: string) => `data: {"candidates":[{"content":{"parts":[{"text":"${text}"}]}}]}\n\n`;

test.each([
  ['an error event', 'data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}\n\n', 'gateway'],
  ['what is not JSON', 'data: <html>\n\n', 'bad-reply'],
  ['an event that is cut', 'data: {"candidates":[{"content":{"parts":[{"te', 'incomplete'],
])('a streamed content reply keeps what came before %s', async (_, last, errorClass) => {
  const { answer } = await contentOf(replyOf([bytes(piece('Hel') + piece('lo') + last)]));
  expect(answer).toMatchObject({ result: { text: 'Hello' }, error: { class: errorClass } });
});

test('a streamed content reply that begins with an error is that error', async () => {
  const reply = replyOf([bytes('data: {"error":{"code":429,"message":"slow down"}}\n\n')]);
  await expect(contentOf(reply)).rejects.toMatchObject({ class: 'quota' });
});
