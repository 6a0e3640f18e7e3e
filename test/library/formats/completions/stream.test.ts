import { describe, expect, test } from 'vitest';
import type { ReplyEvent, DecoderInput } from '../../../../src/library/formats/events.ts';
import { chunk, feedAll, only, textOf } from './feeding.ts';

const first = chunk({ role: 'assistant', content: '', refusal: null });
const stop = chunk({}, { finish_reason: 'stop' });
const done = '[DONE]';
const usage = '{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}';
const hello = [first, chunk({ content: 'Hel' }), chunk({ content: 'lo' })];
const text = (words: string): ReplyEvent => ({ type: 'text', text: words, candidate: 0 });
const counts = {
  inputTokens: 5,
  outputTokens: 2,
  thinkingTokens: undefined,
  cachedInputTokens: undefined,
  totalTokens: 7,
};

test('reports what each chunk means', () => {
  const { events, error, progress } = feedAll([...hello, stop, usage, done]);
  expect(events).toStrictEqual([
    { type: 'start', id: 'chatcmpl-1', model: 'm' },
    { type: 'candidate', role: 'assistant', candidate: 0 },
    text('Hel'),
    text('lo'),
    { type: 'candidate', reason: 'stop', message: undefined, candidate: 0 },
    { type: 'facts', facts: { usage: counts } },
    { type: 'end' },
  ]);
  expect([error, progress]).toStrictEqual([undefined, 'ended']);
});

describe('says how far a stream has come', () => {
  const second = (more: object): string => JSON.stringify({ choices: [{ index: 1, ...more }] });
  test.each<[string, string[], string]>([
    ['nothing', [], 'open'],
    ['text alone', hello, 'open'],
    ['text and [DONE]', [...hello, done], 'open'],
    ['a finish reason', [...hello, stop], 'stopped'],
    ['a finish reason beside the last text', [first, chunk({ content: 'a' }, { finish_reason: 'stop' })], 'stopped'],
    ['an empty finish reason', [...hello, chunk({}, { finish_reason: '' })], 'open'],
    ['a finish reason, usage and [DONE]', [...hello, stop, usage, done], 'ended'],
    ['usage in place of a finish reason', [...hello, usage, done], 'open'],
    ['a second candidate that goes on', [stop, second({ delta: { content: 'a' } }), done], 'open'],
    ['the end of a second candidate alone', [first, second({ finish_reason: 'stop' }), done], 'open'],
    ['the end of both', [stop, second({ delta: {} }), second({ finish_reason: 'length' }), done], 'ended'],
  ])('with %s', (_, data, progress) => {
    expect(feedAll(data).progress).toBe(progress);
  });
});

describe('reads', () => {
  const helloAnd = (...more: string[]): string[] => [...hello, ...more, stop, done];

  test.each<[string, (string | DecoderInput)[]]>([
    [
      'a first chunk that names nothing (Azure)',
      ['{"choices":[],"id":"","model":"","prompt_filter_results":[]}', ...helloAnd()],
    ],
    ['a delta that is null', helloAnd(chunk(null))],
    ['a choice that has none', helloAnd('{"choices":[{"index":0}]}', '{"choices":[null]}')],
    ['comments that became data', helloAnd(': OPENROUTER PROCESSING', ':')],
    ['empty data and objects without meaning', helloAnd('', '{}', 'null', '{"object":"chat.completion.chunk"}')],
    ['blanks around the data', [...hello, ` ${stop} `, ` ${done} `]],
    ['content that is null, with a finish reason that is null', helloAnd(chunk({ content: null, tool_calls: null }))],
    ['an error that is null or empty', helloAnd('{"error":null,"choices":[]}', '{"error":"","choices":[]}')],
    ['all chunks in one event', [`[${[...hello, stop].join(',')}]`, done]],
    ['the whole message once more at the end', helloAnd('{"choices":[{"index":0,"message":{"content":"Hello"}}]}')],
    [
      'a whole reply in place of chunks',
      [
        '{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}',
        done,
      ],
    ],
    [
      'text beside the delta (Together)',
      [first, '{"choices":[{"index":0,"text":"Hello","delta":{"content":"Hello"}}]}', stop, done],
    ],
    ['text in place of the delta', [first, '{"choices":[{"index":0,"text":"Hello"}]}', stop, done]],
    ['parts as content', [first, chunk({ content: [{ type: 'text', text: 'Hello' }] }), stop, done]],
    ['what follows the end', helloAnd().concat(chunk({ content: '!' }), '{"error":{"message":"late"}}')],
    ['an unfinished last event', [...helloAnd(), { data: '{"choi', unterminated: true }]],
  ])('%s', (_, data) => {
    const { events, error, progress } = feedAll(data);
    expect([textOf(events), error, progress]).toStrictEqual(['Hello', undefined, 'ended']);
    expect(only(events, 'start')).toStrictEqual([{ type: 'start', id: 'chatcmpl-1', model: 'm' }]);
  });

  test.each<[string, string[]]>([
    ['in a chunk of its own', [...hello, stop, usage, done]],
    [
      'in the last chunk with a candidate',
      [...hello, chunk({}, { finish_reason: 'stop', usage: null }).replace(/}$/, `,${usage.slice(14)}`)],
    ],
    ['in every chunk', [...hello, usage.replace(':2,', ':1,'), stop, usage]],
    [
      'of a candidate (Moonshot)',
      [...hello, chunk({}, { finish_reason: 'stop', ...JSON.parse(usage), choices: undefined })],
    ],
    ['of Groq', [...hello, stop, `{"choices":[],"x_groq":{"id":"r",${usage.slice(14)}}`]],
    [
      'after the end of a candidate, and null before',
      [chunk({ content: 'a' }).replace(/}$/, ',"usage":null}'), stop, usage],
    ],
  ])('a stream counts %s', (_, data) => {
    const { events, error } = feedAll(data);
    expect(only(events, 'facts').at(-1)).toStrictEqual({ type: 'facts', facts: { usage: counts } });
    expect(error).toBeUndefined();
  });

  test('a model that is named later, and an id once where each chunk has another', () => {
    const { events } = feedAll([
      '{"id":"a","choices":[]}',
      '{"id":"b","model":"m","choices":[]}',
      '{"id":"c","model":"n","choices":[]}',
    ]);
    expect(events).toStrictEqual([
      { type: 'start', id: 'a', model: undefined },
      { type: 'start', id: 'a', model: 'm' },
    ]);
  });

  test('a stream reports thinking, and its signature when the candidate ends', () => {
    const { events } = feedAll([
      first,
      chunk({ reasoning_content: 'h', content: null }),
      chunk({ reasoning_content: 'm' }),
      chunk({ content: 'a' }),
      stop,
      done,
    ]);
    expect(events.slice(2, -2)).toStrictEqual([
      { type: 'thinking', text: 'h', index: 0, candidate: 0 },
      { type: 'thinking', text: 'm', index: 0, candidate: 0 },
      text('a'),
      { type: 'signature', signature: 'reasoning_content', index: 0 },
      { type: 'block-stop', index: 0 },
    ]);
  });

  test('reasoning details that come in pieces are joined as they go back', () => {
    const detail = (more: object): string => chunk({ reasoning: 'x', reasoning_details: [{ index: 0, ...more }] });
    const { events } = feedAll([
      detail({ type: 'reasoning.text', text: 'h', signature: null, format: 'anthropic-claude-v1' }),
      detail({ type: 'reasoning.text', text: 'm' }),
      detail({ type: 'reasoning.text', signature: 's' }),
      detail({ type: 'reasoning.encrypted', data: 'eA==', id: 'c1' }),
      detail({ type: 'reasoning.encrypted', data: 'eQ==' }),
      detail({ type: 'reasoning.summary', summary: 'a' }),
      detail({ type: 'reasoning.summary', summary: 'b' }),
      detail({ type: 'reasoning.text', text: 'n', index: 1 }),
      stop,
    ]);
    const [signature] = only(events, 'signature') as Extract<ReplyEvent, { type: 'signature' }>[];
    expect(JSON.parse(signature?.signature ?? '')).toStrictEqual([
      { index: 0, type: 'reasoning.text', text: 'hm', format: 'anthropic-claude-v1', signature: 's' },
      { index: 0, type: 'reasoning.encrypted', data: 'eA==', id: 'c1' },
      { index: 0, type: 'reasoning.encrypted', data: 'eQ==' },
      { index: 0, type: 'reasoning.summary', summary: 'ab' },
      { index: 1, type: 'reasoning.text', text: 'n' },
    ]);
    expect(textOf(events, 'thinking')).toBe('x'.repeat(8));
  });

  test('the words of a refusal are its message, also where they are cut', () => {
    const words = [chunk({ refusal: 'I can' }), chunk({ refusal: ' not' })];
    expect(feedAll([...words, stop]).events.at(-1)).toStrictEqual({
      type: 'candidate',
      reason: 'refusal',
      message: 'I can not',
      candidate: 0,
    });
    const cut = feedAll(words);
    expect([cut.progress, cut.events.at(-1)]).toStrictEqual([
      'open',
      { type: 'candidate', message: 'I can not', candidate: 0 },
    ]);
  });

  test('pictures, sources and spoken words', () => {
    const { events } = feedAll([
      chunk({ images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }] }),
      chunk({ audio: { transcript: 'Hel', data: 'AA==' } }),
      chunk({ annotations: [{ type: 'url_citation' }] }),
      stop,
    ]);
    expect(events.slice(1, 5)).toStrictEqual([
      { type: 'blob', mimeType: 'image/png', data: 'iVBO', candidate: 0 },
      text('Hel'),
      { type: 'blob', mimeType: 'audio/pcm;rate=24000', data: 'AA==', candidate: 0 },
      { type: 'citation', citation: { type: 'url_citation' } },
    ]);
  });

  test('a stream reads candidates whose chunks alternate', () => {
    const of = (index: number, delta: object, more: object = {}): string =>
      JSON.stringify({ choices: [{ index, delta, ...more }] });
    const { events } = feedAll([
      of(1, { content: 'b' }),
      of(0, { content: 'a' }),
      of(1, { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"a":' } }] }),
      of(1, { tool_calls: [{ index: 0, function: { arguments: '1}' } }] }, { finish_reason: 'tool_calls' }),
      of(0, { content: 'A' }, { finish_reason: 'stop' }),
      done,
    ]);
    expect(events).toStrictEqual([
      { type: 'text', text: 'b', candidate: 1 },
      text('a'),
      { type: 'candidate', reason: 'tool_calls', message: undefined, candidate: 1 },
      text('A'),
      { type: 'candidate', reason: 'stop', message: undefined, candidate: 0 },
      { type: 'end' },
      { type: 'call', id: 'c', name: 'f', input: { a: 1 }, isWhole: true, candidate: 1 },
    ]);
  });

  test('a stream reports the tier that served it', () => {
    const flex = '{"choices":[],"service_tier":"flex"}';
    expect(feedAll([flex, flex]).events).toStrictEqual([{ type: 'facts', facts: { serviceTier: 'flex' } }]);
  });
});
