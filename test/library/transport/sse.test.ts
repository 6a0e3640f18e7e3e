import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type EventLimits, readEvents, type ServerEvent } from '../../../src/library/transport/sse.ts';

async function* chunksOf(...chunks: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

async function read(chunks: AsyncIterable<Uint8Array>, limits?: EventLimits): Promise<ServerEvent[]> {
  return (await readGroups(chunks, limits)).flat();
}

async function readGroups(chunks: AsyncIterable<Uint8Array>, limits?: EventLimits): Promise<ServerEvent[][]> {
  const groups: ServerEvent[][] = [];
  for await (const group of readEvents(chunks, limits)) groups.push(group);
  return groups;
}

const one = { event: 'ping', data: '{"é":"😀"}' };
const two = { data: 'a\nb' };

const streams: [string, string, ServerEvent[]][] = [
  ['LF', 'event: ping\ndata: {"é":"😀"}\n\ndata: a\ndata: b\n\n', [one, two]],
  ['CRLF (deviation 27)', 'event: ping\r\ndata: {"é":"😀"}\r\n\r\ndata: a\r\ndata: b\r\n\r\n', [one, two]],
  ['CR', 'event: ping\rdata: {"é":"😀"}\r\rdata: a\rdata: b\r\r', [one, { ...two, unterminated: true }]],
  ['a BOM (deviation 31)', '\ufeffevent: ping\ndata: {"é":"😀"}\n\n', [one]],
  ['no blank after the colon (deviation 28)', 'event:ping\ndata:{"é":"😀"}\n\n', [one]],
  ['comments (deviation 29)', ': PING\n\n:\n\n: OPENROUTER PROCESSING\nevent: ping\ndata: {"é":"😀"}\n\n:\n', [one]],
  ['no event lines (deviation 22)', 'data: x\n\ndata: [DONE]\n\n', [{ data: 'x' }, { data: '[DONE]' }]],
  ['empty data (deviation 30)', 'event: ping\ndata:\n\n', [{ event: 'ping', data: '' }]],
  ['unknown fields, ids and retries', 'id: 7\nretry: x\nfoo: bar\ndata: x\n\n', [{ data: 'x' }]],
  [
    'a last event without its blank line (deviation 33)',
    'data: x\n\ndata: y\n',
    [{ data: 'x' }, { data: 'y', unterminated: true }],
  ],
  ['a last line without its end', 'data: x\n\ndata: {"a', [{ data: 'x' }, { data: '{"a', unterminated: true }]],
  ['an event without data', 'event: ping\n\n', []],
  ['nothing', '', []],
];

describe('UTF-8 split, BOM: at every byte offset', () => {
  test.each(streams)('reads %s', async (_name, text, expected) => {
    const bytes = Buffer.from(text);
    expect(await read(chunksOf(bytes))).toEqual(expected);
    expect(await read(chunksOf(...Array.from(bytes, (byte) => Uint8Array.of(byte))))).toEqual(expected);
    for (let at = 0; at <= bytes.length; at++) {
      expect(await read(chunksOf(bytes.subarray(0, at), bytes.subarray(at)))).toEqual(expected);
    }
  });
});

test('the reader of events yields the events of one chunk together', async () => {
  const groups = await readGroups(chunksOf('data: 1\n\ndata: 2\n\nda', 'ta: 3\n', '\n', ': comment\n\n'));
  expect(groups.map((group) => group.map(({ data }) => data))).toEqual([['1', '2'], ['3']]);
});

test('yields an event before the next chunk is requested', async () => {
  const asked: string[] = [];
  async function* lazily(): AsyncGenerator<Uint8Array> {
    for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
      asked.push(text);
      yield Buffer.from(text);
    }
  }
  const first = await readEvents(lazily()).next();
  expect([first.value, asked.length]).toEqual([[{ data: '1' }], 1]);
});

const line = `data: ${'x'.repeat(200)}`;
test.each<[string, Uint8Array[], EventLimits]>([
  ['one long line in many chunks', Array(100).fill(Buffer.from('data: xxxxx')), { maxEventBytes: 100 }],
  ['one event that lies whole in one chunk', [Buffer.from(`${line}\n\n`)], { maxEventBytes: 100 }],
  ['one event of many lines', Array(100).fill(Buffer.from('data: x\n')), { maxEventBytes: 100 }],
  ['a last event without its blank line', [Buffer.from(line)], { maxEventBytes: 100 }],
  ['too many events', Array(10).fill(Buffer.from('data: x\n\ndata: y\n\n')), { maxEvents: 10 }],
  ['endless comments', Array(100).fill(Buffer.from(': PING\n\n')), { maxBytes: 500 }],
])('giant SSE line, endless stream: %s', async (_name, chunks, limits) => {
  await expect(read(chunksOf(...chunks), limits)).rejects.toMatchObject({
    class: 'bad-reply',
    details: { sent: 'yes' },
  });
});

test('accepts an event as large as the limit', async () => {
  const data = 'x'.repeat(100);
  expect(await read(chunksOf('data: ', data, '\n\n'), { maxEventBytes: 106 })).toEqual([{ data }]);
});

test('a giant line uses no more memory than the limit and closes the body', async () => {
  let [pulled, closed] = [0, false];
  async function* endless(): AsyncGenerator<Uint8Array> {
    const chunk = Buffer.alloc(65_536, 'x');
    try {
      for (;;) {
        pulled += chunk.length;
        yield chunk;
      }
    } finally {
      closed = true;
    }
  }
  await expect(read(endless(), { maxEventBytes: 1_000_000 })).rejects.toMatchObject({ class: 'bad-reply' });
  expect([pulled < 1_200_000, closed]).toEqual([true, true]);
});

test('yields the events before a cut and then throws the error of the body', async () => {
  const failure = new Error('cut');
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('data: 1\n\ndata: 2');
    throw failure;
  }
  const events = readEvents(broken());
  expect((await events.next()).value).toEqual([{ data: '1' }]);
  await expect(events.next()).rejects.toBe(failure);
});

const fixtures = new URL('../../../../shared/fixtures/messages/', import.meta.url);
const recorded = existsSync(fixtures) ? readdirSync(fixtures).filter((name) => name.endsWith('.sse')) : [];
test.skipIf(recorded.length === 0)('the recorded streams that the tests read exist', () => {
  expect(recorded.length).toBeGreaterThan(20);
});

test.each(recorded)('reads the recorded stream %s the same in one chunk and in small ones', async (name) => {
  const bytes = readFileSync(new URL(name, fixtures));
  const whole = await read(chunksOf(bytes));
  const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, n) => bytes.subarray(n * 7, n * 7 + 7));
  expect(await read(chunksOf(...pieces))).toEqual(whole);
  expect(whole.map(({ data }) => (JSON.parse(data) as { type: string }).type)).toContain('message_stop');
});

test.each<[string, Uint8Array[]]>([
  ['half a character that ASCII follows', [Buffer.from('data: a'), Uint8Array.of(0xc3), Buffer.from('b\n\n')]],
  ['a byte that is never one', [Buffer.from('data: a'), Uint8Array.of(0xff, 0x62, 10, 10)]],
  ['a character that ends without a beginning', [Buffer.concat([Buffer.from('data: é'), Uint8Array.of(0xa9)])]],
  ['half of a surrogate pair', [Buffer.from('data: a'), Uint8Array.of(0xed, 0xa0), Uint8Array.of(0x80, 10, 10)]],
])('%s in an event is a bad reply, and earlier events are kept', async (_, bytes) => {
  for (const chunks of [[Buffer.concat(bytes)], bytes]) {
    const first = Buffer.from('data: é1\n\ndata: 2\n\n');
    const events = readEvents(chunksOf(Buffer.concat([first, chunks[0] as Uint8Array]), ...chunks.slice(1)));
    expect((await events.next()).value).toEqual([{ data: 'é1' }, { data: '2' }]);
    await expect(events.next()).rejects.toMatchObject({
      class: 'bad-reply',
      message: expect.stringContaining('UTF-8'),
    });
  }
});

test('the reader of events yields the events before one that is too large', async () => {
  const events = readEvents(chunksOf(`data: 1\n\ndata: ${'x'.repeat(200)}\n\ndata: 2\n\n`), { maxEventBytes: 100 });
  expect((await events.next()).value).toEqual([{ data: '1' }]);
  await expect(events.next()).rejects.toMatchObject({ class: 'bad-reply' });
});

test.each(['\n', '\r\n', '\r'])('counts the lines of an event that does not end (%j)', async (lineEnd) => {
  let pulled = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    const chunk = Buffer.from(`data: x${lineEnd}`.repeat(8000));
    for (;;) {
      pulled += chunk.length;
      yield chunk;
    }
  }
  await expect(read(endless(), { maxEventBytes: 1_000_000 })).rejects.toMatchObject({ class: 'bad-reply' });
  expect(pulled).toBeLessThan(200_000);
});

test.each(['\n', '\r\n', '\r'])('counts only the lines of the event that has not ended (%j)', async (lineEnd) => {
  const text = `data: x${lineEnd}data: y${lineEnd}${lineEnd}: ping${lineEnd}${lineEnd}`;
  const events = await read(chunksOf(...Array<string>(200).fill(text)), { maxEventBytes: 1000 });
  expect(events.map(({ data }) => data)).toEqual(Array(200).fill('x\ny'));
});
