import { describe, expect, test } from 'vitest';
import { decodeMessage, messageText, replayableContent } from '../../../src/formats/messages/reply.ts';

const wrap = (content: unknown) => ({ type: 'message', role: 'assistant', content });

describe('decodeMessage', () => {
  test('reads every field of a reply', () => {
    const json = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello"}],
      "stop_reason":"stop_sequence","stop_sequence":"END","stop_details":null,
      "usage":{"input_tokens":12,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":30,
      "output_tokens_details":{"thinking_tokens":4},"service_tier":"standard"}}`;
    expect(decodeMessage(JSON.parse(json))).toStrictEqual({
      id: 'msg_1',
      role: 'assistant',
      model: 'm',
      blocks: [{ kind: 'text', text: 'Hello', raw: { type: 'text', text: 'Hello' } }],
      stopReason: 'stop_sequence',
      stopSequence: 'END',
      stopDetails: undefined,
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
  });

  test.each<[string, object, object]>([
    ['thinking', { type: 'thinking', thinking: 'hm', signature: 's' }, { kind: 'thinking', text: 'hm' }],
    ['thinking that is not shown', { type: 'thinking', thinking: '', signature: 's' }, { kind: 'thinking', text: '' }],
    ['redacted thinking', { type: 'redacted_thinking', data: 'x' }, { kind: 'other', type: 'redacted_thinking' }],
    [
      'a call',
      { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
      { kind: 'call', id: 't', name: 'f', input: { a: 1 } },
    ],
    [
      'a tool of the server',
      { type: 'server_tool_use', id: 't', name: 'f', input: {} },
      { kind: 'other', type: 'server_tool_use' },
    ],
    ['a kind that nobody knows', { type: 'hologram', x: 1 }, { kind: 'other', type: 'hologram' }],
    ['a block without a type', { x: 1 }, { kind: 'other', type: '' }],
    ['a linked image', { type: 'image', source: { type: 'url', url: 'u' } }, { kind: 'other', type: 'image' }],
    [
      'an image block (wire 6 #5)',
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } },
      { kind: 'blob', mimeType: 'image/png', data: 'AA' },
    ],
    [
      'text with citations',
      { type: 'text', text: 'a', citations: [{ type: 'char_location' }] },
      { kind: 'text', text: 'a' },
    ],
  ])('reads %s and keeps it for a later turn', (_, raw, expected) => {
    expect(decodeMessage(wrap([raw])).blocks).toStrictEqual([{ ...expected, raw }]);
  });

  test('gives a call without input an empty one, as a later turn needs it', () => {
    expect(decodeMessage(wrap([{ type: 'tool_use', id: 't', name: 'f', input: null }])).blocks).toStrictEqual([
      { kind: 'call', id: 't', name: 'f', input: {}, raw: { type: 'tool_use', id: 't', name: 'f', input: {} } },
    ]);
  });

  test('takes null for absent, also in what goes back (wire 6 #9)', () => {
    const reply = decodeMessage({
      ...wrap([{ type: 'text', text: 'a', citations: null, input: null }, null]),
      id: null,
      stop_reason: null,
      usage: { input_tokens: null },
    });
    expect(reply.blocks).toStrictEqual([{ kind: 'text', text: 'a', raw: { type: 'text', text: 'a' } }]);
    expect(reply).toMatchObject({ id: undefined, stopReason: undefined, usage: undefined, complete: false });
  });

  test.each([
    ['a plain string (wire 6 #43)', 'Hello', 'Hello'],
    ['an empty string', '', ''],
    ['text in thinking tags, which stay (wire 6 #41)', '<thinking>hm</thinking>Hi', '<thinking>hm</thinking>Hi'],
    ['strings among blocks', ['a', { type: 'text', text: 'b' }], 'ab'],
    ['null', null, ''],
    ['no blocks, as a refusal has', [], ''],
  ])('reads content that is %s', (_, content, expected) => {
    expect(messageText(decodeMessage(wrap(content)))).toBe(expected);
  });

  test.each([
    ['an array', [wrap('a')]],
    ['response', { response: wrap('a') }],
    ['message', { message: wrap('a') }],
    ['data', { data: wrap('a') }],
    ['nothing, without a type', { role: 'assistant', content: 'a' }],
  ])('unwraps a message in %s (wire 6 #19, #20)', (_, json) => {
    expect(messageText(decodeMessage(json))).toBe('a');
  });

  test('has no total where input or output is unknown (wire 6 #34)', () => {
    expect(decodeMessage({ ...wrap('a'), usage: { output_tokens: 3 } }).usage).toStrictEqual({
      inputTokens: undefined,
      outputTokens: 3,
      thinkingTokens: undefined,
      cachedInputTokens: undefined,
      totalTokens: undefined,
    });
  });

  test('keeps the details of a refusal (wire 6 #36)', () => {
    const details = { type: 'refusal', category: 'bio' };
    const reply = decodeMessage({ ...wrap([]), stop_reason: 'refusal', stop_details: details });
    expect(reply).toMatchObject({ stopReason: 'refusal', stopDetails: details, complete: true });
  });

  test.each([
    ['an empty object', {}],
    ['an empty array', []],
    ['a reply of the other format', { candidates: [] }],
    ['a text', 'hello'],
    ['an error', { type: 'error', error: { type: 'api_error' } }],
  ])('refuses %s as a bad reply', (_, json) => {
    expect(() => decodeMessage(json)).toThrow(expect.objectContaining({ class: 'bad-reply', exitCode: 9 }));
  });
});

test('replayableContent leaves out what an assistant turn may not hold', () => {
  const text = { type: 'text', text: 'a' };
  const call = { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } };
  const redacted = { type: 'redacted_thinking', data: 'x' };
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } };
  const cut = { ...call, input: '{"a":' };
  const cutServerCall = { type: 'server_tool_use', id: 't', name: 'f', input: '{"a":' };
  const reply = decodeMessage(wrap([redacted, { ...text, text: '' }, text, image, call, cut, cutServerCall]));
  expect(replayableContent(reply)).toStrictEqual([redacted, text, call]);
});
