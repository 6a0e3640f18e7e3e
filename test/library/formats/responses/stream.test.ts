import { describe, expect, test } from 'vitest';
import {
  addedPart,
  completed,
  created,
  done,
  feedAll,
  message,
  readWhole,
  response,
  textEvents,
  thinkingPieces,
  vllmEvents,
} from './feeding.ts';

const thinking = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [
    { type: 'summary_text', text: 'First.' },
    { type: 'summary_text', text: 'Then.' },
  ],
  encrypted_content: 'sealed',
};
const call = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'look',
  arguments: '{"at":"sea"}',
  status: 'completed',
};
const summary = { item_id: 'rs_1', output_index: 0 };
const { summary: _summary, encrypted_content: _sealed, ...thinkingStart } = thinking;
const usage = {
  inputTokens: 40,
  outputTokens: 30,
  thinkingTokens: 20,
  cachedInputTokens: 10,
  cacheWriteInputTokens: 5,
  totalTokens: 70,
};

describe('a stream of the responses format', () => {
  test.each(['constructor', 'toString'])('has items of a kind that nobody knows, here %s', (type) => {
    const item = { type, id: 'x_1', status: 'completed' };
    const streamed = feedAll([created, done(0, item), completed([item, message('Hello')])]);
    for (const { result, error } of [streamed, readWhole(response([item, message('Hello')]))]) {
      expect(error).toBeUndefined();
      expect(result).toMatchObject({ text: 'Hello', complete: true });
    }
  });

  test('reaches a reader delta by delta, and is put together', () => {
    const { deltas, result, error, progress } = feedAll([
      created,
      ...textEvents(['Hel', 'lo']),
      { type: 'response.output_text.done', item_id: 'msg_1', output_index: 0, content_index: 0, text: 'Hello' },
      done(0, message('Hello', { phase: 'final_answer' })),
      completed([message('Hello')]),
    ]);
    expect(deltas).toStrictEqual([
      { type: 'start', id: 'resp_1', model: 'm' },
      { type: 'block-start', block: 0, blockType: 'text' },
      { type: 'text', text: 'Hel', block: 0 },
      { type: 'text', text: 'lo', block: 0 },
      { type: 'block-stop', block: 0 },
      { type: 'stop', stopReason: 'completed' },
      { type: 'end' },
    ]);
    expect(result).toMatchObject({
      responseId: 'resp_1',
      modelVersion: 'm',
      role: 'assistant',
      text: 'Hello',
      content: [{ type: 'text', text: 'Hello' }],
      stopReason: 'completed',
      serviceTier: 'default',
      usage,
      complete: true,
    });
    expect([error, progress]).toEqual([undefined, 'ended']);
  });

  test('has thinking in paragraphs, whose whole item is its signature, and calls of tools with their input', () => {
    const { result, deltas } = feedAll([
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...thinkingStart, summary: [] } },
      { type: 'response.reasoning_summary_text.delta', ...summary, summary_index: 0, delta: 'First.' },
      { type: 'response.reasoning_summary_text.delta', ...summary, summary_index: 1, delta: 'Th' },
      { type: 'response.reasoning_summary_text.delta', ...summary, summary_index: 1, delta: 'en.' },
      done(0, thinking),
      { type: 'response.output_item.added', output_index: 1, item: { ...call, arguments: '', status: 'in_progress' } },
      { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: '{"at":' },
      { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: '"sea"}' },
      { type: 'response.function_call_arguments.done', item_id: 'fc_1', output_index: 1, arguments: '{"at":"sea"}' },
      done(1, call),
      completed([thinking, call]),
    ]);
    expect(result.thinking).toBe('First.\n\nThen.');
    expect(result.toolCalls).toEqual([{ id: 'call_1', name: 'look', input: { at: 'sea' } }]);
    expect(result.content).toEqual([
      { type: 'thinking', thinking: 'First.\n\nThen.', signature: JSON.stringify(thinking) },
      { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 'sea' } },
    ]);
    expect(deltas.filter(({ type }) => type === 'tool-input')).toHaveLength(2);
  });

  test.each([
    ['incomplete', { reason: 'max_output_tokens' }, 'max_output_tokens', false],
    ['incomplete', { reason: 'content_filter' }, 'content_filter', false],
    ['incomplete', { reason: 'max_messages' }, 'max_messages', false],
    ['incomplete', null, 'incomplete', false],
    ['completed', null, 'completed', true],
  ])('ends by its status %s and the reason %j', (status, details, stopReason, complete) => {
    const end = { status, incomplete_details: details };
    const type = `response.${status}`;
    const streamed = feedAll([
      created,
      ...textEvents(['Hello']),
      { type, response: response([message('Hello')], end) },
    ]);
    for (const { result } of [streamed, readWhole(response([message('Hello')], end))])
      expect(result).toMatchObject({ text: 'Hello', stopReason, complete });
  });

  test('says what a refusal says in the reason, and not in the text', () => {
    const refusal = { ...message(''), content: [{ type: 'refusal', refusal: 'I cannot do that.' }] };
    const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    const streamed = feedAll([
      created,
      ...textEvents([]),
      { type: 'response.refusal.delta', ...place, delta: 'I cannot ' },
      { type: 'response.refusal.delta', ...place, delta: 'do that.' },
      { type: 'response.refusal.done', ...place, refusal: 'I cannot do that.' },
      done(0, refusal),
      completed([refusal]),
    ]);
    for (const { result } of [streamed, readWhole(response([refusal]))]) {
      expect(result).toMatchObject({ text: '', stopReason: 'refusal', complete: false });
      expect(result.candidates[0]?.finishMessage).toBe('I cannot do that.');
    }
  });

  test.each([
    ['flat', { type: 'error', code: 'server_error', message: 'It broke', param: null }],
    ['nested', { type: 'error', error: { type: 'server_error', code: null, message: 'It broke', param: null } }],
    [
      'a failed reply',
      {
        type: 'response.failed',
        response: response([], { status: 'failed', error: { code: 'server_error', message: 'It broke' } }),
      },
    ],
  ])('ends with an error that is %s, and keeps what came (deviation 78)', (_, event) => {
    const { result, error } = feedAll([created, ...textEvents(['Hel']), event]);
    expect(result.text).toBe('Hel');
    expect(error).toMatchObject({ class: 'gateway', message: expect.stringContaining('It broke') as string });
    expect(error?.details.billed).toBe('unknown');
  });

  test('is cut without an event that ends it, and a call of it is not whole', () => {
    const { progress, result } = feedAll([
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...call, arguments: '' } },
      { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 0, delta: '{"at":' },
    ]);
    expect([progress, result.complete]).toEqual(['open', true]);
    expect(result.content).toEqual([]);
  });

  test('has the sources of a text as citations of its block, each once', () => {
    const annotation = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 5 };
    const second = { ...annotation, url: 'https://b.example' };
    const whole = message('Hello', {
      content: [{ type: 'output_text', text: 'Hello', annotations: [annotation, second] }],
    });
    const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    const { result } = feedAll([
      created,
      ...textEvents(['Hello']),
      { type: 'response.output_text.annotation.added', ...place, annotation_index: 0, annotation },
      done(0, whole),
      completed([whole]),
    ]);
    expect(result.content).toEqual([{ type: 'text', text: 'Hello', citations: [annotation, second] }]);
  });

  test('has a call of a custom tool as a call with its text, streamed and whole', () => {
    const call = { type: 'custom_tool_call', id: 'ct_1', call_id: 'c1', name: 'sql', input: 'SELECT "ë\n🦅"' };
    const place = { item_id: 'ct_1', output_index: 0 };
    const type = 'response.custom_tool_call_input.delta';
    const streamed = feedAll([
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...call, input: '' } },
      { type, ...place, delta: 'SELECT "ë\n\ud83e' },
      { type, ...place, delta: '\udd85"' },
      { type: 'response.custom_tool_call_input.done', ...place, input: call.input },
      done(0, call),
      completed([call]),
    ]);
    const input = { input: call.input };
    const block = { type: 'tool_use', id: 'c1', name: 'sql', input, signature: JSON.stringify(call) };
    const unsaid = feedAll([
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...call, input: '' } },
      { type, ...place, delta: call.input },
      completed([]),
    ]);
    for (const { result, error } of [streamed, readWhole(response([call])), unsaid]) {
      expect(error).toBeUndefined();
      expect(result.toolCalls).toEqual([{ id: 'c1', name: 'sql', input }]);
    }
    expect(streamed.result.content).toEqual([block]);
    expect(readWhole(response([call])).result.content).toEqual([block]);
    const json = streamed.deltas.map((delta) => (delta.type === 'tool-input' ? delta.json : '')).join('');
    expect(JSON.parse(json)).toEqual(input);
  });

  test('counts the searches of its output where the service does not count them', () => {
    const call = { type: 'web_search_call', status: 'completed' };
    const search = { ...call, id: 'ws_1', action: { type: 'search', queries: ['x'] } };
    const second = { ...call, id: 'ws_2' };
    const page = { ...call, id: 'ws_3', action: { type: 'open_page', url: 'https://a.example' } };
    const output = [search, second, page, message('Hello')];
    const streamed = feedAll([created, done(0, search), done(1, second), completed(output)]);
    for (const { result } of [streamed, readWhole(response(output))]) expect(result.usage?.searches).toBe(2);
    const counted = response(output, { tool_usage: { web_search: { num_requests: 1 } } });
    expect(readWhole(counted).result.usage?.searches).toBe(1);
    const usage = { input_tokens: 1, server_tool_use_details: { web_search_requests: 3 } };
    expect(readWhole(response(output, { usage })).result.usage?.searches).toBe(3);
    expect(readWhole(response([message('Hello')])).result.usage).not.toHaveProperty('searches');
  });

  test('keeps an item of another kind for the next turn, and saves an image', () => {
    const search = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', queries: ['x'] },
    };
    const image = {
      type: 'image_generation_call',
      id: 'ig_1',
      status: 'completed',
      result: 'aGk=',
      output_format: 'webp',
    };
    const { result, events } = readWhole(response([search, image, message('Hello')]));
    expect(result.content).toEqual([
      { type: 'web_search_call', item: search },
      { type: 'text', text: 'Hello' },
    ]);
    expect(events.filter(({ type }) => type === 'blob')).toEqual([
      { type: 'blob', mimeType: 'image/webp', data: 'aGk=' },
    ]);
  });
});

describe('streams that differ from the format', () => {
  const [added = {}, , ...deltas] = textEvents(['Hel', 'lo']);
  const other = (event: object, id: string): object => ({ ...event, item_id: id });

  test.each<[string, object[]]>([
    ['without numbers, parts and whole items (deviation 72)', [created, added, ...deltas, completed([])]],
    [
      'whose item has another id in each event (deviation 73)',
      [
        created,
        added,
        ...deltas.map((event, at) => other(event, `x${at}`)),
        done(0, message('Hello', { id: 'y' })),
        completed([message('Hello', { id: 'z' })]),
      ],
    ],
    [
      'that numbers every item 0 (deviation 73)',
      [
        created,
        ...textEvents(['Hel'], 0, 'a'),
        done(0, message('Hel', { id: 'a' })),
        ...textEvents(['lo'], 0, 'b'),
        done(0, message('lo', { id: 'b' })),
        completed([message('Hel', { id: 'a' }), message('lo', { id: 'b' })]),
      ],
    ],
    ['of deltas and no item before them (deviation 72)', [created, ...deltas, completed([])]],
    ['whose last event has no output (deviation 74)', [created, added, ...deltas, completed([])]],
    [
      'whose whole item has more than its deltas (deviation 74)',
      [created, added, deltas[0] ?? {}, done(0, message('Hello')), completed([message('Hello')])],
    ],
    ['that has its text in the last event alone (deviation 74)', [created, completed([message('Hello')])]],
    [
      'that counts the parts of all items on, and the whole item its own (deviation 80)',
      [
        created,
        added,
        addedPart(1),
        ...deltas.map((event) => ({ ...event, content_index: 1 })),
        { type: 'response.output_text.done', item_id: 'msg_1', output_index: 0, content_index: 1, text: 'Hello' },
        done(0, message('Hello')),
        completed([message('Hello')]),
      ],
    ],
    [
      'that has its pieces at places of their own, and another id at the end (deviation 80)',
      [...vllmEvents(['Hel', 'lo']), completed([message('Hello', { id: 'z' })])],
    ],
    [
      'that has its parts without their beginnings (deviation 72)',
      [created, added, ...deltas, completed([message('', { content: ['Hel', 'lo'].map((text) => ({ text })) })])],
    ],
    [
      'whose second part is in the whole item alone (deviation 74)',
      [created, added, deltas[0] ?? {}, completed([message('', { content: ['Hel', 'lo'].map((text) => ({ text })) })])],
    ],
    [
      'that has its parts without deltas (deviation 72)',
      [
        created,
        added,
        ...['Hel', 'lo'].map((text, content_index) => ({ type: 'response.output_text.done', content_index, text })),
        completed([]),
      ],
    ],
    [
      'that has bare replies in its first events (deviation 75)',
      [{ type: 'response.created', response: {} }, added, ...deltas, completed([])],
    ],
  ])('a stream %s', (_, events) => {
    const { result, progress } = feedAll(events);
    expect([result.text, result.complete, progress]).toEqual(['Hello', true, 'ended']);
    expect(result.responseId).toBe('resp_1');
  });

  test('thinking comes as itself, without a summary (deviation 76)', () => {
    const item = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] };
    const streamed = feedAll([
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
      { type: 'response.reasoning_text.delta', item_id: 'rs_1', output_index: 0, content_index: 0, delta: 'Hm.' },
      done(0, item),
      ...textEvents(['Hello'], 1),
      completed([item, message('Hello')]),
    ]);
    for (const { result } of [streamed, readWhole(response([item, message('Hello')]))]) {
      expect([result.thinking, result.text]).toEqual(['Hm.', 'Hello']);
      // Without what is encrypted the service does not know it again.
      expect(result.content).toEqual([
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'text', text: 'Hello' },
      ]);
    }
  });

  test('thinking whose pieces have places of their own is one text (deviation 80)', () => {
    const item = { type: 'reasoning', id: 'x', summary: [], content: [{ type: 'reasoning_text', text: 'Hm. So.' }] };
    const { result } = feedAll([
      created,
      ...thinkingPieces(['Hm', '.', ' So.']),
      { type: 'response.reasoning_text.done', item_id: 'a', output_index: 0, content_index: 4, text: 'Hm. So.' },
      done(0, { ...item, id: 'a' }),
      ...vllmEvents(['Hel', 'lo']).slice(1),
      completed([item, message('Hello', { id: 'y' })]),
    ]);
    expect([result.thinking, result.text]).toEqual(['Hm. So.', 'Hello']);
  });

  test('several parts are blocks of their own, each with its citations, streamed and whole', () => {
    const page = (url: string) => ({ type: 'url_citation', url, title: url, start_index: 0, end_index: 1 });
    const content = ['Hel', 'lo'].map((text) => ({
      type: 'output_text',
      text,
      annotations: [page(`https://${text}`)],
    }));
    const streamed = feedAll([
      created,
      added,
      ...content.flatMap(({ text }, at) => [
        addedPart(at),
        { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: at, delta: text },
      ]),
      done(0, message('', { content })),
      completed([message('', { content })]),
    ]);
    for (const { result } of [streamed, readWhole(response([message('', { content })]))])
      expect(result.content).toEqual(
        content.map(({ text, annotations }) => ({ type: 'text', text, citations: annotations })),
      );
  });

  test('[DONE] says nothing: a stream ends with its own event (deviation 77)', () => {
    const cut = feedAll([created, added, ...deltas]);
    expect(cut.progress).toBe('open');
  });

  test('a call of which the arguments come as an object, or in the whole item alone, is whole', () => {
    for (const given of [{ at: 'sea' }, '{"at":"sea"}']) {
      const item = { ...call, arguments: given };
      for (const events of [
        [created, done(0, item), completed([])],
        [created, completed([item])],
      ])
        expect(feedAll(events).result.toolCalls).toEqual([{ id: 'call_1', name: 'look', input: { at: 'sea' } }]);
    }
  });
});
