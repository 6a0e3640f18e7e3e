import { describe, expect, test } from 'vitest';
import type { ReplyEvent } from '../../../../src/library/formats/events.ts';
import { content } from '../../../../src/library/formats/content/format.ts';
import { eventsOf, foldWhole } from '../accumulating.ts';

const read = (json: string) => foldWhole(content, JSON.parse(json));

/** What the parts of a reply say, in short. */
function partsOf(json: string): ReplyEvent[] {
  const aside = new Set(['start', 'candidate', 'facts']);
  return read(json).events.filter(({ type }) => !aside.has(type));
}

const candidate = 0;
const text = (value: string, thought = false) => ({ type: thought ? 'thinking' : 'text', text: value, candidate });
const blob = (data: string, mimeType?: string, draft = false) => ({ type: 'blob', mimeType, data, draft, candidate });
const call = (name: string, input: object, id?: string) => ({
  type: 'call',
  id,
  name,
  input,
  isWhole: true,
  candidate,
});

describe('a reply of the content format', () => {
  test('is read in every field', () => {
    const json = `{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"finishReason":"STOP",
      "finishMessage":"done","index":0,"safetyRatings":[{"category":"C","probability":"LOW"}]}],
      "promptFeedback":{"safetyRatings":[]},"modelVersion":"m-001","responseId":"r-1","turnToken":"x",
      "usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":20,"thoughtsTokenCount":3,"cachedContentTokenCount":2,
      "totalTokenCount":30,"promptTokensDetails":[],"serviceTier":"flex"}}`;
    const { events, result, error, progress } = read(json);
    expect(result).toMatchObject({
      role: 'model',
      text: 'Hi',
      candidates: [
        {
          index: 0,
          text: 'Hi',
          finishReason: 'STOP',
          finishMessage: 'done',
          safetyRatings: [{ category: 'C', probability: 'LOW' }],
        },
      ],
      content: [{ type: 'text', text: 'Hi' }],
      stopReason: 'STOP',
      promptFeedback: { safetyRatings: [] },
      usage: { inputTokens: 7, outputTokens: 20, thinkingTokens: 3, cachedInputTokens: 2, totalTokens: 30 },
      modelVersion: 'm-001',
      responseId: 'r-1',
      serviceTier: 'flex',
      complete: true,
    });
    expect(eventsOf(events, 'facts')).toMatchObject([{ facts: { stopReason: undefined } }]);
    expect([error, progress]).toStrictEqual([undefined, 'stopped']);
  });

  test('is read in snake case at every level (deviation 6)', () => {
    const json = `{"candidates":[{"content":{"parts":[{"inline_data":{"mime_type":"image/png","data":"AA-_"}},
      {"function_call":{"name":"f","args":{"some_key":1}}},{"executable_code":{"code":"1"},"thought_signature":"x"},{"video_metadata":{}}]},
      "finish_reason":"STOP","finish_message":"m","safety_ratings":[]}],
      "prompt_feedback":{"block_reason":"OTHER"},"model_version":"v","response_id":"r",
      "usage_metadata":{"prompt_token_count":1,"candidates_token_count":2,"total_token_count":3,
      "thoughts_token_count":4,"cached_content_token_count":5}}`;
    expect(partsOf(json)).toMatchObject([
      blob('AA-_', 'image/png'),
      call('f', { some_key: 1 }),
      { type: 'code', text: '\n\n```\n1\n```\n\n', candidate },
    ]);
    const { events, result } = read(json);
    expect(eventsOf(events, 'facts')).toMatchObject([{ facts: { stopReason: 'OTHER' } }]);
    expect(result).toMatchObject({
      candidates: [{ finishReason: 'STOP', finishMessage: 'm', safetyRatings: [] }],
      modelVersion: 'v',
      responseId: 'r',
      usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3, thinkingTokens: 4, cachedInputTokens: 5 },
    });
  });

  test('takes null for absent everywhere (deviation 9)', () => {
    const json = `{"candidates":[{"content":{"parts":[{"text":null,"inlineData":{"mimeType":null,"data":"AAAA"},
      "functionCall":null,"thought":null},{"text":"a","inlineData":null},{"text":null,"inlineData":null}],"role":null},
      "finishReason":null,"index":null,"safetyRatings":null},{"content":null}],"promptFeedback":null,
      "usageMetadata":{"promptTokenCount":null},"modelVersion":null}`;
    const { result } = read(json);
    expect(result.candidates.map(({ index, finishReason }) => [index, finishReason])).toStrictEqual([
      [0, undefined],
      [1, undefined],
    ]);
    expect(partsOf(json)).toEqual([blob('AAAA'), text('a')]);
    const { role, promptFeedback, usage, modelVersion } = result;
    expect([role, promptFeedback, usage, modelVersion]).toStrictEqual(Array.from({ length: 4 }, () => undefined));
  });

  test.each([
    ['no content', '{"candidates":[{"finishReason":"MODEL_ARMOR"}]}'],
    ['empty content', '{"candidates":[{"content":{},"finishReason":"SAFETY"}]}'],
    ['a role alone', '{"candidates":[{"content":{"role":"model"}}]}'],
    ['no parts', '{"candidates":[{"content":{"parts":[]}}]}'],
    ['parts that are no objects', '{"candidates":[{"content":{"parts":[null,"x",[1]]}}]}'],
    ['no candidates', '{"candidates":[]}'],
    ['a blocked prompt', '{"promptFeedback":{"blockReason":"SAFETY"}}'],
    ['usage alone', '{"usageMetadata":{}}'],
  ])('reads a reply with %s as one without parts (formats 2)', (_, json) => {
    expect(partsOf(json)).toStrictEqual([]);
    expect(read(json).result).toMatchObject({ text: '', content: [], images: [], toolCalls: [] });
  });

  test.each<[string, string, unknown[]]>([
    ['an empty part', '{}', []],
    ['empty text', '{"text":""}', [text('')]],
    ['a thought', '{"text":"hm","thought":true}', [text('hm', true)]],
    ['a draft image (deviation 14)', '{"inlineData":{"data":"AA"},"thought":true}', [blob('AA', undefined, true)]],
    ['a call without arguments', '{"functionCall":{"name":"f"}}', [call('f', {})]],
    ['a call with an id', '{"functionCall":{"id":"1","name":"f","args":{"a":1}}}', [call('f', { a: 1 }, '1')]],
    ['a hosted file', '{"fileData":{"fileUri":"https://x"}}', []],
    [
      'text beside an image',
      '{"text":"a","inlineData":{"mimeType":"image/PNG; x=1","data":"AA"}}',
      [text('a'), blob('AA', 'image/PNG; x=1')],
    ],
    ['empty text beside an image', '{"text":"","inlineData":{"data":"AA"}}', [text(''), blob('AA')]],
    ['an image without data', '{"inlineData":{"mimeType":"image/png"}}', []],
  ])('reads %s', (_, part, expected) => {
    expect(partsOf(`{"candidates":[{"content":{"parts":[${part}]}}]}`)).toEqual(expected);
  });

  test.each([
    ['base64url without padding (deviations 7 and 8)', 'image/png', 'iVBORw-_A'],
    ['a data URL (deviation 10)', 'image/png', 'data:image/png;base64,iVBORw=='],
    ['a type with parameters and capitals (deviation 12)', 'Image/PNG; x=1', 'AAAA'],
  ])('hands %s on as it came: the bytes are read where they are stored', (_, mimeType, data) => {
    const parts = JSON.stringify([{ inlineData: { mimeType, data } }]);
    expect(partsOf(`{"candidates":[{"content":{"parts":${parts}}}]}`)).toStrictEqual([blob(data, mimeType)]);
  });

  test('reads every part of every candidate (spec 2.2)', () => {
    const json = `{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}]}},{"index":5,"content":{"parts":[{"text":"c"}]}}]}`;
    expect(read(json).result.candidates.map(({ index, text }) => [index, text])).toStrictEqual([
      [0, 'ab'],
      [5, 'c'],
    ]);
  });

  test('unwraps a reply inside `response` (deviation 20)', () => {
    expect(partsOf('{"response":{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}}')).toStrictEqual([text('a')]);
  });

  test.each([
    ['an empty object', '{}'],
    ['an array without replies', '[]'],
    ['null', 'null'],
    ['a text', '"hello"'],
    ['a reply of the other format', '{"type":"message","role":"assistant","content":[]}'],
    ['an error', '{"error":{"code":400}}'],
    ['a wrapper around nothing', '{"response":{"x":1}}'],
  ])('refuses %s as a bad reply', (_, json) => {
    expect(() => read(json)).toThrow(expect.objectContaining({ class: 'bad-reply', exitCode: 9, billed: 'yes' }));
  });

  test('says what it found in place of a reply', () => {
    expect(() => read('{"id":"x","choices":[]}')).toThrow('it holds id, choices');
  });

  test('finds no reply in names that every object inherits', () => {
    expect(() => read('{"__proto__":{"candidates":[]}}')).toThrow(/not a reply/);
  });
});

test('the text of an answer is without its thoughts, and its thoughts without text', () => {
  const parts = [{ text: 'hm', thought: true }, { text: 'a' }, { inlineData: { data: 'A' } }, { text: 'b' }];
  const { result } = foldWhole(content, { candidates: [{ content: { parts } }] });
  expect([result.text, result.thinking]).toStrictEqual(['ab', 'hm']);
});

test.each<[string, object[], object[]]>([
  [
    'a text',
    [
      { text: 'hm', thought: true },
      { text: 'a', thought_signature: 's' },
    ],
    [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'a', signature: 's' },
    ],
  ],
  [
    'a text whose signature comes after it',
    [{ text: 'a' }, { text: '', thoughtSignature: 's' }],
    [{ type: 'text', text: 'a', signature: 's' }],
  ],
  [
    'a call',
    [{ functionCall: { id: 'c', name: 'f', args: { a: 1 } }, thoughtSignature: 's' }],
    [{ type: 'tool_use', id: 'c', name: 'f', input: { a: 1 }, signature: 's' }],
  ],
  [
    'a picture, which no later turn has',
    [{ text: 'a' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thoughtSignature: 's' }],
    [{ type: 'text', text: 'a' }],
  ],
])('the signature stays with %s', (_, parts, expected) => {
  const { result } = foldWhole(content, { candidates: [{ content: { parts } }] });
  expect(result.content).toStrictEqual(expected);
});
