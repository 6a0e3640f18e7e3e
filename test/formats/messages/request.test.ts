import { describe, expect, test } from 'vitest';
import { encodeMessagesRequest } from '../../../src/formats/messages/request.ts';
import type { MessagesInput } from '../../../src/formats/messages/types.ts';
import { createUpload } from '../../../src/upload.ts';
import type { Body } from '../../../src/upload.ts';

const data = createUpload(new Uint8Array([1, 2, 3]));
const base = { model: 'm', max_tokens: 10 };
const source = (media_type: string) => ({ type: 'base64', media_type, data });

const cases: [string, Omit<MessagesInput, 'model' | 'maxTokens'>, Body][] = [
  ['the required fields alone', {}, base],
  ['a prompt as a plain string', { prompt: 'Hi' }, { ...base, messages: [{ role: 'user', content: 'Hi' }] }],
  [
    'images and documents before the text',
    {
      prompt: 'Hi',
      inline: [
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
    { inline: [{ mimeType: 'image/png', data }] },
    { ...base, messages: [{ role: 'user', content: [{ type: 'image', source: source('image/png') }] }] },
  ],
  [
    'earlier turns, the prompt last',
    {
      prompt: 'Hi',
      messages: [
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
    { messages: [{ role: 'user', content: 'a' }] },
    { ...base, messages: [{ role: 'user', content: 'a' }] },
  ],
  [
    'every setting under its own name',
    {
      system: 's',
      stream: false,
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
      stream: false,
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
];

describe('encodeMessagesRequest', () => {
  test.each(cases)('sends %s', (_, input, expected) => {
    expect(encodeMessagesRequest({ model: 'm', maxTokens: 10, ...input })).toStrictEqual(expected);
  });

  test('refuses to add a prompt to messages that are no array', () => {
    const input = { model: 'm', maxTokens: 1, prompt: 'Hi', body: { messages: 'x' } };
    expect(() => encodeMessagesRequest(input)).toThrow(expect.objectContaining({ class: 'usage' }));
  });
});
