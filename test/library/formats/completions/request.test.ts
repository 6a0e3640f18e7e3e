import { describe, expect, test } from 'vitest';
import type { PlainRequest } from '../../../../src/library/formats/plain-request.ts';
import { completions } from '../../../../src/library/formats/completions/format.ts';
import type { JsonObject, JsonValue } from '../../../../src/library/json.ts';
import type { Body } from '../../../../src/library/body.ts';
import { base, bodyOf, data, local, openai, said, user } from './asking.ts';

const chats: [string, Partial<PlainRequest>, JsonObject][] = [
  ['the model alone', {}, { model: 'm' }],
  ['a prompt as a string', { prompt: 'Hi' }, { model: 'm', messages: [user('Hi')] }],
  [
    'a system text in front of all',
    { prompt: 'Hi', system: 'Be brief' },
    { model: 'm', messages: [{ role: 'system', content: 'Be brief' }, user('Hi')] },
  ],
  [
    'the messages of a body in front of the prompt',
    { prompt: 'Hi', body: { messages: [user('a')], top_k: 3 } },
    { messages: [user('a'), user('Hi')], top_k: 3, model: 'm' },
  ],
  [
    'a system text in place of that of a body',
    { system: 'New', body: { messages: [{ role: 'developer', content: 'Old' }, user('a')] } },
    { messages: [{ role: 'system', content: 'New' }, user('a')], model: 'm' },
  ],
  [
    'turns in its own form as they are, in place of those of a body',
    { prompt: 'Hi', ownTurns: [{ role: 'user', content: 'a', name: 'Ann' }], body: { messages: [user('b')] } },
    { messages: [{ role: 'user', content: 'a', name: 'Ann' }, user('Hi')], model: 'm' },
  ],
  [
    'pictures and files after the prompt that speaks of them',
    {
      prompt: 'Hi',
      media: [
        { mimeType: 'image/png', data },
        { mimeType: 'application/pdf', data, title: 'a.pdf' },
        { mimeType: 'application/pdf', data },
        { mimeType: 'audio/mpeg', data },
        { mimeType: 'text/plain', data: 'words', title: 'a.txt' },
        { mimeType: 'text/plain', data: 'more' },
      ],
    },
    {
      model: 'm',
      messages: [
        user([
          said('Hi'),
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AQID' } },
          { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,AQID' } },
          { type: 'input_audio', input_audio: { data: 'AQID', format: 'mp3' } },
          said('a.txt:\nwords'),
          said('more'),
        ]),
      ],
    },
  ],
  [
    'a picture without a prompt',
    { media: [{ mimeType: 'image/webp', data }] },
    {
      model: 'm',
      messages: [user([{ type: 'image_url', image_url: { url: 'data:image/webp;base64,AQID' } }])],
    },
  ],
  [
    'limits and sampling',
    { maxTokens: 9, temperature: 0.5, topP: 0.9, stop: ['a', 'b'], seed: 7, candidates: 2, metadata: { user: 'u' } },
    {
      model: 'm',
      max_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      stop: ['a', 'b'],
      seed: 7,
      n: 2,
      metadata: { user: 'u' },
    },
  ],
  ['no stop sequences where there are none', { stop: [] }, { model: 'm' }],
  [
    'JSON as the media type',
    { responseMime: 'application/json' },
    { model: 'm', response_format: { type: 'json_object' } },
  ],
  ['text as the media type', { responseMime: 'text/plain' }, { model: 'm', response_format: { type: 'text' } }],
  [
    'tools in the plain form, of the messages format and of its own',
    {
      tools: [
        { name: 'a', description: 'A', schema: { type: 'object' } },
        { name: 'b', input_schema: { type: 'object' } },
        { name: 'c', parameters: { type: 'object' }, strict: true },
        { type: 'custom', name: 'd', input_schema: { type: 'object' } },
        { type: 'function', function: { name: 'e' } },
        { type: 'web_search' },
      ],
    },
    {
      model: 'm',
      tools: [
        { type: 'function', function: { name: 'a', description: 'A', parameters: { type: 'object', properties: {} } } },
        { type: 'function', function: { name: 'b', parameters: { type: 'object', properties: {} } } },
        { type: 'function', function: { name: 'c', parameters: { type: 'object', properties: {} }, strict: true } },
        { type: 'function', function: { name: 'd', parameters: { type: 'object', properties: {} } } },
        { type: 'function', function: { name: 'e' } },
        { type: 'web_search' },
      ],
    },
  ],
  ...(
    [
      ['auto', 'auto'],
      ['none', 'none'],
      ['any', 'required'],
      ['tool:f', { type: 'function', function: { name: 'f' } }],
      [{ type: 'allowed_tools' }, { type: 'allowed_tools' }],
    ] as const
  ).map(([choice, sent]): [string, Partial<PlainRequest>, JsonObject] => [
    `the tool choice ${JSON.stringify(choice)}`,
    { toolChoice: choice },
    { model: 'm', tool_choice: sent },
  ]),
  [
    'a request for a picture',
    { use: 'image', prompt: 'a cat', aspect: '16:9', size: '2K' },
    {
      model: 'm',
      messages: [user('a cat')],
      modalities: ['image', 'text'],
      image_config: { aspect_ratio: '16:9', image_size: '2K' },
    },
  ],
  [
    'modalities that a body has',
    { use: 'edit', prompt: 'x', body: { modalities: ['image'], image_config: { style: 'flat' } } },
    { model: 'm', messages: [user('x')], modalities: ['image'], image_config: { style: 'flat' } },
  ],
  ['a stream', { stream: true }, { model: 'm', stream: true }],
  ['the stream that a body asks for', { body: { stream: true } }, { stream: true, model: 'm' }],
  ['no stream, whatever a body says', { stream: false, body: { stream: true, stream_options: {} } }, { model: 'm' }],
];

describe('a chat completion', () => {
  test.each(chats)('has %s', (_, ask, expected) => {
    expect(bodyOf(ask)).toStrictEqual(expected);
  });

  test('goes to one path, and says that it wants a stream', () => {
    expect(completions.encode({ ...base, stream: true }, local)).toStrictEqual({
      path: '/v1/chat/completions',
      body: { model: 'm', stream: true },
      accept: 'text/event-stream',
    });
    expect(completions.encode(base, local)).toStrictEqual({ path: '/v1/chat/completions', body: { model: 'm' } });
  });

  test('limits tokens by the name that the service has, and asks for the usage of a stream where it must', () => {
    expect(bodyOf({ maxTokens: 5, stream: true }, openai)).toStrictEqual({
      model: 'm',
      max_completion_tokens: 5,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(bodyOf({ body: { stream: true, stream_options: { include_usage: false } } }, openai)).toMatchObject({
      stream_options: { include_usage: false },
    });
  });

  const open = { type: 'object', properties: { a: { type: 'string' } } };
  const closed = { ...open, required: ['a'], additionalProperties: false };
  test.each<[string, JsonValue, boolean]>([
    ['all of whose properties are required and no others allowed', closed, true],
    ['within which every object is so', { ...closed, properties: { a: { type: 'array', items: closed } } }, true],
    ['with a choice of such', { ...closed, properties: { a: { anyOf: [closed, { type: 'null' }] } } }, true],
    ['that names such', { ...closed, properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: closed } }, true],
    [
      'a property of which is called like a keyword',
      { ...closed, properties: { not: { type: 'null' } }, required: ['not'] },
      true,
    ],
    ['a property of which can be anything', { ...closed, properties: { a: {} } }, false],
    ['that allows other properties', open, false],
    ['a property of which is not required', { ...closed, required: [] }, false],
    ['within which an object allows others', { ...closed, properties: { a: open } }, false],
    ['within a choice of which an object allows others', { ...closed, properties: { a: { anyOf: [open] } } }, false],
    ['that names one that allows others', { ...closed, $defs: { x: open } }, false],
    ['with a keyword beyond the subset', { ...closed, properties: { a: { not: {} } } }, false],
    ['of a list', { type: 'array', items: closed }, false],
    ['of anything', true, false],
  ])('holds strictly to a schema %s: %j is %s', (_, schema, strict) => {
    expect(bodyOf({ schema })).toStrictEqual({
      model: 'm',
      response_format: { type: 'json_schema', json_schema: { name: 'reply', schema, ...(strict && { strict }) } },
    });
  });

  test.each<[string, Partial<PlainRequest>, string]>([
    [
      'a body whose messages are not a list',
      { prompt: 'x', body: { messages: 'y' } },
      "'messages' in the body is not an array",
    ],
    ['a media type that it cannot ask for', { responseMime: 'text/x.enum' }, "no answer of type 'text/x.enum'"],
  ])('refuses %s', (_, ask, message) => {
    expect(() => bodyOf(ask)).toThrow(
      expect.objectContaining({ class: 'usage', message: expect.stringContaining(message) }),
    );
  });
});

test.each<[string, Body, string[], { maxTokens: number | undefined; candidates: number }]>([
  ['nothing', {}, [], { maxTokens: undefined, candidates: 1 }],
  [
    'tools and limits',
    {
      tools: [
        { type: 'function', function: { name: 'f' } },
        { type: 'custom', custom: { name: 'g' } },
        { type: 'web_search' },
        'x',
      ],
      max_completion_tokens: 5,
      n: 3,
    },
    ['f', 'g'],
    { maxTokens: 5, candidates: 3 },
  ],
  ['the older limit', { max_tokens: 7, tools: 'x' }, [], { maxTokens: 7, candidates: 1 }],
  ['limits as text', { max_tokens: '7', n: '2' }, [], { maxTokens: 7, candidates: 2 }],
  ['limits that are not numbers', { max_tokens: 'many', n: null }, [], { maxTokens: undefined, candidates: 1 }],
])('tells the tools and the limits of a request with %s', (_, body, names, limits) => {
  expect(completions.toolNames(body)).toStrictEqual(names);
  expect(completions.limits(body)).toStrictEqual(limits);
});

test('the completions format asks for one list of models', () => {
  expect(completions.models()).toStrictEqual({ path: '/v1/models', query: '' });
});
