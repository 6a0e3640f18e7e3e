import { expect, test } from 'vitest';
import { responses } from '../../../../src/library/formats/responses/format.ts';
import type { PlainRequest, Turn } from '../../../../src/library/formats/plain-request.ts';
import type { JsonObject } from '../../../../src/library/json.ts';

const quirks = { service: 'openai/responses' };
const ask = (more: Partial<PlainRequest>) =>
  responses.encode({ use: 'chat', model: 'm', stream: undefined, ...more }, quirks).body;
const user = { role: 'user', content: 'hi' };
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };
const signed = { type: 'thinking', thinking: '', signature: JSON.stringify(reasoning) };
const search = { type: 'web_search_call', id: 'ws_1' };

const answer: Turn = {
  role: 'assistant',
  service: 'openai/responses',
  content: [
    signed,
    { type: 'web_search_call', item: search },
    { type: 'text', text: 'One', phase: 'commentary' },
    { type: 'text', text: 'Two', phase: 'final_answer' },
    { type: 'text', text: 'Three', phase: 'final_answer' },
    { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 'sea' } },
  ],
};
const result: Turn = {
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'waves' }] }],
};
const text = (word: string) => ({ type: 'output_text', text: word, annotations: [] });
const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":"sea"}' };
const output = { type: 'function_call_output', call_id: 'call_1', output: 'waves' };

test('a turn goes back to its service whole, in its order: thinking, items of any kind, phases and calls', () => {
  expect(ask({ turns: [user as Turn, answer, result], prompt: 'go on' })['input']).toEqual([
    user,
    reasoning,
    search,
    { type: 'message', role: 'assistant', content: [text('One')], phase: 'commentary' },
    { type: 'message', role: 'assistant', content: [text('Two'), text('Three')], phase: 'final_answer' },
    call,
    output,
    { role: 'user', content: 'go on' },
  ]);
});

test('another service gets the texts, the calls and their results of it', () => {
  expect(ask({ turns: [{ ...answer, service: 'other.example/responses' }, result] })['input']).toEqual([
    { type: 'message', role: 'assistant', content: [text('One'), text('Two'), text('Three')] },
    call,
    output,
  ]);
});

test('thinking that nothing follows does not go back: the service refuses it', () => {
  const alone: Turn = { ...answer, content: [{ type: 'text', text: 'One' }, signed, signed] };
  expect(ask({ turns: [alone] })['input']).toEqual([{ type: 'message', role: 'assistant', content: [text('One')] }]);
});

test('the results of tools go on after a request, which no longer forces a call', () => {
  const body = { model: 'm', input: 'hi', tool_choice: 'required', tools: [] };
  expect(responses.append(body, [answer, result], quirks)).toMatchObject({
    input: [user, reasoning, search, {}, {}, call, output],
  });
  expect(responses.append(body, [answer, result], quirks)['tool_choice']).toBeUndefined();
  expect(responses.append({ ...body, tool_choice: 'auto' }, [], quirks)['tool_choice']).toBe('auto');
});

test('pictures in the result of a tool are pictures', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
  const drawn: Turn = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [image] }] };
  expect(ask({ turns: [drawn] })['input']).toEqual([
    { ...output, output: [{ type: 'input_image', image_url: 'data:image/png;base64,aGk=' }] },
  ]);
});

test.each([
  [
    { name: 'look', schema: { type: 'object' } },
    { parameters: { type: 'object', properties: {} }, strict: false },
  ],
  [
    { name: 'look', strict: true },
    { parameters: { type: 'object', properties: {} }, strict: true },
  ],
  [
    { type: 'function', function: { name: 'look', parameters: { type: 'object' } } },
    { parameters: { type: 'object', properties: {} }, strict: false },
  ],
])('the tool %j says whether it is strict: left out, the service would decide', (tool, encoded) => {
  expect(ask({ tools: [tool], prompt: 'hi' })['tools']).toEqual([{ type: 'function', name: 'look', ...encoded }]);
});

test.each([[{ type: 'web_search' }], [{ type: 'function', name: 'look', parameters: {}, strict: true }]])(
  'the tool %j of the format stays as it is',
  (tool) => {
    expect(ask({ tools: [tool], prompt: 'hi' })['tools']).toEqual([tool]);
  },
);

test('the service is asked to keep nothing, unless the user or the body says otherwise', () => {
  expect(ask({ prompt: 'hi' })['store']).toBe(false);
  expect(ask({ prompt: 'hi', store: true })['store']).toBeUndefined();
  expect(ask({ prompt: 'hi', body: { store: true } })['store']).toBe(true);
});

test('a conversation asks for thinking that can go back; a text has no use for it', () => {
  expect(ask({ prompt: 'hi' })['include']).toEqual(['reasoning.encrypted_content']);
  expect(ask({ prompt: 'hi', body: { include: ['x'] } })['include']).toEqual(['x', 'reasoning.encrypted_content']);
  expect(ask({ prompt: 'hi', use: 'text' })['include']).toBeUndefined();
});

test('messages whose content is in blocks are turns; items of the format stay as they are', () => {
  const own = [
    user,
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    call,
  ];
  expect(ask({ ownTurns: own })['input']).toEqual([
    user,
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'a' },
        { type: 'input_text', text: 'b' },
      ],
    },
    call,
  ]);
});

test('a call of a custom tool goes back as it came, with its result in a kind of its own; elsewhere it is a call like others', () => {
  const custom = { type: 'custom_tool_call', id: 'ct_1', call_id: 'call_1', name: 'sql', input: 'SELECT 1' };
  const input = { input: 'SELECT 1' };
  const calling: Turn = {
    ...answer,
    content: [{ type: 'tool_use', id: 'call_1', name: 'sql', input, signature: JSON.stringify(custom) }],
  };
  const given = { ...output, type: 'custom_tool_call_output' };
  expect(ask({ turns: [calling, result] })['input']).toEqual([custom, given]);
  expect(ask({ turns: [calling], results: result.content as JsonObject[] })['input']).toEqual([custom, given]);
  const body = { model: 'm', input: 'hi' };
  expect(responses.append(body, [calling, result], quirks)['input']).toEqual([user, custom, given]);
  const plain = { ...call, name: 'sql', arguments: JSON.stringify(input) };
  expect(ask({ turns: [{ ...calling, service: 'other.example/responses' }, result] })['input']).toEqual([
    plain,
    output,
  ]);
});
