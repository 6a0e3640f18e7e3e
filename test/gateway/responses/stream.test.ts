import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { dig, key, readEvents, responseTo, sharedGateway, startGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();
const path = '/v1/responses';

async function stream(input: unknown, more: object = {}): Promise<Record<string, unknown>[]> {
  const { status, text, headers } = await gateway.post(path, responseTo(input, { stream: true, ...more }));
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  return readEvents(text);
}

const typesOf = (events: Record<string, unknown>[]): string[] =>
  events.map(({ type }) => String(type).replace('response.', '')).filter((type, index, all) => type !== all[index - 1]);

describe('a streamed response', () => {
  it('has every event of the format in its order, with whole items', async () => {
    const events = await stream('hello', { max_output_tokens: 10 });
    const begun = events[0]?.['response'];
    const id = String(dig(begun, 'id'));
    const item_id = id.replace('resp_', 'msg_');
    const place = { item_id, output_index: 0, content_index: 0 };
    const part = (said: string) => ({ type: 'output_text', annotations: [], logprobs: [], text: said });
    const text = 'This is the offline model local-chat; no';
    const item = {
      id: item_id,
      type: 'message',
      role: 'assistant',
      status: 'incomplete',
      content: [part(text)],
    };
    const delta = (said: string) => ({ type: 'response.output_text.delta', ...place, delta: said, logprobs: [] });
    expect(events.map(({ sequence_number: _number, ...event }) => event)).toEqual([
      {
        type: 'response.created',
        response: expect.objectContaining({ status: 'in_progress', output: [], usage: null }),
      },
      { type: 'response.in_progress', response: begun },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...place, part: part('') },
      delta('This is the '),
      delta('offline model local-chat; '),
      delta('no'),
      { type: 'response.output_text.done', ...place, text, logprobs: [] },
      { type: 'response.content_part.done', ...place, part: part(text) },
      { type: 'response.output_item.done', output_index: 0, item },
      {
        type: 'response.incomplete',
        response: expect.objectContaining({ id, status: 'incomplete', output: [item], usage: expect.any(Object) }),
      },
    ]);
  });

  it('ends with what the same request gives without a stream', async () => {
    const events = await stream('one\n\ndata: [DONE]\n\ntwo');
    const { json } = await gateway.post(path, responseTo('one\n\ndata: [DONE]\n\ntwo'));
    const last = events.at(-1);
    expect(last?.['type']).toBe('response.completed');
    expect(dig(events[0], 'response', 'completed_at')).toBeNull();
    expect(dig(last, 'response', 'completed_at')).toEqual(expect.any(Number));
    const deltas = events.map(({ delta }) => delta ?? '').join('');
    expect(deltas).toBe(dig(json, 'output', 0, 'content', 0, 'text'));
    expect(dig(last, 'response', 'output', 0, 'content')).toEqual(dig(json, 'output', 0, 'content'));
    expect(dig(last, 'response', 'usage')).toEqual(dig(json, 'usage'));
  });

  it('brings the summary of the thoughts before the text, and the encrypted ones whole at the end of their item', async () => {
    const include = ['reasoning.encrypted_content'];
    const events = await stream('hello', { reasoning: { effort: 'high', summary: 'auto' }, include });
    expect(typesOf(events).slice(2, 10)).toEqual([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
    ]);
    const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    expect(items).toEqual(dig(events.at(-1), 'response', 'output'));
    const [begun, whole] = [dig(events[2], 'item'), items[0]];
    expect(String(dig(whole, 'encrypted_content'))).toMatch(
      new RegExp(`^${String(dig(begun, 'encrypted_content'))}.+`),
    );
    expect(dig(begun, 'summary')).toEqual([]);
    const summary = events.filter(({ type }) => type === 'response.reasoning_summary_text.delta');
    expect(summary.map(({ delta }) => delta).join('')).toBe(dig(whole, 'summary', 0, 'text'));
    const text = events.filter(({ type }) => type === 'response.output_text.delta');
    expect(new Set(text.map(({ output_index }) => output_index))).toEqual(new Set([1]));
  });

  it('brings a call with its name at the beginning and its arguments in pieces', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const tools = [{ type: 'function', name: 'get_weather', parameters, strict: false }];
    const events = await stream('the weather in Paris?', { tools });
    expect(typesOf(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    const call = { type: 'function_call', name: 'get_weather', call_id: expect.stringMatching(/^call_/) };
    expect(events[2]?.['item']).toMatchObject({ ...call, status: 'in_progress', arguments: '' });
    const pieces = events.filter(({ type }) => type === 'response.function_call_arguments.delta');
    expect(pieces.length).toBeGreaterThan(1);
    const json = pieces.map(({ delta }) => delta).join('');
    expect(JSON.parse(json)).toEqual({ city: 'example city' });
    expect(events.at(-3)).toMatchObject({ name: 'get_weather', arguments: json });
    expect(dig(events.at(-1), 'response', 'output')).toEqual([
      { id: expect.stringMatching(/^fc_/), ...call, status: 'completed', arguments: json },
    ]);
  });

  it('arrives with a pace before it is whole', async () => {
    const slow = await startGateway({ pace: 600_000 });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    const sent = request(slow.url + path, { method: 'POST', headers });
    sent.end(JSON.stringify(responseTo('hello', { stream: true })));
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
    const [first] = (await once(response, 'data')) as [Buffer];
    expect(String(first)).toMatch(/^event: response\.created\ndata: .*"status":"in_progress"/);
    sent.destroy();
    await slow.close(0);
  });
});
