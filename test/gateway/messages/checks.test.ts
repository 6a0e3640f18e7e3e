import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../../src/gateway/types.ts';
import { message, sharedGateway } from '../gateway-under-test.ts';

const log: LogEntry[] = [];
const gateway = sharedGateway({ log: (entry) => void log.push(entry) });
const offline = sharedGateway({ refuseUnknown: true });

const image = (media_type: string, data: string): object[] => [
  { type: 'image', source: { type: 'base64', media_type, data } },
];
const turns = (...messages: unknown[]): object => message('', { messages });
const user = { role: 'user', content: 'x' };
const tool = { name: 'f', input_schema: { type: 'object' } };
const without = (name: string): object =>
  Object.fromEntries(Object.entries(message('x')).filter(([field]) => field !== name));

describe('a request of the messages format that is refused names the field', () => {
  const rows: [name: string, body: unknown, text: string][] = [
    ['no model', without('model'), 'model: Field required'],
    ['no max_tokens', without('max_tokens'), 'max_tokens: Field required'],
    ['no messages', without('messages'), 'messages: Field required'],
    ['no tokens', message('x', { max_tokens: 0 }), 'max_tokens: Input should be greater than or equal to 1'],
    ['tokens in words', message('x', { max_tokens: 'many' }), 'max_tokens: Input should be a valid integer'],
    ['an unknown field', message('x', { contents: [] }), 'contents: Extra inputs are not permitted'],
    ['a nested unknown field', turns({ ...user, name: 'x' }), 'messages.0.name: Extra inputs are not permitted'],
    ['no turn', turns(), 'messages: messages must not be empty'],
    [
      'a foreign role',
      turns({ role: 'robot', content: 'x' }),
      "messages.0.role: Input should be 'user' or 'assistant' or 'system'",
    ],
    ['no content', turns({ role: 'user' }), 'messages.0.content: Field required'],
    ['an unknown block', message([{ type: 'song' }]), "messages.0.content.0.type: Input should be 'text', 'image'"],
    [
      'a foreign image type',
      message(image('image/bmp', 'Qk0=')),
      "messages.0.content.0.source.media_type: Input should be 'image/jpeg'",
    ],
    [
      'no Base64',
      message(image('image/png', '???')),
      'messages.0.content.0.source.base64.data: Base64 decoding failed',
    ],
    ['a data URL', message(image('image/png', 'data:image/png;base64,iVBORw0KGgo=')), 'without the data-URL prefix'],
    ['a wrong type', message(image('image/jpeg', 'iVBORw0KGgo=')), 'the image appears to be a image/png image'],
    ['stop_sequences a string', message('x', { stop_sequences: 'x' }), 'stop_sequences: Input should be a valid list'],
    ['a tool without schema', message('x', { tools: [{ name: 'f' }] }), 'tools.0.input_schema: Field required'],
    ['foreign metadata', message('x', { metadata: { team: 'x' } }), 'metadata.team: Extra inputs are not permitted'],
  ];
  it.each(rows)('%s', async (_, body, text) => {
    const { status, json } = await offline.post('/v1/messages', body);
    expect([status, json]).toMatchObject([
      400,
      { type: 'error', error: { type: 'invalid_request_error', message: expect.stringContaining(text) } },
    ]);
  });
});

describe('what the messages format does not know is left out, and named in the log', () => {
  const rows: [name: string, body: unknown, note: string][] = [
    ['fields', message('x', { newest: [], newer: 'u' }), 'newest, newer'],
    ['a nested field', turns({ ...user, name: 'x' }), 'messages.0.name'],
    ['a field of the metadata', message('x', { metadata: { team: 'x' } }), 'metadata.team'],
    ['a value', message('x', { thinking: { type: 'adaptive', display: 'loud' } }), 'thinking.display'],
    ['an object whose kind is not known', message('x', { thinking: { type: 'deep' } }), 'thinking.type'],
    ['a block', message([{ type: 'song' }, { type: 'text', text: 'x' }]), 'messages.0.content.0.song'],
  ];
  it.each(rows)('%s', async (_, body, note) => {
    const count = log.length;
    expect(await gateway.post('/v1/messages', body)).toMatchObject({ status: 200 });
    await expect.poll(() => log.slice(count)).toMatchObject([{ status: 200, note: `ignored ${note}` }]);
  });
});

it('takes every field that the specification lists', async () => {
  const body = message([{ type: 'text', text: 'hi' }], {
    system: 'short',
    stream: false,
    temperature: 1,
    top_p: 0.9,
    top_k: 5,
    stop_sequences: ['x'],
    tools: [tool],
    tool_choice: { type: 'auto' },
    metadata: { user_id: 'u' },
  });
  expect((await offline.post('/v1/messages', body)).status).toBe(200);
});

it('takes a last assistant turn, which is a prefill', async () => {
  expect((await gateway.post('/v1/messages', turns(user, { role: 'assistant', content: 'So' }))).status).toBe(200);
});
