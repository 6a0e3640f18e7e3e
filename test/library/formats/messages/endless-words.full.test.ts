import { describe, expect, test } from 'vitest';
import { createAccumulator } from '../../../../src/library/client/accumulator.ts';
import { keepGoodImages } from '../../../../src/library/client/image-store.ts';
import { messages } from '../../../../src/library/formats/messages/format.ts';
import { createMemoryStore } from '../../../../src/library/images/store.ts';
import { sample } from './feeding.ts';

const { start, block } = sample;

/** What is kept of a stream grows with each event. */
function startReading() {
  const decoder = messages.createDecoder({ status: 200, headers: {} });
  const store = keepGoodImages(createMemoryStore());
  const fold = createAccumulator({ model: 'm', maxCandidates: 1, store });
  return { feed: (event: { data: string }) => fold.add(decoder.feed(event)), result: () => fold.result().result };
}

describe('the words of an answer have a bound, below that of the strings of V8', () => {
  const mebi = 1024 * 1024;
  const long = 'x'.repeat(mebi);
  const blockOf = (type: string) => block({ type, id: 't1', name: 'f' });

  test.each([
    ['text', 'text', { type: 'text_delta', text: long }],
    ['thoughts', 'thinking', { type: 'thinking_delta', thinking: long }],
    ['the input of a tool', 'tool_use', { type: 'input_json_delta', partial_json: long }],
  ])('%s', (_, type, delta) => {
    const reading = startReading();
    const event = { data: JSON.stringify({ type: 'content_block_delta', index: 0, delta }) };
    for (const data of [start, blockOf(type)]) reading.feed({ data });
    for (let n = 0; n < 63; n++) reading.feed(event);
    expect(() => [event, event].map((last) => reading.feed(last))).toThrow(
      expect.objectContaining({ class: 'bad-reply', message: 'the answer is longer than 67108864 characters' }),
    );
    expect(JSON.stringify(reading.result()).length).toBeGreaterThan(63 * mebi);
  });

  test.each([
    [
      'what the start of a tool carries',
      { type: 'content_block_start', content_block: { type: 'tool_use', input: { a: long } } },
    ],
    [
      'what a block of another type carries',
      { type: 'content_block_start', content_block: { type: 'other', a: long } },
    ],
    ['signatures', { type: 'content_block_delta', delta: { type: 'signature_delta', signature: long } }],
    ['citations', { type: 'content_block_delta', delta: { type: 'citations_delta', citation: { a: long } } }],
  ])('%s', (_, event) => {
    const reading = startReading();
    for (const data of [start, blockOf('text')]) reading.feed({ data });
    const feed = (index: number) => reading.feed({ data: JSON.stringify({ ...event, index }) });
    for (let n = 0; n < 63; n++) feed(event.type === 'content_block_start' ? n + 1 : 0);
    expect(() => feed(64)).toThrow(
      expect.objectContaining({ class: 'bad-reply', message: 'the answer is longer than 67108864 characters' }),
    );
  });
});
