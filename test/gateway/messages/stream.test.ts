import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../../src/gateway/types.ts';
import { dig, key, message, startGateway, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();

interface Event {
  name: string;
  data: unknown;
}

/** Parses by hand the framing of a stream. */
function readEvents(text: string): Event[] {
  expect(text.endsWith('\n\n')).toBe(true);
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((block) => {
      const [, name = '', json = ''] = /^event: (.+)\ndata: (.+)$/.exec(block) ?? [];
      return { name, data: JSON.parse(json) as unknown };
    });
}

async function stream(content: unknown, more: object = {}): Promise<Event[]> {
  const { status, text, headers } = await gateway.post('/v1/messages', message(content, { stream: true, ...more }));
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  return readEvents(text);
}

/** Names of the events, the same one in a row once. */
function order(events: Event[]): string[] {
  const names = events.map(({ name }) => name);
  return names.filter((name, index) => name !== names[index - 1]);
}

const frame = [
  'message_start',
  'content_block_start',
  'ping',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
];

describe('the stream of local-chat', () => {
  it('has the events in their order, each with its type', async () => {
    const events = await stream('hello');
    expect(order(events)).toEqual(frame);
    for (const { name, data } of events) expect(dig(data, 'type')).toBe(name);
    const start = {
      id: expect.stringMatching(/^msg_/),
      role: 'assistant',
      content: [],
      stop_reason: null,
      stop_sequence: null,
    };
    expect(dig(events[0]?.data, 'message')).toMatchObject({
      ...start,
      model: 'local-chat',
      usage: { input_tokens: 2, output_tokens: 1 },
    });
    expect(events[1]?.data).toEqual({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'text', text: '' },
    });
    expect(events.at(-3)?.data).toEqual({ type: 'content_block_stop', index: 0 });
    expect(events.at(-2)?.data).toMatchObject({
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { input_tokens: 2, output_tokens: expect.any(Number) },
    });
    expect(events.at(-1)?.data).toEqual({ type: 'message_stop' });
  });

  it('sends the ping with its blank', async () => {
    const { text } = await gateway.post('/v1/messages', message('hello', { stream: true }));
    expect(text).toContain('event: ping\ndata: {"type": "ping"}\n\n');
  });

  it('adds up to what the same request gives without a stream', async () => {
    const deltas = (await stream('50 words')).map(({ data }) => dig(data, 'delta', 'text') ?? '');
    const { json } = await gateway.post('/v1/messages', message('50 words'));
    expect(deltas.filter((delta) => delta !== '').length).toBeGreaterThan(10);
    expect(deltas.join('')).toBe(dig(json, 'content', 0, 'text'));
  });

  it('keeps line breaks of the text inside the JSON', async () => {
    const events = await stream('one\n\nevent: error\ndata: {}\n\ntwo');
    expect(order(events)).toEqual(frame);
  });

  it('streams thoughts with one signature before their stop', async () => {
    const events = await stream('hello', { thinking: { type: 'adaptive' } });
    const kinds = events.map(({ data }) => dig(data, 'delta', 'type')).filter((type) => type !== undefined);
    expect(kinds.filter((kind) => kind === 'signature_delta')).toHaveLength(1);
    expect(kinds.indexOf('signature_delta')).toBe(kinds.lastIndexOf('thinking_delta') + 1);
    expect(kinds.indexOf('text_delta')).toBeGreaterThan(kinds.indexOf('signature_delta'));
  });

  it('streams the input of a tool in pieces that add up to JSON', async () => {
    const properties = { city: { type: 'string' }, days: { type: 'integer', minimum: 2, maximum: 2 } };
    const tools = [
      { name: 'get_weather', input_schema: { type: 'object', properties, required: ['city', 'days'] } },
      { name: 'ring', input_schema: { type: 'object' } },
    ];
    const events = await stream('the weather in Paris?', { tools });
    expect(dig(events[1]?.data, 'content_block')).toMatchObject({ type: 'tool_use', name: 'get_weather', input: {} });
    const pieces = events.flatMap(({ data }) =>
      dig(data, 'delta', 'type') === 'input_json_delta' ? [dig(data, 'delta', 'partial_json')] : [],
    );
    expect(pieces[0]).toBe('');
    expect(JSON.parse(pieces.join(''))).toEqual({ city: 'example city', days: 2 });
    const empty = await stream('ring', { tools, tool_choice: { type: 'tool', name: 'ring' } });
    expect(empty.map(({ data }) => dig(data, 'delta', 'partial_json')).join('')).toBe('');
  });
});

describe('a paced stream', () => {
  it('that its reader took to the end is logged without a note', async () => {
    let write: (entry: LogEntry) => void = () => {};
    const logged = new Promise<LogEntry>((resolve) => (write = resolve));
    const open = await startGateway({ log: (entry) => write(entry) });
    const { status, text } = await open.post('/v1/messages', message('hello', { stream: true }));
    expect([status, text]).toEqual([200, expect.stringContaining('message_stop')]);
    expect(await logged).toMatchObject({ status: 200, bytes: Buffer.byteLength(text), note: undefined });
    await open.close(0);
  });

  it('a stream with a pace arrives before it is whole, and ends when the reader disconnects', async () => {
    const logged: LogEntry[] = [];
    let leave: (entry: LogEntry) => void = () => {};
    const left = new Promise<LogEntry>((resolve) => (leave = resolve));
    const slow = await startGateway({ pace: 600_000, log: (entry) => (logged.push(entry), leave(entry)) });
    const headers = { 'content-type': 'application/json', 'x-api-key': key, 'vendor-b-version': '2023-06-01' };
    const sent = request(`${slow.url}/v1/messages`, { method: 'POST', headers });
    sent.end(JSON.stringify(message('hello', { stream: true })));
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
    const [first] = (await once(response, 'data')) as [Buffer];
    expect(String(first)).toContain('event: message_start');
    sent.destroy();
    expect(await left).toMatchObject({ status: 200, note: 'the caller left' });
    await slow.close(0);
  });
});
