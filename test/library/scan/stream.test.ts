import { expect, test } from 'vitest';
import { divertBase64 } from '../../../src/library/scan/json-scan.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import { divert } from './divert.ts';

const long = 'QUJDREVGR0hJSktM';
const image = (data: string): string => `{"content_block":{"type":"image","source":{"data":"${data}"}}}`;

test.each<[string, string, string, string[]]>([
  ['an event', `event: a\ndata: ${image(long)}\n\n`, `event: a\ndata: ${image('@0')}\n\n`, [long]],
  ['CRLF', `event: a\r\ndata:${image(long)}\r\n\r\n`, `event: a\r\ndata:${image('@0')}\r\n\r\n`, [long]],
  [
    'CR',
    `data:${image(long)}\r\rdata:${image(long)}\r\r`,
    `data:${image('@0')}\r\rdata:${image('@1')}\r\r`,
    [long, long],
  ],
  ['a BOM', `\uFEFFdata: ${image(long)}\n\n`, `\uFEFFdata: ${image('@0')}\n\n`, [long]],
  [
    'JSON over several lines',
    `data: {"source":\ndata: {"data":\ndata: "${long}"}}\n\n`,
    `data: {"source":\ndata: {"data":\ndata: "@0"}}\n\n`,
    [long],
  ],
  ['comments with brackets and quotes', `: "{[\ndata: ${image(long)}\n\n`, `: "{[\ndata: ${image('@0')}\n\n`, [long]],
  [
    'other fields',
    `id: "1\nretry: {\ndatum: {\nda\ndata\ndata: ${image(long)}\n\n`,
    `id: "1\nretry: {\ndatum: {\nda\ndata\ndata: ${image('@0')}\n\n`,
    [long],
  ],
  [
    'a broken event before',
    `data: {"args":{"a":"b\n\ndata: ${image(long)}\n\n`,
    `data: {"args":{"a":"b\n\ndata: ${image('@0')}\n\n`,
    [long],
  ],
  [
    'a broken key before',
    `data: {"args":{"a\n\ndata: ${image(long)}\n\n`,
    `data: {"args":{"a\n\ndata: ${image('@0')}\n\n`,
    [long],
  ],
  [
    'a picture cut by a line break',
    `data: {"source":{"data":"${long}\n\ndata: ${image(long)}\n\n`,
    `data: {"source":{"data":"\n\ndata: ${image('@1')}\n\n`,
    [long, long],
  ],
  [
    'text, which can continue in the next delta',
    `data: {"text":"data:image/a;base64,${long}"}\n\n`,
    `data: {"text":"data:image/a;base64,${long}"}\n\n`,
    [],
  ],
  [
    'a result of a server tool',
    `data: {"content_block":{"content":${image(long)}}}\n\n`,
    `data: {"content_block":{"content":${image(long)}}}\n\n`,
    [],
  ],
  ['an end marker', 'data: [DONE]\n\n', 'data: [DONE]\n\n', []],
])('scans server-sent events: %s, cut anywhere', async (_name, body, json, strings) => {
  const bytes = Buffer.from(body);
  for (const options of [{}, { mode: 'sse' as const }]) {
    expect(
      await divert(
        [...bytes].map((byte) => Uint8Array.of(byte)),
        options,
      ),
    ).toEqual({ json, strings });
    for (let at = 0; at < bytes.length; at++) {
      expect(await divert([bytes.subarray(0, at), bytes.subarray(at)], options)).toEqual({ json, strings });
    }
  }
});

test('skips events of short lines, whose nesting does not count', async () => {
  const body = `data: {"args":\ndata: ${image(long.repeat(3))}}\n\ndata: ${image(long.repeat(3))}\n\n`;
  const json = `data: {"args":\ndata: ${image(long.repeat(3))}}\n\ndata: ${image('@0')}\n\n`;
  expect(await divert([body], { threshold: 40 })).toEqual({ json, strings: [long.repeat(3)] });
  expect(await divert([...body], { threshold: 40 })).toEqual({ json, strings: [long.repeat(3)] });
});

test('diverts Base64 after a data-URL prefix', async () => {
  const body = `{"source":{"data":"data:image/png;base64,${long}"}}`;
  const expected = { json: '{"source":{"data":"@0"}}', strings: [`data:image/png;base64,${long}`] };
  expect(await divert([body], { threshold: 30 })).toEqual(expected);
  expect(await divert([...body], { threshold: 30 })).toEqual(expected);
});

test.each([
  ['short of the threshold', '{"a":"b","source":{"data":"QUJD', '{"a":"b","source":{"data":"QUJD'],
  ['past the threshold', `{"a":"b","source":{"data":"${long}`, '{"a":"b","source":{"data":"'],
  ['in an escape', String.raw`{"a":"b\u00`, String.raw`{"a":"b\u00`],
  ['in a key', '{"a":"b","sour', '{"a":"b","sour'],
  ['in prose', `{"text":"x ![](data:image/a;base64,${long}`, '{"text":"x ![](data:image/a;base64,'],
])('yields the part of a body that is cut %s, then throws its error', async (_name, body, json) => {
  async function* cut(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(body);
    throw new GatewayError('incomplete', 'cut');
  }
  const diversion = { open: async () => ({ sink: { write: () => {}, end: () => {} }, placeholder: '@' }) };
  let text = '';
  const reading = (async () => {
    for await (const part of divertBase64(cut(), diversion, { threshold: 8 })) text += Buffer.from(part).toString();
  })();
  await expect(reading).rejects.toMatchObject({ class: 'incomplete' });
  expect(text).toBe(json);
});

test('finds a picture after a value that is nested too deeply', async () => {
  const deep = '['.repeat(20_000) + ']'.repeat(20_000);
  const json = `{"a":${deep},"source":{"data":"${long}"}}`;
  expect((await divert([json])).strings).toEqual([long]);
});

test('waits for the sink before it reads further', async () => {
  const order: string[] = [];
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const chunk of [`{"source":{"data":"${long}`, `${long}"}}`]) {
      order.push('read');
      yield Buffer.from(chunk);
    }
  }
  const sink = {
    async write(): Promise<void> {
      await Promise.resolve();
      order.push('written');
    },
    async end(): Promise<void> {
      await Promise.resolve();
      order.push('ended');
    },
  };
  for await (const _ of divertBase64(chunks(), { open: async () => ({ sink, placeholder: '@' }) }, { threshold: 8 }));
  expect(order).toEqual(['read', 'written', 'read', 'written', 'ended']);
});

function fail(): never {
  throw new GatewayError('not-written', 'full');
}

test('closes the body when its reader stops, and when a sink fails', async () => {
  let closed = 0;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.from(`{"source":{"data":"${long}"}}`);
    } finally {
      closed++;
    }
  }
  const fine = { open: async () => ({ sink: { write: () => {}, end: () => {} }, placeholder: '@' }) };
  for await (const _ of divertBase64(chunks(), fine)) break;
  const failing = divertBase64(
    chunks(),
    { open: async () => ({ sink: { write: fail, end: () => {} }, placeholder: '@' }) },
    { threshold: 8 },
  );
  const reading = (async () => {
    for await (const _ of failing);
  })();
  await expect(reading).rejects.toMatchObject({ class: 'not-written' });
  expect(closed).toBe(2);
});

test('passes chunks without long Base64 without a copy', async () => {
  const chunk = Buffer.from('{"a":[1,"b"]}');
  const seen: Uint8Array[] = [];
  for await (const part of divertBase64(iterateSame(chunk), { open: () => expect.unreachable() })) seen.push(part);
  expect(seen.map((part) => part.buffer === chunk.buffer && part.byteOffset === chunk.byteOffset)).toEqual([true]);
});

async function* iterateSame(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}

const textEvent = (text: string) => `event: x\ndata: {"type":"text_delta","index":0,"text":"${text}"}\n\n`;
const ping = 'event: ping\ndata: {"type":"ping"}\n\n';
const url = 'data:image/a;base64,';

test.each([
  ['a whole picture in one delta', [`Hi ![x](${url}${long}) there`], [`Hi ![x](${url}@0) there`], [long]],
  ['two in one delta', [`![x](${url}${long}) ![y](${url}${long})`], [`![x](${url}@0) ![y](${url}@1)`], [long, long]],
  [
    'one that continues in later deltas, long or short',
    [`![x](${url}${long}`, long, 'QUJD', '', ') there'],
    [`![x](${url}`, '', '', '', '@0) there'],
    [`${long}${long}QUJD`],
  ],
  ['one that ends just where its delta does', [`![x](${url}${long}`, ')'], [`![x](${url}`, '@0)'], [long]],
  ['a bare one, which ends with its delta', [`see ${url}${long}`, 'Hi'], [`see ${url}@0`, 'Hi'], [long]],
  ['a short one, which is not diverted', [`![x](${url}QUJD)`], [`![x](${url}QUJD)`], []],
  ['one with escaped slashes', [String.raw`![x](${url}${long}\/\/)`], [`![x](${url}@0)`], [`${long}//`]],
])('diverts data URLs in the text of events: %s, cut anywhere', async (_name, texts, expected, strings) => {
  const body = Buffer.from(texts.map(textEvent).join(ping));
  const json = expected.map(textEvent).join(ping);
  for (let at = 0; at < body.length; at++) {
    const diverted = await divert([body.subarray(0, at), body.subarray(at)], { deltaThreshold: 8 });
    expect(diverted).toEqual({ json, strings });
  }
  const single = [...body].map((byte) => Uint8Array.of(byte));
  expect(await divert(single, { deltaThreshold: 8 })).toEqual({ json, strings });
});

test('diverts the picture of a completion, cut anywhere', async () => {
  const event = (data: string): string =>
    `data: {"choices":[{"delta":{"images":[{"image_url":{"url":"data:image/png;base64,${data}"}}]}}]}\n\n`;
  const body = Buffer.from(event(long) + event(long));
  for (let at = 0; at < body.length; at++) {
    const diverted = await divert([body.subarray(0, at), body.subarray(at)], { deltaThreshold: 8 });
    expect(diverted).toEqual({ json: event('@0') + event('@1'), strings: [long, long] });
  }
});
