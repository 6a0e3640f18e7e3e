import { describe, expect, test } from 'vitest';
import type { PlainRequest } from '../../../../src/library/formats/plain-request.ts';
import { messages } from '../../../../src/library/formats/messages/format.ts';
import { type Body, createUpload } from '../../../../src/library/body.ts';

const data = createUpload(new Uint8Array([1, 2, 3]));

/** What is asked beside the model and the limit. */
type Asked = Omit<PlainRequest, 'use' | 'model' | 'stream'> & Partial<Pick<PlainRequest, 'stream'>>;
const quirks = { service: 'own/messages' };
const encode = (asked: Asked): Body =>
  messages.encode({ use: 'chat', model: 'm', stream: undefined, maxTokens: 10, ...asked }, quirks).body;

const base = { model: 'm', max_tokens: 10 };
const source = (media_type: string) => ({ type: 'base64', media_type, data });

const cases: [string, Asked, Body][] = [
  ['the required fields alone', {}, base],
  ['a prompt as a plain string', { prompt: 'Hi' }, { ...base, messages: [{ role: 'user', content: 'Hi' }] }],
  [
    'images and documents before the text',
    {
      prompt: 'Hi',
      media: [
        { mimeType: 'image/PNG', data },
        { mimeType: 'application/pdf', data, title: 'a.pdf' },
        { mimeType: 'application/pdf', data },
      ],
    },
    {
      ...base,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: source('image/PNG') },
            { type: 'document', source: source('application/pdf'), title: 'a.pdf' },
            { type: 'document', source: source('application/pdf') },
            { type: 'text', text: 'Hi' },
          ],
        },
      ],
    },
  ],
  [
    'an image without a prompt',
    { media: [{ mimeType: 'image/png', data }] },
    { ...base, messages: [{ role: 'user', content: [{ type: 'image', source: source('image/png') }] }] },
  ],
  [
    'earlier turns, the prompt last',
    {
      prompt: 'Hi',
      ownTurns: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'text', text: 'b' }] },
      ],
    },
    {
      ...base,
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'text', text: 'b' }] },
        { role: 'user', content: 'Hi' },
      ],
    },
  ],
  [
    'the prompt after the messages of the body',
    { prompt: 'Hi', body: { messages: [{ role: 'user', content: 'a' }] } },
    {
      ...base,
      messages: [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'Hi' },
      ],
    },
  ],
  [
    'messages alone',
    { ownTurns: [{ role: 'user', content: 'a' }] },
    { ...base, messages: [{ role: 'user', content: 'a' }] },
  ],
  [
    'every setting under its own name',
    {
      system: 's',
      stream: true,
      temperature: 0,
      topP: 0.5,
      topK: 3,
      stop: ['END'],
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      toolChoice: { type: 'auto' },
      metadata: { user_id: 'u' },
    },
    {
      ...base,
      system: 's',
      stream: true,
      temperature: 0,
      top_p: 0.5,
      top_k: 3,
      stop_sequences: ['END'],
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      tool_choice: { type: 'auto' },
      metadata: { user_id: 'u' },
    },
  ],
  ['no empty list', { stop: [] }, base],
  [
    'a schema beside the other output settings of the body',
    { schema: { type: 'object' }, body: { output_config: { effort: 'low', format: { type: 'text' } } } },
    { ...base, output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } } },
  ],
  [
    'fields over those of the body',
    { system: 's', body: { model: 'other', max_tokens: 1, system: 'x', thinking: { type: 'disabled' } } },
    { ...base, system: 's', thinking: { type: 'disabled' } },
  ],
  ['no stream where none is wanted, whatever the body says', { stream: false, body: { stream: true } }, base],
  ['the stream of the body where nothing else is said', { body: { stream: true } }, { ...base, stream: true }],
  [
    'plain tools with their schema, tools of the format as they are',
    {
      tools: [
        { name: 'f', description: 'd', schema: { type: 'object', properties: {} } },
        { name: 'g', parameters: { type: 'object' }, cache_control: { type: 'ephemeral' } },
        { name: 'h' },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
    },
    {
      ...base,
      tools: [
        { name: 'f', description: 'd', input_schema: { type: 'object', properties: {} } },
        { name: 'g', cache_control: { type: 'ephemeral' }, input_schema: { type: 'object' } },
        { name: 'h', input_schema: { type: 'object' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
    },
  ],
  ['a choice of tools by its word', { toolChoice: 'any' }, { ...base, tool_choice: { type: 'any' } }],
  ['the choice of one tool', { toolChoice: 'tool:f:1' }, { ...base, tool_choice: { type: 'tool', name: 'f:1' } }],
  [
    'turns of a session, what its own service signed among them',
    {
      prompt: 'Hi',
      turns: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 's' },
            { type: 'redacted_thinking', data: 'x' },
          ],
          service: 'own/messages',
        },
        {
          role: 'assistant',
          content: [{ type: 'thinking', thinking: 'as before services were kept', signature: 's' }],
        },
      ],
    },
    {
      ...base,
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 's' },
            { type: 'redacted_thinking', data: 'x' },
          ],
        },
        {
          role: 'assistant',
          content: [{ type: 'thinking', thinking: 'as before services were kept', signature: 's' }],
        },
        { role: 'user', content: 'Hi' },
      ],
    },
  ],
  [
    'turns of another service without what it signed, and without what it alone knows',
    {
      turns: [
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 's' },
            { type: 'text', text: 'b', signature: 's' },
            { type: 'tool_use', id: 't1', name: 'f', input: {}, signature: 's' },
            { type: 'server_tool_use', id: 't2', name: 'g', input: {} },
          ],
          service: 'other/content',
        },
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'alone' }], service: 'other/messages' },
      ],
    },
    {
      ...base,
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'b' },
            { type: 'tool_use', id: 't1', name: 'f', input: {} },
          ],
        },
      ],
    },
  ],
  [
    'results of tools in front of files and the prompt',
    {
      prompt: 'Hi',
      media: [{ mimeType: 'text/plain', data: 'a,b', title: 'a.csv' }],
      results: [{ type: 'tool_result', tool_use_id: 't1', content: 'r' }],
    },
    {
      ...base,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', content: 'r' },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' }, title: 'a.csv' },
            { type: 'text', text: 'Hi' },
          ],
        },
      ],
    },
  ],
];

describe('a request of the messages format', () => {
  test.each(cases)('sends %s', (_, input, expected) => {
    expect(encode(input)).toStrictEqual(expected);
  });

  test('refuses to add a prompt to messages that are not an array', () => {
    expect(() => encode({ prompt: 'Hi', body: { messages: 'x' } })).toThrow(
      expect.objectContaining({ class: 'usage' }),
    );
  });
});

test.each<[string, PlainRequest['maxTokens'], Body, number]>([
  ['of the ask', 7, { max_tokens: 3 }, 7],
  ['of the body', undefined, { max_tokens: 3 }, 3],
  ['of the program, which the format demands', undefined, { max_tokens: 'x' }, 4096],
])('the limit of tokens is that %s', (_, maxTokens, body, limit) => {
  expect(encode({ maxTokens, body })['max_tokens']).toBe(limit);
});

test('a stream is asked for in the header, too', () => {
  const post = (stream: boolean | undefined) => messages.encode({ use: 'chat', model: 'm', stream }, quirks);
  expect(post(true)).toMatchObject({ path: '/v1/messages', accept: 'text/event-stream' });
  for (const stream of [false, undefined]) expect(post(stream).accept).toBeUndefined();
});

test.each([
  [{ type: 'any' }, undefined],
  [{ type: 'tool', name: 'f' }, undefined],
  [{ type: 'auto' }, { type: 'auto' }],
  [undefined, undefined],
])('a request that goes on has the further turns, and of the choice %j is left %j', (choice, left) => {
  const turns = [{ role: 'assistant', content: 'a' } as const];
  const body = { messages: [{ role: 'user', content: 'Hi' }], ...(choice && { tool_choice: choice }) };
  const longer = messages.append(body, turns, quirks);
  expect(longer['messages']).toEqual([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'a' },
  ]);
  expect(longer['tool_choice']).toEqual(left);
});

test('the names of the tools that a request offers', () => {
  expect(messages.toolNames({ tools: [{ name: 'f' }, { type: 'x' }, 7, { name: 'g' }] })).toEqual(['f', 'g']);
  expect(messages.toolNames({})).toEqual([]);
});
