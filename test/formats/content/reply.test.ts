import { describe, expect, test } from 'vitest';
import { contentText, contentThoughts, decodeContentReply } from '../../../src/formats/content/reply.ts';
import type { ContentPart } from '../../../src/formats/content/types.ts';

/** What a test says of a reply, in short. */
function partsOf(json: string): ContentPart[] {
  return decodeContentReply(JSON.parse(json)).candidates.flatMap(({ parts }) => parts);
}

const text = (value: string, thought = false) => ({ kind: 'text', text: value, thought });

describe('decodeContentReply', () => {
  test('reads every field of a reply', () => {
    const json = `{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"finishReason":"STOP",
      "finishMessage":"done","index":0,"safetyRatings":[{"category":"C","probability":"LOW"}]}],
      "promptFeedback":{"safetyRatings":[]},"modelVersion":"m-001","responseId":"r-1","turnToken":"x",
      "usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":20,"thoughtsTokenCount":3,"cachedContentTokenCount":2,
      "totalTokenCount":30,"promptTokensDetails":[]}}`;
    expect(decodeContentReply(JSON.parse(json))).toStrictEqual({
      candidates: [
        {
          index: 0,
          role: 'model',
          parts: [text('Hi')],
          finishReason: 'STOP',
          finishMessage: 'done',
          safetyRatings: [{ category: 'C', probability: 'LOW' }],
        },
      ],
      promptFeedback: { safetyRatings: [] },
      blockReason: undefined,
      usage: { inputTokens: 7, outputTokens: 20, thinkingTokens: 3, cachedInputTokens: 2, totalTokens: 30 },
      modelVersion: 'm-001',
      responseId: 'r-1',
    });
  });

  test('reads snake case at every level (wire 6 #6)', () => {
    const json = `{"candidates":[{"content":{"parts":[{"inline_data":{"mime_type":"image/png","data":"AA-_"}},
      {"function_call":{"name":"f","args":{"some_key":1}}},{"executable_code":{"code":"1"},"thought_signature":"x"},{"video_metadata":{}}]},
      "finish_reason":"STOP","finish_message":"m","safety_ratings":[]}],
      "prompt_feedback":{"block_reason":"OTHER"},"model_version":"v","response_id":"r",
      "usage_metadata":{"prompt_token_count":1,"candidates_token_count":2,"total_token_count":3,
      "thoughts_token_count":4,"cached_content_token_count":5}}`;
    expect(decodeContentReply(JSON.parse(json))).toMatchObject({
      candidates: [
        {
          parts: [
            { kind: 'blob', mimeType: 'image/png', data: 'AA-_', thought: false },
            { kind: 'call', name: 'f', input: { some_key: 1 } },
            { kind: 'code', key: 'executableCode', markdown: '\n\n```\n1\n```\n\n' },
            { kind: 'other', keys: ['videoMetadata'] },
          ],
          finishReason: 'STOP',
          finishMessage: 'm',
          safetyRatings: [],
        },
      ],
      blockReason: 'OTHER',
      modelVersion: 'v',
      responseId: 'r',
      usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3, thinkingTokens: 4, cachedInputTokens: 5 },
    });
  });

  test('takes null for absent everywhere (wire 6 #9)', () => {
    const json = `{"candidates":[{"content":{"parts":[{"text":null,"inlineData":{"mimeType":null,"data":"AAAA"},
      "functionCall":null,"thought":null},{"text":"a","inlineData":null},{"text":null,"inlineData":null}],"role":null},
      "finishReason":null,"index":null,"safetyRatings":null},{"content":null}],"promptFeedback":null,
      "usageMetadata":{"promptTokenCount":null},"modelVersion":null}`;
    const reply = decodeContentReply(JSON.parse(json));
    expect(reply.candidates.map(({ index, role, finishReason }) => [index, role, finishReason])).toStrictEqual([
      [0, undefined, undefined],
      [1, undefined, undefined],
    ]);
    expect(reply.candidates[0]?.parts).toStrictEqual([
      { kind: 'blob', mimeType: undefined, data: 'AAAA', thought: false },
      text('a'),
      { kind: 'other', keys: [] },
    ]);
    expect([reply.promptFeedback, reply.usage, reply.modelVersion]).toStrictEqual([undefined, undefined, undefined]);
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
  ])('reads a reply with %s as one without parts (wire 2)', (_, json) => {
    expect(partsOf(json)).toStrictEqual([]);
  });

  test.each<[string, string, unknown[]]>([
    ['an empty part', '{}', [{ kind: 'other', keys: [] }]],
    ['empty text', '{"text":""}', [text('')]],
    ['a thought', '{"text":"hm","thought":true}', [text('hm', true)]],
    [
      'a draft image (wire 6 #14)',
      '{"inlineData":{"data":"AA"},"thought":true}',
      [{ kind: 'blob', mimeType: undefined, data: 'AA', thought: true }],
    ],
    [
      'a call without arguments',
      '{"functionCall":{"name":"f"}}',
      [{ kind: 'call', id: undefined, name: 'f', input: {} }],
    ],
    [
      'a call with an id',
      '{"functionCall":{"id":"1","name":"f","args":{"a":1}}}',
      [{ kind: 'call', id: '1', name: 'f', input: { a: 1 } }],
    ],
    ['a hosted file', '{"fileData":{"fileUri":"https://x"}}', [{ kind: 'other', keys: ['fileData'] }]],
    [
      'text beside an image',
      '{"text":"a","inlineData":{"mimeType":"image/PNG; x=1","data":"AA"}}',
      [text('a'), { kind: 'blob', mimeType: 'image/PNG; x=1', data: 'AA', thought: false }],
    ],
    [
      'empty text beside an image',
      '{"text":"","inlineData":{"data":"AA"}}',
      [{ kind: 'blob', mimeType: undefined, data: 'AA', thought: false }],
    ],
    ['an image without data', '{"inlineData":{"mimeType":"image/png"}}', [{ kind: 'other', keys: ['inlineData'] }]],
  ])('reads %s', (_, part, expected) => {
    expect(partsOf(`{"candidates":[{"content":{"parts":[${part}]}}]}`)).toStrictEqual(expected);
  });

  test.each([
    ['base64url without padding (wire 6 #7, #8)', 'image/png', 'iVBORw-_A'],
    ['a data URL (wire 6 #10)', 'image/png', 'data:image/png;base64,iVBORw=='],
    ['a type with parameters and capitals (wire 6 #12)', 'Image/PNG; x=1', 'AAAA'],
  ])('hands %s on as it came: the bytes are read where they are stored', (_, mimeType, data) => {
    const reply = decodeContentReply({ candidates: [{ content: { parts: [{ inlineData: { mimeType, data } }] } }] });
    expect(reply.candidates[0]?.parts).toStrictEqual([{ kind: 'blob', mimeType, data, thought: false }]);
  });

  test('reads every part of every candidate (spec 2.2)', () => {
    const json = `{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}]}},{"index":5,"content":{"parts":[{"text":"c"}]}}]}`;
    const reply = decodeContentReply(JSON.parse(json));
    expect(reply.candidates.map((candidate) => [candidate.index, contentText(candidate)])).toStrictEqual([
      [0, 'ab'],
      [5, 'c'],
    ]);
  });

  test('unwraps a reply inside `response` (wire 6 #20)', () => {
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
    const decode = () => decodeContentReply(JSON.parse(json));
    expect(decode).toThrow(expect.objectContaining({ class: 'bad-reply', exitCode: 9, billed: 'yes' }));
  });

  test('says what it found in place of a reply', () => {
    expect(() => decodeContentReply({ id: 'x', choices: [] })).toThrow('it holds id, choices');
  });

  test('finds no reply in names that every object inherits', () => {
    expect(() => decodeContentReply(JSON.parse('{"__proto__":{"candidates":[]}}'))).toThrow(/not a reply/);
  });
});

test('contentText leaves thoughts out and contentThoughts leaves text out', () => {
  const [candidate] = decodeContentReply({
    candidates: [
      {
        content: {
          parts: [{ text: 'hm', thought: true }, { text: 'a' }, { inlineData: { data: 'A' } }, { text: 'b' }],
        },
      },
    ],
  }).candidates;
  expect(candidate && [contentText(candidate), contentThoughts(candidate)]).toStrictEqual(['ab', 'hm']);
});
