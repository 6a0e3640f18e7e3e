import { describe, expect, test } from 'vitest';
import { createCompletionsDecoder } from '../../../../src/library/formats/completions/reply.ts';
import type { ReplyEvent } from '../../../../src/library/formats/events.ts';

function read(json: unknown): ReplyEvent[] {
  return createCompletionsDecoder().whole(json);
}

/** A reply with one candidate; without id and model, which are not looked at here. */
function reply(message: object, more: object = {}): object {
  return { object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop', ...more }] };
}

const ended = (reason: string, message?: string): ReplyEvent => ({ type: 'candidate', reason, message, candidate: 0 });
const stop = ended('stop');
const text = (words: string): ReplyEvent => ({ type: 'text', text: words, candidate: 0 });
const thought = (words: string): ReplyEvent => ({ type: 'thinking', text: words, index: 0, candidate: 0 });
const thinkingEnd: ReplyEvent = { type: 'block-stop', index: 0 };

test('a reply is read as the documents of OpenAI show it', () => {
  const decoder = createCompletionsDecoder();
  const events = decoder.whole({
    id: 'chatcmpl-B9',
    object: 'chat.completion',
    created: 1741569952,
    model: 'gpt-5-mini-2025-08-07',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello!', refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      prompt_tokens: 19,
      completion_tokens: 10,
      total_tokens: 29,
      prompt_tokens_details: { cached_tokens: 3, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 4, audio_tokens: 0, accepted_prediction_tokens: 0 },
    },
    service_tier: 'default',
  });
  expect(events).toStrictEqual([
    { type: 'start', id: 'chatcmpl-B9', model: 'gpt-5-mini-2025-08-07' },
    { type: 'facts', facts: { serviceTier: 'default' } },
    { type: 'candidate', role: 'assistant', candidate: 0 },
    text('Hello!'),
    stop,
    {
      type: 'facts',
      facts: { usage: { inputTokens: 19, outputTokens: 10, thinkingTokens: 4, cachedInputTokens: 3, totalTokens: 29 } },
    },
  ]);
  expect(decoder.progress).toBe('stopped');
});

const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
/** A call whose arguments came as a text; the block of the first has the number 1. */
const calls = (...list: [id: string | undefined, name: string, json: string][]): ReplyEvent[] => [
  ...list.flatMap(([id, name, json], at): ReplyEvent[] => [
    { type: 'block-start', raw: { type: 'tool_use', ...(id !== undefined && { id }), name, input: {} }, index: at + 1 },
    ...(json === '' ? [] : [{ type: 'tool-input', json, index: at + 1 } as const]),
  ]),
  ...list.map((_, at): ReplyEvent => ({ type: 'block-stop', index: at + 1 })),
];
/** Where thinking came. */
const from = (signature: string): ReplyEvent => ({ type: 'signature', signature, index: 0 });
const replies: [string, object, ReplyEvent[]][] = [
  ['content that is null', reply({ content: null }), [stop]],
  ['no message', { choices: [{ finish_reason: 'stop' }] }, [stop]],
  [
    'content in parts, a string among them',
    reply({ content: [{ type: 'text', text: 'a' }, 'b', { type: 'reference', reference_ids: [1] }, null, 7] }),
    [text('a'), text('b'), stop],
  ],
  [
    'thinking in parts, as Mistral sends it',
    reply({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'h' }, { type: 'text', text: 'm' }, null] },
        { type: 'thinking', thinking: 'so' },
        { type: 'text', text: 'a' },
      ],
    }),
    [thought('hm'), thought('so'), text('a'), from('thinking'), thinkingEnd, stop],
  ],
  [
    'thinking as DeepSeek sends it',
    reply({ content: 'a', reasoning_content: 'hm' }),
    [thought('hm'), text('a'), { type: 'signature', signature: 'reasoning_content', index: 0 }, thinkingEnd, stop],
  ],
  [
    'thinking as Groq sends it',
    reply({ content: 'a', reasoning: 'hm' }),
    [thought('hm'), text('a'), from('reasoning'), thinkingEnd, stop],
  ],
  [
    'thinking under two names, once',
    reply({ content: 'a', reasoning: 'hm', reasoning_content: '' }),
    [thought('hm'), text('a'), from('reasoning'), thinkingEnd, stop],
  ],
  [
    'thinking as OpenRouter sends it, its details kept',
    reply({
      content: 'a',
      reasoning: 'hm',
      reasoning_details: [
        { type: 'reasoning.text', text: 'hm', signature: 's', format: 'anthropic-claude-v1', index: 0, id: null },
        { type: 'reasoning.text', text: '!', index: 0 },
      ],
    }),
    [
      thought('hm'),
      text('a'),
      {
        type: 'signature',
        signature:
          '[{"type":"reasoning.text","text":"hm","signature":"s","format":"anthropic-claude-v1","index":0},{"type":"reasoning.text","text":"!","index":0}]',
        index: 0,
      },
      thinkingEnd,
      stop,
    ],
  ],
  [
    'thinking that stands in details alone, or is encrypted',
    reply({ content: 'a', reasoning_details: [{ type: 'reasoning.summary', summary: 'hm' }] }),
    [
      thought('hm'),
      text('a'),
      { type: 'signature', signature: '[{"type":"reasoning.summary","summary":"hm"}]', index: 0 },
      thinkingEnd,
      stop,
    ],
  ],
  [
    'encrypted thinking',
    reply({ content: 'a', reasoning_details: [{ type: 'reasoning.encrypted', data: 'eA==' }] }),
    [
      text('a'),
      { type: 'block-start', raw: { type: 'thinking', thinking: '' }, index: 0 },
      { type: 'signature', signature: '[{"type":"reasoning.encrypted","data":"eA=="}]', index: 0 },
      thinkingEnd,
      stop,
    ],
  ],
  ['a refusal', reply({ content: null, refusal: 'I can not' }), [ended('refusal', 'I can not')]],
  ['a refusal in parts', reply({ content: [{ type: 'refusal', refusal: 'No' }] }), [ended('refusal', 'No')]],
  ['what was said before a refusal', reply({ content: 'Well', refusal: 'No' }), [text('Well'), ended('refusal', 'No')]],
  [
    'calls',
    reply({ content: null, tool_calls: [call] }, { finish_reason: 'tool_calls' }),
    [...calls(['c1', 'f', '{"a":1}']), ended('tool_calls')],
  ],
  [
    'a call of a tool of free text',
    reply({ tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'patch', input: '4 + 4' } }] }),
    [
      { type: 'block-start', raw: { type: 'tool_use', id: 'c1', name: 'patch', input: {} }, index: 1 },
      { type: 'tool-input', json: '{"input":"4 + 4', index: 1 },
      { type: 'tool-input', json: '{"input":"4 + 4"}', index: 1, isAll: true },
      { type: 'signature', signature: 'custom', index: 1 },
      { type: 'block-stop', index: 1 },
      stop,
    ],
  ],
  [
    'a call whose arguments are an object',
    reply({ tool_calls: [{ ...call, function: { name: 'f', arguments: { a: 1 } } }] }),
    [...calls(['c1', 'f', '{"a":1}']), stop],
  ],
  [
    'calls without arguments, and with an id that another has',
    reply({
      tool_calls: [
        { id: 'c1', function: { name: 'f', arguments: '' } },
        { id: 'c2', function: { name: 'g' } },
        { id: 'c2', function: { name: 'g', arguments: '{}' } },
      ],
    }),
    [...calls(['c1', 'f', ''], ['c2', 'g', ''], ['c2', 'g', '{}']), stop],
  ],
  [
    'a call whose arguments are not JSON',
    reply({ tool_calls: [{ id: 'c1', function: { name: 'f', arguments: '{"a' } }] }),
    [...calls(['c1', 'f', '{"a']), stop],
  ],
  [
    'the function call of older servers',
    reply({ content: null, function_call: { name: 'f', arguments: '{"a":1}' } }, { finish_reason: 'function_call' }),
    [...calls([undefined, 'f', '{"a":1}']), ended('function_call')],
  ],
  ['calls that are null', reply({ content: 'a', tool_calls: null, function_call: null }), [text('a'), stop]],
  [
    'a picture beside the text',
    reply({
      content: 'a',
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' }, index: 0 }],
    }),
    [text('a'), { type: 'blob', mimeType: 'image/png', data: 'iVBO', candidate: 0 }, stop],
  ],
  [
    'pictures in every spelling',
    reply({
      images: [
        { image_url: 'DATA:image/JPEG;charset=x;base64,/9j/' },
        { url: 'data:;base64,AA==' },
        'data:image/webp;base64,UklG',
        { type: 'image_url', imageUrl: { url: 'data:image/gif;base64,R0lG' } },
        { image_url: { url: '' } },
        null,
      ],
    }),
    [
      { type: 'blob', mimeType: 'image/jpeg', data: '/9j/', candidate: 0 },
      { type: 'blob', mimeType: undefined, data: 'AA==', candidate: 0 },
      { type: 'blob', mimeType: 'image/webp', data: 'UklG', candidate: 0 },
      { type: 'blob', mimeType: 'image/gif', data: 'R0lG', candidate: 0 },
      stop,
    ],
  ],
  [
    'a picture that is only linked, as a link',
    reply({ images: [{ image_url: { url: 'https://h/a.png' } }] }),
    [text('![image](https://h/a.png)'), stop],
  ],
  [
    'a picture that is linked beside an empty field',
    reply({ images: [{ image_url: { url: '' }, url: 'https://h/a.png' }] }),
    [text('![image](https://h/a.png)'), stop],
  ],
  [
    'a picture among the parts of the content',
    reply({ content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }] }),
    [{ type: 'blob', mimeType: 'image/png', data: 'iVBO', candidate: 0 }, stop],
  ],
  [
    'spoken words, and what they say',
    reply({ content: null, audio: { id: 'a1', data: 'AAAA', transcript: 'Hello', expires_at: 1 } }),
    [text('Hello'), { type: 'blob', mimeType: 'audio/pcm;rate=24000', data: 'AAAA', candidate: 0 }, stop],
  ],
  [
    'the sources of an answer',
    reply({ content: 'a', annotations: [{ type: 'url_citation', url_citation: { url: 'https://h' } }, null] }),
    [
      text('a'),
      { type: 'citation', citation: { type: 'url_citation', url_citation: { url: 'https://h' } } },
      {
        type: 'source',
        source: { kind: 'web', url: 'https://h', title: undefined, snippet: undefined, places: [] },
        index: undefined,
      },
      stop,
    ],
  ],
  [
    'the text of plain completions',
    { choices: [{ text: 'a', index: 0, finish_reason: 'length' }] },
    [text('a'), ended('length')],
  ],
  ['a reply in a response', { response: reply({ content: 'a' }) }, [text('a'), stop]],
  ['a reply in a list', [reply({ content: 'a' })], [text('a'), stop]],
  [
    'chunks in a list',
    [
      { choices: [{ index: 0, delta: { content: 'a' } }] },
      { choices: [{ index: 0, delta: { content: 'b' }, finish_reason: 'stop' }] },
      { choices: [], usage: { prompt_tokens: 1 } },
    ].map((one) => ({ id: '', ...one })),
    [
      text('a'),
      text('b'),
      stop,
      {
        type: 'facts',
        facts: {
          usage: {
            inputTokens: 1,
            outputTokens: undefined,
            thinkingTokens: undefined,
            cachedInputTokens: undefined,
            totalTokens: undefined,
          },
        },
      },
    ],
  ],
  ['no reason', { choices: [{ message: { content: 'a' }, finish_reason: null }] }, [text('a')]],
  [
    'reasons that nobody knows',
    reply({ content: 'a' }, { finish_reason: 'PROHIBITED' }),
    [text('a'), ended('PROHIBITED')],
  ],
  ['no candidate at all', { choices: [] }, []],
];

describe('reads', () => {
  test.each(replies)('%s', (_, json, expected) => {
    expect(read(json)).toStrictEqual(expected);
  });

  test('each candidate, distinguished by its number or by its place', () => {
    const choices = [
      { message: { role: 'assistant', content: 'a', refusal: null }, finish_reason: 'stop' },
      { message: { content: null, refusal: 'No', tool_calls: [call], reasoning: 'hm' }, finish_reason: 'stop' },
      { index: 7, message: { content: 'c', images: [{ url: 'data:image/png;base64,iVBO' }] }, finish_reason: 'length' },
    ];
    expect(read({ choices })).toStrictEqual([
      { type: 'candidate', role: 'assistant', candidate: 0 },
      text('a'),
      stop,
      { type: 'thinking', text: 'hm', index: undefined, candidate: 1 },
      { type: 'candidate', reason: 'refusal', message: 'No', candidate: 1 },
      { type: 'text', text: 'c', candidate: 7 },
      { type: 'blob', mimeType: 'image/png', data: 'iVBO', candidate: 7 },
      { type: 'candidate', reason: 'length', message: undefined, candidate: 7 },
      { type: 'call', id: 'c1', name: 'f', input: { a: 1 }, isWhole: true, candidate: 1 },
    ]);
  });

  test('an error of a candidate after its events', () => {
    const error = { code: 502, message: 'Upstream broke' };
    const events = read(reply({ content: 'Hal' }, { finish_reason: 'error', error }));
    expect(events.map(({ type }) => type)).toStrictEqual(['text', 'candidate', 'broken']);
    expect(events.at(-1)).toMatchObject({
      error: { class: 'gateway', message: 'the gateway reported an error: Upstream broke' },
    });
  });
});
