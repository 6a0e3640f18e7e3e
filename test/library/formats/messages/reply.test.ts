import { describe, expect, test } from 'vitest';
import { type Result } from '../../../../src/library/client/result.ts';
import { emptyResult } from '../../../../src/library/client/arriving-reply.ts';
import { messages } from '../../../../src/library/formats/messages/format.ts';
import { eventsOf, foldWhole } from '../accumulating.ts';

const read = (json: unknown): Result => foldWhole(messages, json).result;
const wrap = (content: unknown) => ({ type: 'message', role: 'assistant', content });

describe('a message', () => {
  test('is read in every field', () => {
    const json = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello"}],
      "stop_reason":"stop_sequence","stop_sequence":"END","stop_details":null,
      "usage":{"input_tokens":12,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":30,
      "output_tokens_details":{"thinking_tokens":4},"service_tier":"standard"}}`;
    const { result, progress } = foldWhole(messages, JSON.parse(json));
    expect(result).toEqual({
      ...emptyResult('m'),
      responseId: 'msg_1',
      role: 'assistant',
      modelVersion: 'm',
      text: 'Hello',
      candidates: [{ index: 0, text: 'Hello', finishReason: 'stop_sequence' }],
      content: [{ type: 'text', text: 'Hello' }],
      stopReason: 'stop_sequence',
      stopSequence: 'END',
      usage: {
        inputTokens: 12,
        outputTokens: 30,
        thinkingTokens: 4,
        cachedInputTokens: 7,
        cacheWriteInputTokens: 5,
        totalTokens: 54,
      },
      serviceTier: 'standard',
      complete: true,
    });
    expect(progress).toBe('ended');
  });

  test.each<[string, object, Partial<Result>]>([
    ['thinking', { type: 'thinking', thinking: 'hm', signature: 's' }, { thinking: 'hm' }],
    ['thinking that is not shown', { type: 'thinking', thinking: '', signature: 's' }, { thinking: undefined }],
    ['redacted thinking', { type: 'redacted_thinking', data: 'x' }, {}],
    [
      'a call',
      { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
      { toolCalls: [{ id: 't', name: 'f', input: { a: 1 } }] },
    ],
    ['a tool of the server', { type: 'server_tool_use', id: 't', name: 'f', input: {} }, { toolCalls: [] }],
    ['a kind that nobody knows', { type: 'hologram', x: 1 }, { text: '' }],
    ['a block without a type', { x: 1 }, { text: '' }],
    ['a linked image', { type: 'image', source: { type: 'url', url: 'u' } }, { images: [] }],
    ['text with citations', { type: 'text', text: 'a', citations: [{ type: 'char_location' }] }, { text: 'a' }],
  ])('has %s, which is kept for a later turn', (_, raw, expected) => {
    expect(read(wrap([raw]))).toMatchObject({ ...expected, content: [raw] });
    expect(Object.keys(read(wrap([raw])).content?.[0] ?? {})).toEqual(Object.keys(raw));
  });

  test('has an image block, whose bytes go where pictures are stored (deviation 5)', () => {
    const raw = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } };
    const { events, result } = foldWhole(messages, wrap([raw]));
    expect(eventsOf(events, 'block-start')).toStrictEqual([{ type: 'block-start', raw }]);
    expect(result.content).toStrictEqual([]);
  });

  test('gives a call without input an empty one, as a later turn needs it', () => {
    const { toolCalls, content } = read(wrap([{ type: 'tool_use', id: 't', name: 'f', input: null }]));
    expect(toolCalls).toStrictEqual([{ id: 't', name: 'f', input: {} }]);
    expect(content).toStrictEqual([{ type: 'tool_use', id: 't', name: 'f', input: {} }]);
  });

  test('takes null for absent, also in what goes back (deviation 9)', () => {
    const result = read({
      ...wrap([{ type: 'text', text: 'a', citations: null, input: null }, null]),
      id: null,
      stop_reason: null,
      usage: { input_tokens: null },
    });
    expect(result.content).toStrictEqual([{ type: 'text', text: 'a' }]);
    const { text, responseId, stopReason, usage } = result;
    expect([text, responseId, stopReason, usage]).toEqual(['a', undefined, undefined, undefined]);
  });

  test.each([
    ['a plain string (deviation 43)', 'Hello', 'Hello'],
    ['an empty string', '', ''],
    ['text in thinking tags, which stay (deviation 41)', '<thinking>hm</thinking>Hi', '<thinking>hm</thinking>Hi'],
    ['strings among blocks', ['a', { type: 'text', text: 'b' }], 'ab'],
    ['null', null, ''],
    ['no blocks, as a refusal has', [], ''],
  ])('has content that is %s', (_, content, expected) => {
    expect(read(wrap(content)).text).toBe(expected);
  });

  test.each([
    ['an array', [wrap('a')]],
    ['response', { response: wrap('a') }],
    ['message', { message: wrap('a') }],
    ['data', { data: wrap('a') }],
    ['nothing, without a type', { role: 'assistant', content: 'a' }],
  ])('is unwrapped from %s (deviations 19 and 20)', (_, json) => {
    expect(read(json).text).toBe('a');
  });

  test('has no total where input or output is unknown (deviation 34)', () => {
    expect(read({ ...wrap('a'), usage: { output_tokens: 3 } }).usage).toEqual({ outputTokens: 3 });
  });

  test('keeps the details of a refusal (deviation 36)', () => {
    const details = { type: 'refusal', category: 'bio' };
    const result = read({ ...wrap([]), stop_reason: 'refusal', stop_details: details });
    expect(result).toMatchObject({ stopReason: 'refusal', stopDetails: details });
  });

  test.each([
    ['an empty object', {}],
    ['an empty array', []],
    ['a reply of the other format', { candidates: [] }],
    ['a text', 'hello'],
    ['an error', { type: 'error', error: { type: 'api_error' } }],
  ])('is not %s, which is a bad reply', (_, json) => {
    expect(() => read(json)).toThrow(expect.objectContaining({ class: 'bad-reply', exitCode: 9 }));
  });
});

test('a later turn leaves out what an assistant turn may not hold', () => {
  const text = { type: 'text', text: 'a' };
  const call = { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } };
  const redacted = { type: 'redacted_thinking', data: 'x' };
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } };
  const cut = { ...call, input: '{"a":' };
  const cutServerCall = { type: 'server_tool_use', id: 't', name: 'f', input: '{"a":' };
  const blocks = [redacted, { ...text, text: '' }, text, image, call, cut, { ...call, id: undefined }, cutServerCall];
  expect(read(wrap(blocks)).content).toStrictEqual([redacted, text, call, { ...call, id: 'call_3' }]);
});
