import { describe, expect, it } from 'vitest';
import { serviceRules } from '../../../src/gateway/service.ts';
import { completion, type Answered, type GatewayUnderTest, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();
const offline = sharedGateway({ refuseUnknown: true });
const openai = sharedGateway({ rules: serviceRules.openai });

const ask = (server: GatewayUnderTest, body: unknown): Promise<Answered> => server.post('/v1/chat/completions', body);
const hi = (more: object): object => completion('hi', more);
const turns = (...messages: unknown[]): object => completion('', { messages });
const user = { role: 'user', content: 'x' };
const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
const called = { role: 'assistant', content: null, tool_calls: [call] };
const result = { role: 'tool', tool_call_id: 'c1', content: 'y' };
const image = (url: string): object => completion([{ type: 'image_url', image_url: { url } }]);

describe('a request of the completions format that is refused names the parameter', () => {
  const rows: [name: string, body: unknown, param: string | null, code: string | null, message: string][] = [
    ['no model', { messages: [user] }, 'model', 'missing_required_parameter', "parameter: 'model'."],
    ['no messages', { model: 'local-chat' }, 'messages', 'missing_required_parameter', "parameter: 'messages'."],
    ['messages empty', turns(), 'messages', 'invalid_value', 'messages must not be empty'],
    ['messages a string', hi({ messages: 'x' }), 'messages', 'invalid_type', 'expected list'],
    ['a message in words', turns('x'), 'messages[0]', 'invalid_type', 'expected object'],
    ['no role', turns({ content: 'x' }), 'messages[0].role', 'missing_required_parameter', "'messages[0].role'."],
    ['content a number', turns({ role: 'user', content: 7 }), 'messages[0].content', 'invalid_type', 'a list of parts'],
    ['n a string', hi({ n: '2' }), 'n', 'invalid_type', "Invalid type for 'n': expected integer."],
    ['no choice', hi({ n: 0 }), 'n', 'invalid_value', 'greater than or equal to 1'],
    ['nine choices', hi({ n: 9 }), 'n', 'invalid_value', 'less than or equal to 8'],
    ['a format without type', hi({ response_format: {} }), 'response_format.type', 'missing_required_parameter', ''],
    [
      'a file that is no URL',
      image('iVBORw0KGgo='),
      'messages[0].content[0].image_url.url',
      'invalid_value',
      'data URL',
    ],
    ['no Base64', image('data:image/png;base64,?'), 'messages[0].content[0].image_url.url', 'invalid_value', 'Base64'],
    [
      'a foreign ratio',
      hi({ image_config: { aspect_ratio: 'x' } }),
      'image_config.aspect_ratio',
      'invalid_value',
      '16:9',
    ],
  ];
  it.each(rows)('%s', async (_, body, param, code, message) => {
    const { status, json } = await ask(offline, body);
    const error = { type: 'invalid_request_error', param, code, message: expect.stringContaining(message) };
    expect([status, json]).toEqual([400, { error }]);
  });

  it('an unknown model in the completions format names the parameter', async () => {
    const { status, json } = await ask(offline, hi({ model: 'gpt-4o' }));
    const message =
      'The model `gpt-4o` does not exist or you do not have access to it. The local gateway has local-text, local-chat, local-image, local-edit.';
    expect([status, json]).toEqual([
      404,
      { error: { type: 'invalid_request_error', param: null, code: 'model_not_found', message } },
    ]);
  });
});

it('takes whatever else a request of the completions format has', async () => {
  const rows = [
    hi({ newest: [], thinking: 1, reasoning: {}, temperature: 3, tool_choice: 'bogus', reasoning_effort: 'endless' }),
    hi({ modalities: ['text', 'smell'], response_format: { type: 'song' }, tools: [{ type: 'song' }] }),
    hi({ stop: [...'vwxyz'], max_tokens: 100, top_k: 3, provider: {} }),
    turns({ ...user, zzz: 1 }, called, user, result, { role: 'bogus', content: 'x' }, user),
    completion([{ type: 'song' }, { type: 'text', text: 'x' }]),
  ];
  for (const body of rows)
    for (const server of [gateway, offline, openai])
      expect([(await ask(server, body)).status, body]).toEqual([200, body]);
});
