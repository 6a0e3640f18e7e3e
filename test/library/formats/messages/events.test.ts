import { describe, expect, test } from 'vitest';
import { emptyResult } from '../../../../src/library/client/arriving-reply.ts';
import { feedAll, sample } from './feeding.ts';

const { start, stop, end, block, blockStop, text } = sample;
const textBlock = block({ type: 'text', text: '' });
const hello = [start, textBlock, text('Hel'), text('lo'), blockStop()];

describe('a stream of the messages format', () => {
  test('reaches a reader delta by delta, and is put together', () => {
    const { deltas, result, error, complete } = feedAll([...hello, end, stop]);
    expect(deltas).toStrictEqual([
      { type: 'start', id: 'msg_1', model: 'm' },
      { type: 'block-start', block: 0, blockType: 'text' },
      { type: 'text', text: 'Hel', block: 0 },
      { type: 'text', text: 'lo', block: 0 },
      { type: 'block-stop', block: 0 },
      { type: 'stop', stopReason: 'end_turn' },
      { type: 'end' },
    ]);
    expect(result).toEqual({
      ...emptyResult('m'),
      modelVersion: 'm',
      responseId: 'msg_1',
      role: 'assistant',
      text: 'Hello',
      candidates: [{ index: 0, text: 'Hello', finishReason: 'end_turn' }],
      content: [{ type: 'text', text: 'Hello' }],
      stopReason: 'end_turn',
      usage: { inputTokens: 5, outputTokens: 9, totalTokens: 14 },
      complete: true,
    });
    expect([error, complete]).toStrictEqual([undefined, true]);
  });

  test('takes the type from the data, and the event name only where it has none (deviation 22)', () => {
    const [first = '', ...rest] = hello;
    const unnamed = JSON.parse(first) as { type?: string };
    delete unnamed.type;
    const { result, complete } = feedAll([
      { event: 'message_start', data: JSON.stringify(unnamed) },
      ...rest.map((data) => ({ event: 'message', data })),
      { event: 'message_stop', data: '{}' },
    ]);
    expect([result.responseId, result.text, complete]).toStrictEqual(['msg_1', 'Hello', true]);
  });

  test.each([
    ['[DONE]', { data: '[DONE]' }],
    ['[DONE] with blanks', { data: ' [DONE] ' }],
    ['event: done', { event: 'done', data: '{}' }],
    ['event: done with [DONE]', { event: 'done', data: '[DONE]' }],
  ])('takes %s as the end of a reply that said why it stopped, and only of that (deviation 23)', (_, done) => {
    const before = feedAll([...hello, done, text('!')]);
    expect([before.complete, before.deltas.at(-1)?.type, before.result.text]).toStrictEqual([false, 'text', 'Hello!']);
    expect(feedAll([...hello, end, done]).deltas.at(-1)).toStrictEqual({ type: 'end' });
    expect(feedAll([...hello, end, stop, done]).deltas.filter(({ type }) => type === 'end')).toHaveLength(1);
  });

  test.each([
    ['a stop reason and no message_stop', [...hello, end], true],
    ['message_stop and no stop reason', [...hello, stop], true],
    ['neither', hello, false],
    [
      'a message_delta without a stop reason',
      [...hello, '{"type":"message_delta","delta":{"stop_reason":null}}'],
      false,
    ],
    ['an empty stop reason', [...hello, '{"type":"message_delta","delta":{"stop_reason":""}}'], false],
  ])('knows whether a stream with %s is complete (deviation 24)', (_, events, expected) => {
    const { complete, result } = feedAll(events);
    expect([complete, result.text]).toStrictEqual([expected, 'Hello']);
  });

  test.each([
    ['a comment re-wrapped as data (deviation 29)', { data: ': OPENROUTER PROCESSING' }],
    ['empty data (deviation 30)', { data: '' }],
    ['an object without a type (deviation 30)', { data: '{}' }],
    ['a ping with empty data (deviation 30)', { event: 'ping', data: '' }],
    ['a ping', { event: 'ping', data: '{"type": "ping"}' }],
    ['an unknown event', { event: 'weather', data: '{"type":"weather","message":"sunny"}' }],
    ['an unknown type that every object inherits', { data: '{"type":"constructor"}' }],
    ['JSON that is no object', { data: '[1]' }],
    ['null', { data: 'null' }],
    [
      'a delta without a block',
      { data: '{"type":"content_block_delta","index":7,"delta":{"type":"input_json_delta","partial_json":"{"}}' },
    ],
    ['a stop without a block', { data: blockStop(7) }],
    ['a delta whose text is null', { data: sample.delta({ type: 'text_delta', text: null }) }],
    [
      'an unknown delta',
      { data: '{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"x"}}' },
    ],
    ['a message_delta without anything', { data: '{"type":"message_delta"}' }],
    ['a message_delta without a stop reason', { data: '{"type":"message_delta","delta":{"stop_reason":null}}' }],
    ['a signature for text', { data: sample.delta({ type: 'signature_delta', signature: 's' }) }],
  ])('skips %s', (_, event) => {
    const { events: _odd, ...read } = feedAll([...hello.slice(0, 4), event, ...hello.slice(4), end, stop]);
    const { events: _plain, ...expected } = feedAll([...hello, end, stop]);
    expect(read).toStrictEqual(expected);
  });

  test.each([
    ['a delta that is none', '{"type":"content_block_delta","index":0}'],
    ['a delta that is null', '{"type":"content_block_delta","index":0,"delta":null}'],
    ['a delta that is a text', '{"type":"content_block_delta","index":0,"delta":"x"}'],
    ['a delta without a type', sample.delta({ text: 'x' })],
    ['a delta whose type is a number', sample.delta({ type: 5, text: 'x' })],
    ['a delta whose text is a number', sample.delta({ type: 'text_delta', text: 5 })],
    ['a delta whose input is an object', sample.delta({ type: 'input_json_delta', partial_json: {} })],
    ['an event with a delta and without a type', '{"index":0,"delta":{"type":"text_delta","text":"x"}}'],
    ['a message_delta that is a text', '{"type":"message_delta","delta":"x"}'],
    ['a stop reason that is a number', '{"type":"message_delta","delta":{"stop_reason":5}}'],
  ])('%s is a bad stream, and what came is kept', (_, data) => {
    const { error, result, complete } = feedAll([...hello, data, end, stop]);
    expect(error).toMatchObject({ class: 'bad-reply' });
    expect([result.text, complete]).toStrictEqual(['Hello', false]);
  });

  test('reads data that is padded with blanks, and a byte order mark (formats 4, deviation 31)', () => {
    const padded = [...hello, end, stop].map((data) => `\uFEFF ${data.slice(0, -1)}    }       `);
    expect(feedAll(padded)).toStrictEqual(feedAll([...hello, end, stop]));
  });

  test('ignores a message_start that comes again (deviation 35)', () => {
    const again = feedAll([start, start, ...hello.slice(1), end, stop]);
    expect(again).toStrictEqual(feedAll([...hello, end, stop]));
  });

  test('ends with an error where a second message is spliced in, and keeps the first (deviation 35)', () => {
    const { error, result, complete } = feedAll([...hello, start.replace('msg_1', 'msg_2'), text('other')]);
    expect(error).toMatchObject({ class: 'bad-reply', message: 'a second message (msg_2) begins inside the stream' });
    expect([result.responseId, result.text, complete]).toStrictEqual(['msg_1', 'Hello', false]);
  });

  test.each([
    ['two objects in one event', `${text('a')}{"type":"error"}`],
    ['cut JSON', '{"type":"content_block_delta","ind'],
    ['a text', 'upstream closed'],
    ['HTML', '<html>'],
  ])('ends with an error at %s, and keeps what came before (deviation 26)', (_, data) => {
    const { error, result, complete } = feedAll([...hello, data, end]);
    expect(error).toMatchObject({ class: 'bad-reply', exitCode: 9, details: { sent: 'yes', retryable: false } });
    expect([result.text, complete]).toStrictEqual(['Hello', false]);
  });
});

test.each([
  ['in front of its data', { event: 'content_block_delta', data: '', unterminated: true }],
  ['in its data', { data: text('!').slice(0, -3), unterminated: true }],
  ['in the mark of an end', { data: '[DON', unterminated: true }],
] as const)('an event that the end of the body cut %s says nothing (deviation 33)', (_, event) => {
  const { events: _cut, ...read } = feedAll([...hello, event]);
  const { events: _plain, ...expected } = feedAll(hello);
  expect(read).toStrictEqual(expected);
});

test('an event that lacks no more than its blank line is read, and a wrong one is an error', () => {
  expect(feedAll([...hello, { data: end, unterminated: true }])).toMatchObject({ complete: true, error: undefined });
  expect(feedAll([...hello, { data: '{x', unterminated: true }]).error).toMatchObject({ class: 'bad-reply' });
});

const usage = (json: string) => `{"type":"message_delta","delta":{},"usage":${json}}`;

describe('usage of a stream', () => {
  test.each([
    [
      'the last of each count (formats 4)',
      [start, usage('{"input_tokens":61,"output_tokens":2}'), usage('{"output_tokens":4}')],
      [61, 4],
    ],
    [
      'an earlier count where the later is null (deviation 34)',
      [start, usage('{"input_tokens":null,"output_tokens":2}')],
      [5, 2],
    ],
    [
      'the count at the end where it was 0 at the start (deviation 34)',
      [start.replace(':5,', ':0,'), usage('{"input_tokens":8}')],
      [8, 1],
    ],
    [
      'a count only at the end (deviation 34)',
      ['{"type":"message_start","message":{}}', usage('{"output_tokens":2}')],
      [undefined, 2],
    ],
  ])('is %s', (_, events, expected) => {
    const { usage } = feedAll(events).result;
    expect([usage?.inputTokens, usage?.outputTokens]).toStrictEqual(expected);
  });

  test.each([
    ['what the cache gave', 'cache_read_input_tokens', 'cachedInputTokens'],
    ['what the cache took', 'cache_creation_input_tokens', 'cacheWriteInputTokens'],
  ] as const)(
    'keeps %s where the end of the stream is silent about it, and counts it in the total',
    (_, wire, name) => {
      const first = start.replace('"input_tokens":5', `"input_tokens":5,"${wire}":7`);
      const { usage } = feedAll([first, ...hello.slice(1), end, stop]).result;
      expect(usage).toMatchObject({ inputTokens: 5, outputTokens: 9, [name]: 7, totalTokens: 21 });
    },
  );

  test('keeps the count of thinking where a later event is silent about it', () => {
    const thought = usage('{"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}');
    expect(feedAll([...hello, thought, usage('{"output_tokens":9}'), stop]).result.usage).toMatchObject({
      thinkingTokens: 4,
    });
  });

  test('is undefined where the gateway gives none (deviation 34)', () => {
    expect(feedAll(['{"type":"message_start","message":{}}', textBlock, text('a'), stop]).result.usage).toBeUndefined();
  });
});

test('a later message_delta adds to an earlier message_delta', () => {
  const { result } = feedAll([
    ...hello,
    '{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"}}',
    '{"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null,"stop_details":{"type":"refusal"}}}',
  ]);
  expect(result).toMatchObject({ stopReason: 'stop_sequence', stopSequence: 'END', stopDetails: { type: 'refusal' } });
});
