import { expect, test } from 'vitest';
import { keepGoodImages } from '../../../src/library/client/image-store.ts';
import { isBare, readReply } from '../../../src/library/client/read-reply.ts';
import { readDiverted } from '../../../src/library/client/reply-body.ts';
import { type Answer } from '../../../src/library/client/result.ts';
import { emptyResult } from '../../../src/library/client/arriving-reply.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import { parseReply } from '../../../src/library/formats/parse-reply.ts';
import { createMemoryStore } from '../../../src/library/images/store.ts';
import type { BlobStore } from '../../../src/library/images/types.ts';
import type { HttpReply } from '../../../src/library/transport/types.ts';
import { eventStream, messageEvents, textReply } from '../../helpers/with-server.ts';
import { contentOf, type Heard, messageOf, printed } from '../../replies/reading.ts';

const lost = new GatewayError('incomplete', 'the reply was cut: other side closed', { sent: 'yes' });

async function* bodyOf(...steps: (string | Error)[]): AsyncGenerator<Uint8Array> {
  const memory = Buffer.alloc(4096);
  for (const step of steps) {
    if (step instanceof Error) throw step;
    // The reader of a socket uses its memory again.
    yield memory.subarray(0, memory.write(step));
  }
}

const replyOf = (...steps: (string | Error)[]): HttpReply => ({ status: 200, headers: {}, body: bodyOf(...steps) });

const content = async (...steps: (string | Error)[]): Promise<Answer> => (await contentOf(replyOf(...steps))).answer;

async function message(...steps: (string | Error)[]): Promise<Answer & Pick<Heard, 'deltas'>> {
  const { answer, deltas } = await messageOf(replyOf(...steps));
  return { ...answer, deltas };
}

const whole = JSON.stringify(textReply('hello'));
const failure = new GatewayError('bad-reply', 'nested too deeply', { sent: 'yes' });
const interrupted = new GatewayError('interrupted', 'ended by INT');

test('the part before a cut is kept with the cut; every other end of a body is thrown', async () => {
  const { open } = createMemoryStore();
  expect(await readDiverted(bodyOf('{"a":', '1', lost), { open })).toEqual({ text: '{"a":1', cut: lost });
  await expect(readDiverted(bodyOf('{', failure), { open })).rejects.toBe(failure);
  await expect(readDiverted(bodyOf('{', interrupted), { open })).rejects.toBe(interrupted);
});

test.each([
  ['nothing', '', undefined],
  [
    'the beginning of a reply',
    '{"candidates":[{"content":{"parts":[{"te',
    { candidates: [{ content: { parts: [{}] } }] },
  ],
  ['no JSON', '<html>', undefined],
])('a body that is cut after %s is cut, not bad', (_, text, value) => {
  expect(parseReply({ text, cut: lost }, replyOf(), 'content')).toEqual({ value, cut: lost });
});

test('a body that only lacks its end is incomplete, any other text is a bad reply', () => {
  const parse = (text: string): unknown => parseReply({ text, cut: undefined }, replyOf(), 'content');
  expect(parse('{"a":[1,')).toMatchObject({ value: { a: [1] }, cut: { class: 'incomplete' } });
  expect(parse('{"a":1,"b":}')).toMatchObject({ value: { a: 1 }, cut: { class: 'bad-reply' } });
  for (const text of ['', ' \n', '<html>'])
    expect(() => parse(text)).toThrow(expect.objectContaining({ class: 'bad-reply' }));
});

test('an error inside a 200 is that error', () => {
  const text = '{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}';
  expect(() => parseReply({ text, cut: lost }, replyOf(), 'content')).toThrow(
    expect.objectContaining({ class: 'quota' }),
  );
});

test.each([
  [undefined, true],
  [{}, true],
  [{ a: 1 }, false],
  [[], false],
])('whether %j says nothing: %s', (value, bare) => {
  expect(isBare(value)).toBe(bare);
});

test.each(['', '{', '{"candi'])('content: a reply that is cut after %j is incomplete and empty', async (text) => {
  expect(await content(text, lost)).toMatchObject({ result: emptyResult('m'), error: lost });
});

test.each(['', ' ', '{"typ', '{"type"', '{"type":"mess'])(
  'messages: a reply that is cut after %j is incomplete and empty',
  async (text) => {
    expect(await message(text, lost)).toMatchObject({ result: emptyResult('m'), error: lost, deltas: [] });
  },
);

test.each([
  ['completions', { id: 'c', object: 'chat.completion', usage: {}, choices: [{ message: { content: 'hi' } }] }],
  ['completions', { created: 1, background: 'opaque', data: [{ url: 'https://a.test/1.png' }] }],
  ['messages', { id: 'm', model: 'm', usage: {}, type: 'message', role: 'assistant', content: [] }],
  ['responses', { id: 'r', error: null, background: false, object: 'response', status: 'completed', output: [] }],
  ['content', { traceId: 't', response: { responseId: 'r', candidates: [{ content: { parts: [{ text: 'hi' }] } }] } }],
  ['content', [textReply('hi')]],
] as const)('%s: a reply is cut, wherever it is cut, and not of another format: %j', async (format, reply) => {
  const json = JSON.stringify(reply);
  for (let at = 1; at < json.length; at++) {
    const read = (...steps: (string | Error)[]): Promise<Answer> =>
      readReply(replyOf(...steps), { format, model: 'm' });
    expect((await read(json.slice(0, at), lost)).error, json.slice(0, at)).toBe(lost);
    expect((await read(json.slice(0, at))).error, json.slice(0, at)).toMatchObject({
      class: 'incomplete',
      message: 'the reply ends in the middle',
    });
  }
  const foreign = '{"id":"x","object":"y"}';
  await expect(readReply(replyOf(foreign), { format, model: 'm' })).rejects.toMatchObject({ class: 'bad-reply' });
});

test('content: a stream that was not asked for ends with a reason, or is cut', async () => {
  const events = (...data: string[]): string => data.map((line) => `data: ${line}\n\n`).join('');
  const open = JSON.stringify({ candidates: [{ content: { parts: [{ text: 'hel' }] }, index: 0 }] });
  const blocked = JSON.stringify({ promptFeedback: { blockReason: 'SAFETY' } });
  expect(await content(events(open, whole, '[DONE]'))).toMatchObject({
    result: { text: 'helhello' },
    error: undefined,
  });
  expect(await content(events(whole, ' '))).toMatchObject({ error: undefined });
  expect(await content(events(open))).toMatchObject({ result: { text: 'hel' }, error: { class: 'incomplete' } });
  expect((await content(events(open), lost)).error).toBe(lost);
  expect(await content(events(blocked))).toMatchObject({ error: undefined });
  const error = '{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}';
  expect(await content(events(open, error))).toMatchObject({ result: { text: 'hel' }, error: { class: 'gateway' } });
  await expect(content(events(error))).rejects.toMatchObject({ class: 'gateway' });
  const half = '{"candidates":[{"content":{"parts":[{"text":"lo';
  expect(await content(events(open, half))).toMatchObject({
    result: { text: 'hello' },
    error: { class: 'incomplete' },
  });
  expect(await content(events(open, half, whole))).toMatchObject({ error: { class: 'incomplete' } });
});

const stream = eventStream(...messageEvents('hel', 'lo'));

test('messages: a JSON reply that is cut keeps its text and is not complete', async () => {
  const json = '{"type":"message","role":"assistant","content":[{"type":"text","text":"hel';
  const cut = await message(json, lost);
  expect(cut).toMatchObject({
    result: { text: 'hel', complete: false },
    error: lost,
    deltas: [{ type: 'start' }, { type: 'block-start' }, { type: 'text', text: 'hel' }, { type: 'block-stop' }],
  });
  const silent = await message('{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}');
  const ends = [{ type: 'start' }, { type: 'stop', stopReason: 'end_turn' }, { type: 'end' }];
  expect(silent).toMatchObject({ result: { complete: true }, error: undefined, deltas: ends });
});

test('messages: a picture that is not Base64 is reported where the reply itself is whole', async () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '!!!!' } };
  const json = { type: 'message', role: 'assistant', content: [image], stop_reason: 'end_turn' };
  expect(await message(JSON.stringify(json))).toMatchObject({ error: { class: 'bad-reply' } });
});

test('messages: a stream that said why it stopped is whole, whatever then became of the connection', async () => {
  const stopped = stream.slice(0, stream.indexOf('event: message_stop'));
  expect(await message(stream)).toMatchObject({ result: { text: 'hello', complete: true }, error: undefined });
  expect(await message(stopped, lost)).toMatchObject({ result: { text: 'hello', complete: true }, error: undefined });
  const overloaded = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n';
  expect(await message(stopped + overloaded)).toMatchObject({ result: { text: 'hello' }, error: { class: 'gateway' } });
});

test('messages: a stream without its end is incomplete, and what came is kept', async () => {
  const begun = stream.slice(0, stream.indexOf('event: content_block_stop'));
  expect(await message(begun)).toMatchObject({
    result: { text: 'hello', complete: false },
    error: { class: 'incomplete' },
  });
  expect(await message(begun, lost)).toMatchObject({ result: { text: 'hello' }, error: lost });
  await expect(message('event: ping\ndata: {"type":"ping"}\n\n')).rejects.toMatchObject({ class: 'bad-reply' });
});

test('messages: what follows the end of a stream says nothing', async () => {
  const more = eventStream({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '!' } });
  expect(await message(stream, more)).toMatchObject({ result: { text: 'hello' }, error: undefined });
});

test('messages: text that is held back, for it may become a picture, comes out when a stream is cut', async () => {
  const begun = eventStream(...messageEvents('see ![a').slice(0, 3));
  const { deltas, result } = await message(begun, lost);
  expect(result.text).toBe('see ![a');
  expect(printed(deltas)).toBe('see ![a');
});

test('messages: an event that is broken ends the stream, but for the last that the end cut', async () => {
  const begun = stream.slice(0, stream.indexOf('event: content_block_stop'));
  const broken = 'event: content_block_delta\ndata: {"type":"content_';
  expect(await message(`${begun}${broken}\n\n`)).toMatchObject({
    result: { text: 'hello' },
    error: { class: 'bad-reply' },
  });
  expect(await message(`${begun}${broken}`)).toMatchObject({
    result: { text: 'hello' },
    error: { class: 'incomplete' },
  });
  const { deltas } = await message(`${begun}${broken}\n\n`);
  expect(deltas).toContainEqual({ type: 'text', text: 'lo', block: 0 });
});

test.each([interrupted, new GatewayError('not-written', 'the disk is full'), new TypeError('a bug')])(
  'messages: an error that is not a failure of the reply is thrown: %s',
  async (error) => {
    await expect(message(stream.slice(0, 400), error)).rejects.toBe(error);
  },
);

test('one bad picture does not spoil another, and a full disk is not a bad picture', async () => {
  const full = new GatewayError('not-written', 'the disk is full');
  const store: BlobStore = { ...createMemoryStore(), resolve: () => Promise.reject(full) };
  await expect(keepGoodImages(store).resolve('QUJD')).rejects.toBe(full);
  const pictures = keepGoodImages(createMemoryStore());
  const { sink, placeholder } = await pictures.open();
  await sink.write(Buffer.from('!'));
  await sink.write(Buffer.from('QUJD'));
  await sink.end();
  expect(await pictures.resolve(placeholder)).toBeUndefined();
  const first = pictures.failure();
  expect(first).toMatchObject({ class: 'bad-reply' });
  expect(await pictures.resolve('?')).toBeUndefined();
  expect(pictures.failure()).toBe(first);
  expect(await pictures.resolve('QUJD')).toMatchObject({ bytes: 3 });
});

test.each([
  ['a whole JSON reply', whole.replace('hello', 'h\u0000llo'), 'h\ufffdllo'],
  ['a stream', `data: ${whole}\n\ndata: ${whole.replace('hello', 'h\u0000llo')}\n\n`, 'hello'],
])('content: bytes that are not UTF-8 in %s are a bad reply, and what came is kept', async (_, text, kept) => {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text).map((byte) => (byte === 0 ? 0xff : byte));
  }
  const { answer } = await contentOf({ ...replyOf(), body: body() });
  expect(answer).toMatchObject({
    result: { text: kept, complete: false },
    error: { class: 'bad-reply', message: expect.stringContaining('UTF-8') },
  });
});

test('content: words of an event that a cut left open are kept', async () => {
  const open = `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text: 'hel' }] } }] })}\n\n`;
  const cut = await content(open, 'data: {"candidates":[{"content":{"parts":[{"text":"lo', lost);
  expect(cut).toMatchObject({ result: { text: 'hello', complete: false }, error: lost });
  expect(await content('data: {"cand', lost)).toMatchObject({ result: { text: '' }, error: lost });
});
