import { expect, test } from 'vitest';
import { content } from '../../../../src/library/formats/content/format.ts';
import { type Body, createUpload } from '../../../../src/library/body.ts';
import { type Asked, encode, prompt, quirks } from './asking.ts';

const png = createUpload(new Uint8Array([1, 2, 3]));

const cases: [string, Asked, Body][] = [
  [
    'plain tools as one list of declarations after tools of the format',
    {
      tools: [
        { name: 'f', description: 'd', schema: { type: 'object' } },
        { googleSearch: {} },
        { name: 'g', parameters: { type: 'object' } },
        { name: 'h', input_schema: { type: 'object' } },
        { name: 'i' },
      ],
    },
    {
      tools: [
        { googleSearch: {} },
        {
          functionDeclarations: [
            { name: 'f', description: 'd', parametersJsonSchema: { type: 'object' } },
            { name: 'g', parametersJsonSchema: { type: 'object' } },
            { name: 'h', parametersJsonSchema: { type: 'object' } },
            { name: 'i' },
          ],
        },
      ],
    },
  ],
  ['a choice of tools', { toolChoice: 'any' }, { toolConfig: { functionCallingConfig: { mode: 'ANY' } } }],
  [
    'the choice of one tool beside the other tool configuration',
    { toolChoice: 'tool:f:1', toolConfig: { retrievalConfig: {}, functionCallingConfig: { mode: 'NONE' } } },
    {
      toolConfig: { retrievalConfig: {}, functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f:1'] } },
    },
  ],
  [
    'a choice of tools in its own form',
    { toolChoice: { functionCallingConfig: { mode: 'VALIDATED' } } },
    { toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } } },
  ],
  [
    'a text file with its name in front of it',
    {
      prompt: 'Hi',
      media: [
        { mimeType: 'text/plain', data: 'a,b', title: 'a.csv' },
        { mimeType: 'text/plain', data: 'c' },
      ],
    },
    { contents: [{ role: 'user', parts: [{ text: 'Hi' }, { text: 'a.csv:\na,b' }, { text: 'c' }] }] },
  ],
  [
    'turns of a session: blocks as parts, thinking left out',
    {
      prompt: 'Hi',
      turns: [
        { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 't' },
            { type: 'text', text: 'a', signature: 's' },
            { type: 'tool_use', id: 't1', name: 'f', input: { a: 1 }, signature: 'c' },
          ],
          service: 'own/content',
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'no', is_error: true }] },
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm' }] },
      ],
    },
    {
      contents: [
        { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: png } }] },
        {
          role: 'model',
          parts: [
            { text: 'a', thoughtSignature: 's' },
            { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'c' },
          ],
        },
        { role: 'user', parts: [{ functionResponse: { name: 'f', response: { error: 'no' } } }] },
        prompt,
      ],
    },
  ],
  [
    'turns of another service without its signatures',
    {
      turns: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'text', text: 'b', signature: 's' }], service: 'other/content' },
        { role: 'assistant', content: [{ type: 'text', text: 'c', signature: 's' }] },
      ],
    },
    {
      contents: [
        { role: 'user', parts: [{ text: 'a' }] },
        { role: 'model', parts: [{ text: 'b' }] },
        { role: 'model', parts: [{ text: 'c' }] },
      ],
    },
  ],
  [
    'results of tools in front of the prompt, by the names of their calls',
    {
      prompt: 'Hi',
      turns: [{ role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] }],
      results: [{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'r' }] }],
    },
    {
      contents: [
        { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'f', response: { result: 'r' } } }, { text: 'Hi' }] },
      ],
    },
  ],
  [
    'pictures and files in results of tools behind all the results',
    {
      prompt: 'Hi',
      turns: [
        {
          role: 'assistant',
          content: ['t1', 't2'].map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })),
        },
      ],
      results: [
        {
          type: 'tool_result',
          tool_use_id: 't1',
          content: [
            { type: 'text', text: 'r' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AQID' } },
          ],
        },
        { type: 'tool_result', tool_use_id: 't2', content: 'no' },
      ],
    },
    {
      contents: [
        {
          role: 'model',
          parts: [{ functionCall: { name: 'f', args: {} } }, { functionCall: { name: 'f', args: {} } }],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'f', response: { result: 'r' } } },
            { functionResponse: { name: 'f', response: { result: 'no' } } },
            { inlineData: { mimeType: 'image/png', data: 'AQID' } },
            { text: 'Hi' },
          ],
        },
      ],
    },
  ],
];

test.each(cases)('sends %s', (_, asked, expected) => {
  expect(encode(asked)).toStrictEqual(expected);
});

test.each([
  [
    true,
    '/v1beta/models/m:streamGenerateContent',
    { query: 'alt=sse', accept: 'text/event-stream', streamsContent: true },
  ],
  [false, '/v1beta/models/m:generateContent', {}],
  [undefined, '/v1beta/models/m:generateContent', {}],
])('a request with stream %s goes to %s', (stream, path, more) => {
  expect(content.encode({ use: 'text', model: 'models/m', stream, prompt: 'Hi' }, quirks)).toStrictEqual({
    path,
    body: { contents: [prompt] },
    ...more,
  });
});

test('a request that goes on has the further turns, and no longer forces a call', () => {
  const calling = { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] }, retrievalConfig: {} };
  const turns = [{ role: 'assistant', content: 'a' } as const];
  expect(content.append({ contents: [prompt], toolConfig: calling }, turns, quirks)).toStrictEqual({
    contents: [prompt, { role: 'model', parts: [{ text: 'a' }] }],
    toolConfig: { functionCallingConfig: { mode: 'AUTO' }, retrievalConfig: {} },
  });
  const none = { functionCallingConfig: { mode: 'NONE' } };
  expect(content.append({ toolConfig: none }, [], quirks)).toStrictEqual({ contents: [], toolConfig: none });
});

test('the names of the tools that a request offers', () => {
  const tools = [{ googleSearch: {} }, { functionDeclarations: [{ name: 'f' }, {}, { name: 'g' }] }, 7];
  expect(content.toolNames({ tools })).toEqual(['f', 'g']);
  expect(content.toolNames({})).toEqual([]);
});
