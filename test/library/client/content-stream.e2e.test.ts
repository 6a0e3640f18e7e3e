import { createHash } from 'node:crypto';
import { expect, onTestFinished, vi } from 'vitest';
import { isFull } from '../../helpers/full.ts';
import { createPause } from '../../helpers/scripted-server.ts';
import { png } from '../../replies/deviation.ts';
import { comb, contentOf, halves, printed, replyOf } from '../../replies/reading.ts';
import { test } from './library-client.ts';

/** A stream with all that makes it hard: thoughts, characters of four bytes, a picture over three events, a comment, CRLF. */
const stream = Buffer.from(
  [
    ': keep-alive',
    'data: {"candidates":[{"content":{"parts":[{"text":"hm","thought":true}],"role":"model"}}],"responseId":"r-1"}',
    'data: {"candidates":[{"content":{"parts":[{"text":"Zoë 🦅 !"}]}}],"usageMetadata":{"promptTokenCount":3}}',
    `data: {"candidates":[{"content":{"parts":[{"text":"[x] ![p](data:image/png;base64,${png.slice(0, 50)}"}]}}]}`,
    `data: {"candidates":[{"content":{"parts":[{"text":"${png.slice(50)}"}]}}]}`,
    'data: {"candidates":[{"content":{"parts":[{"text":") flies"}]},"finishReason":"STOP"}],"usageMetadata":{"totalTokenCount":5}}',
    'data: [DONE]',
    '',
  ].join('\r\n\r\n'),
);
/** The decoders below have a test of every cut; here are those of the full run. */
const stride = isFull ? 1 : 3;
const text = 'Zoë 🦅 ![x]  flies';

test('a stream reads the same wherever its bytes are cut', async () => {
  const whole = await contentOf(replyOf([stream]));
  expect(printed(whole.deltas)).toBe(text);
  expect(whole.answer).toMatchObject({
    error: undefined,
    result: { text, thinking: 'hm', complete: true, stopReason: 'STOP', usage: { inputTokens: 3, totalTokens: 5 } },
  });
  const [image] = whole.answer.result.images;
  expect(image?.blob.sha256).toBe(createHash('sha256').update(Buffer.from(png, 'base64')).digest('hex'));
  const same = JSON.stringify(whole);
  expect(JSON.stringify(await contentOf(replyOf(comb(stream, { first: 0, step: 1 }))))).toBe(same);
  for (let at = 0; at <= stream.length; at += stride)
    expect(JSON.stringify(await contentOf(replyOf(halves(stream, at)))), String(at)).toBe(same);
});

test('a stream that ends at any byte is whole only with its finish reason, and prints what it keeps', async () => {
  const lastEvent = stream.indexOf('"finishReason":"STOP"') + '"finishReason":"STOP"'.length;
  const wrong: unknown[] = [];
  // If an event is cut, it is unknown whether its text is a thought.
  for (let at = stream.indexOf('"thought":true') + 14; at <= stream.length; at += stride) {
    const { deltas, answer } = await contentOf(replyOf([stream.subarray(0, at)]));
    const { result, error } = answer;
    const expected = at < lastEvent ? 'incomplete' : undefined;
    const isSame = printed(deltas) === result.text && !result.text.includes(png.slice(0, 6));
    const isEnded = deltas.at(-1)?.type === 'end';
    if (error?.class !== expected || result.complete === at < lastEvent || isEnded === at < lastEvent || !isSame)
      wrong.push({ at, error: String(error), text: result.text, deltas });
  }
  expect(wrong).toEqual([]);
});

test('does not wait for the end of the body after [DONE]', async () => {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield stream;
    await new Promise(() => {});
  }
  const { answer } = await contentOf({ status: 200, headers: {}, body: body() });
  expect(answer).toMatchObject({ error: undefined, result: { complete: true } });
});

const stopped = (index = 0, text = 'Hello') =>
  Buffer.from(
    `data: {"candidates":[{"content":{"parts":[{"text":"${text}"}]},"finishReason":"STOP","index":${index}}]}\n\n`,
  );
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function* bodyThen(more: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield stopped();
  yield* more();
}

/** Yields pieces for a time that is longer than the patience of the tests. */
async function* during(ms: number, piece: Buffer): AsyncGenerator<Uint8Array> {
  for (const from = performance.now(); performance.now() - from < ms; await turn()) yield piece;
}

test.each([
  ['is silent', () => new Promise<never>(() => {})],
  [
    'has comments alone',
    async function* comments() {
      for (;;) {
        await turn();
        yield Buffer.from(': keep-alive\n\n');
      }
    },
  ],
] as const)('a stream whose candidates have ended and that %s is complete', async (_, more) => {
  async function* rest(): AsyncGenerator<Uint8Array> {
    const following = more();
    if (Symbol.asyncIterator in following) yield* following;
    else await following;
  }
  const reply = { status: 200, headers: {}, body: bodyThen(rest) };
  const { answer } = await contentOf(reply, { patience: { stopped: 20, ended: 1 } });
  expect(answer).toMatchObject({ error: undefined, result: { complete: true, text: 'Hello' } });
});

test('what a stream says after its finish reason is read as long as more of it comes', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  async function* rest(): AsyncGenerator<Uint8Array> {
    for (let count = 1; count <= 9; count++) {
      vi.advanceTimersByTime(15);
      yield Buffer.from(`data: {"usageMetadata":{"totalTokenCount":${count}}}\n\n`);
    }
    yield stopped(0, ' Zoë');
  }
  const reply = { status: 200, headers: {}, body: bodyThen(rest) };
  const { answer } = await contentOf(reply, { patience: { stopped: 20, ended: 1 } });
  expect(answer.result.text).toBe('Hello Zoë');
});

test('a stream waits for the candidates that were asked for', async () => {
  async function* rest(): AsyncGenerator<Uint8Array> {
    yield* during(200, Buffer.from(': keep-alive\n\n'));
    yield stopped(1, 'Zoë');
  }
  const reply = { status: 200, headers: {}, body: bodyThen(rest) };
  const { answer } = await contentOf(reply, {
    asked: { generationConfig: { candidateCount: 2 } },
    patience: { stopped: 20, ended: 1 },
  });
  expect(answer.result.candidates.map(({ text: said }) => said)).toEqual(['Hello', 'Zoë']);
});

test('a stream that has only comments is a bad reply', async () => {
  const reply = replyOf([Buffer.from(': PING\n\n: PING\n\n')]);
  await expect(contentOf(reply)).rejects.toMatchObject({ class: 'bad-reply', message: /held no reply/ });
});

test('stream reports deltas as they arrive, then the reply', async ({ server, client }) => {
  const pause = createPause();
  const piece = (word: string, more = '') =>
    `data: {"candidates":[{"content":{"parts":[{"text":"${word}"}]}${more}}]}\r\n\r\n`;
  server.reply({ chunks: [piece('one '), pause.until, piece('two', ',"finishReason":"STOP"')] });
  const answer = client().stream({ model: 'm', prompt: 'hi', temperature: 0 });
  const seen: string[] = [];
  for await (const delta of answer) {
    if (delta.type !== 'text') continue;
    seen.push(delta.text);
    pause.release();
  }
  expect(seen).toEqual(['one ', 'two']);
  expect(await answer.reply()).toMatchObject({ text: 'one two', stopReason: 'STOP', complete: true, attempts: 1 });
  const [request] = server.requests;
  expect(request?.path).toBe('/v1beta/models/m:streamGenerateContent?alt=sse');
  expect(request?.json()).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    generationConfig: { temperature: 0 },
  });
});

test('stream rejects with what came where the stream was cut', async ({ server, client }) => {
  server.reply({ body: 'data: {"candidates":[{"content":{"parts":[{"text":"half"}]}}]}\n\n' });
  await expect(client().stream({ model: 'm', prompt: 'x' }).reply()).rejects.toMatchObject({
    class: 'incomplete',
    reply: { text: 'half', complete: false },
  });
  server.reply({ status: 405, body: {} });
  await expect(client().stream({ model: 'm', prompt: 'x' }).reply()).rejects.toMatchObject({
    class: 'rejected',
    details: { reason: 'no-stream' },
  });
});
