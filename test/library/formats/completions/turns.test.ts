import { describe, expect, test } from 'vitest';
import type { PlainRequest } from '../../../../src/library/formats/plain-request.ts';
import { completions } from '../../../../src/library/formats/completions/format.ts';
import type { JsonObject, JsonValue } from '../../../../src/library/json.ts';
import { bodyOf, local, said, user } from './asking.ts';

const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AQID' } };
const call = { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } };
const called = { type: 'function', function: { name: 'f', arguments: '{"a":1}' }, id: 'c1' };
const details = [{ type: 'reasoning.text', text: 'hm', signature: 's', index: 0 }];

const turns: [string, NonNullable<PlainRequest['turns']>, JsonValue[]][] = [
  ['a text', [{ role: 'user', content: 'a' }], [user('a')]],
  [
    'nothing for a turn of nothing',
    [
      { role: 'user', content: '' },
      { role: 'assistant', content: [] },
    ],
    [],
  ],
  [
    'texts and pictures as parts',
    [{ role: 'user', content: [said('a'), picture, said('b')] }],
    [user([said('a'), { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } }, said('b')])],
  ],
  [
    'what is only linked',
    [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'url', url: 'https://h/a.png' } },
          { type: 'document', title: 'a.pdf', source: { type: 'url', url: 'https://h/a.pdf' } },
          { type: 'document', source: { type: 'file', file_id: 'file-1' } },
        ],
      },
    ],
    [
      user([
        { type: 'image_url', image_url: { url: 'https://h/a.png' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'https://h/a.pdf' } },
        { type: 'file', file: { file_id: 'file-1' } },
      ]),
    ],
  ],
  [
    'a text document under its name, as a text alone',
    [{ role: 'user', content: [{ type: 'document', title: 'a.txt', source: { type: 'text', data: 'w' } }] }],
    [user('a.txt:\nw')],
  ],
  [
    'an answer as one text',
    [{ role: 'assistant', content: [said('a'), said('b')] }],
    [{ role: 'assistant', content: 'ab' }],
  ],
  [
    'a call, its input as a string',
    [{ role: 'assistant', content: [said('a'), call] }],
    [{ role: 'assistant', content: 'a', tool_calls: [called] }],
  ],
  [
    'a call of a tool of free text, in its own form where its service is asked',
    [{ role: 'assistant', service: 'local', content: [{ ...call, input: { input: 'x' }, signature: 'custom' }] }],
    [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ type: 'custom', custom: { name: 'f', input: 'x' }, id: 'c1' }],
      },
    ],
  ],
  [
    'a call alone, and one whose input is not JSON',
    [{ role: 'assistant', content: [call, { ...call, id: 'c2', input: '{"a' }] }],
    [
      {
        role: 'assistant',
        content: null,
        tool_calls: [called, { type: 'function', function: { name: 'f', arguments: '{"a' }, id: 'c2' }],
      },
    ],
  ],
  [
    'each result as a message of its own in front of what is said with it, its pictures told of',
    [
      {
        role: 'user',
        content: [
          said('go on'),
          { type: 'tool_result', tool_use_id: 'c1', content: [said('one'), picture] },
          { type: 'tool_result', tool_use_id: 'c2', content: 'two', is_error: true },
          { type: 'tool_result', tool_use_id: 'c3' },
        ],
      },
    ],
    [
      { role: 'tool', content: 'one\n[image: image/png]', tool_call_id: 'c1' },
      { role: 'tool', content: 'two', tool_call_id: 'c2' },
      { role: 'tool', content: '', tool_call_id: 'c3' },
      user('go on'),
    ],
  ],
  [
    'thinking that another service wrote not at all',
    [
      {
        role: 'assistant',
        service: 'anthropic',
        content: [{ type: 'thinking', thinking: 'hm', signature: JSON.stringify(details) }, said('a')],
      },
    ],
    [{ role: 'assistant', content: 'a' }],
  ],
  [
    'thinking of the service itself as the details that it came with',
    [
      {
        role: 'assistant',
        service: 'local',
        content: [{ type: 'thinking', thinking: 'hm', signature: JSON.stringify(details) }, call],
      },
    ],
    [{ role: 'assistant', content: null, reasoning_details: details, tool_calls: [called] }],
  ],
  [
    'thinking of the service itself in the field that it came in',
    [
      {
        role: 'assistant',
        service: 'local',
        content: [{ type: 'thinking', thinking: 'hm', signature: 'reasoning_content' }, said('a')],
      },
    ],
    [{ role: 'assistant', content: 'a', reasoning_content: 'hm' }],
  ],
  ...(
    [
      ['reasoning', { content: 'a', reasoning: 'hm' }],
      ['<think>', { content: '<think>hm</think>\n\na' }],
      ['thinking', { content: [{ type: 'thinking', thinking: [said('hm')] }, said('a')] }],
    ] as [string, JsonObject][]
  ).map(([signature, fields]): (typeof turns)[number] => {
    const thinking = { type: 'thinking', thinking: 'hm', signature };
    return [
      `thinking that came as ${signature} in the same form with calls alone, to the service itself alone`,
      [
        { role: 'assistant', service: 'local', content: [thinking, said('a'), call] },
        { role: 'assistant', service: 'local', content: [thinking, said('a')] },
        { role: 'assistant', service: 'other', content: [thinking, said('a'), call] },
      ],
      [
        { role: 'assistant', ...fields, tool_calls: [called] },
        { role: 'assistant', content: 'a' },
        { role: 'assistant', content: 'a', tool_calls: [called] },
      ],
    ];
  }),
  [
    'thinking in the tags in front of a call alone',
    [
      {
        role: 'assistant',
        service: 'local',
        content: [{ type: 'thinking', thinking: 'hm', signature: '<think>' }, call],
      },
    ],
    [{ role: 'assistant', content: '<think>hm</think>', tool_calls: [called] }],
  ],
  [
    'the field of DeepSeek with every call, once a message has it',
    [
      { role: 'assistant', content: [call] },
      { role: 'assistant', service: 'other', content: [said('a')] },
      {
        role: 'assistant',
        service: 'local',
        content: [{ type: 'thinking', thinking: 'hm', signature: 'reasoning_content' }, call],
      },
      { role: 'assistant', service: 'local', content: [call] },
    ],
    [
      { role: 'assistant', content: null, reasoning_content: '', tool_calls: [called] },
      { role: 'assistant', content: 'a' },
      { role: 'assistant', content: null, reasoning_content: 'hm', tool_calls: [called] },
      { role: 'assistant', content: null, reasoning_content: '', tool_calls: [called] },
    ],
  ],
  [
    'no thinking that nothing signs, or something else does',
    [
      {
        role: 'assistant',
        service: 'local',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'thinking', thinking: 'hm', signature: 'EoQD' },
          { type: 'thinking', thinking: 'hm', signature: '"x"' },
          { type: 'server_tool_use', name: 'x' },
          said('a'),
        ],
      },
    ],
    [{ role: 'assistant', content: 'a' }],
  ],
];

describe('earlier turns', () => {
  test.each(turns)('send %s', (_, given, messages) => {
    expect(bodyOf({ turns: given })).toStrictEqual({ model: 'm', messages });
  });

  test('earlier turns follow the system text; results of tools and the prompt come last', () => {
    const results = [{ type: 'tool_result', tool_use_id: 'c1', content: 'r' }];
    expect(bodyOf({ turns: [{ role: 'user', content: 'a' }], system: 's', results, prompt: 'b' })).toStrictEqual({
      model: 'm',
      messages: [
        { role: 'system', content: 's' },
        user('a'),
        { role: 'tool', content: 'r', tool_call_id: 'c1' },
        user('b'),
      ],
    });
  });

  test('are added to a request, and a choice that would force a call again goes', () => {
    const body = { model: 'm', messages: [user('a')], tool_choice: 'required' };
    const added = completions.append(body, [{ role: 'assistant', content: [call] }], local);
    expect(added).toStrictEqual({
      model: 'm',
      messages: [user('a'), { role: 'assistant', content: null, tool_calls: [called] }],
    });
    expect(completions.append({ tool_choice: 'auto' }, [], local)).toStrictEqual({ tool_choice: 'auto', messages: [] });
  });
});
