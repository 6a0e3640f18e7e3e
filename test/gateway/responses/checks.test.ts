import { describe, expect, it } from 'vitest';
import { serviceRules } from '../../../src/gateway/service.ts';
import { type Answered, dig, type GatewayUnderTest, responseTo, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();
const offline = sharedGateway({ refuseUnknown: true });
const openai = sharedGateway({ rules: serviceRules.openai });

const ask = (server: GatewayUnderTest, body: unknown): Promise<Answered> => server.post('/v1/responses', body);
const hi = (more: object): object => responseTo('hi', more);
const items = (...input: unknown[]): object => responseTo(input);
const user = { role: 'user', content: 'x' };
const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
const result = { type: 'function_call_output', call_id: 'c1', output: 'y' };
const said = (...content: unknown[]): object => items({ role: 'user', content });

describe('a request of the responses format that is refused names the parameter', () => {
  const rows: [name: string, body: unknown, param: string | null, code: string | null, message: string][] = [
    ['no model', { input: 'x' }, 'model', 'missing_required_parameter', "Missing required parameter: 'model'."],
    ['no input', { model: 'local-chat' }, 'input', 'missing_required_parameter', "required parameter: 'input'."],
    ['an empty one', responseTo(''), 'input', 'missing_required_parameter', "required parameter: 'input'."],
    ['nothing in it', items(), 'input', 'invalid_value', 'input must not be empty'],
    ['messages', { model: 'local-chat', messages: [user] }, 'input', 'missing_required_parameter', "'input'"],
    ['an item in words', items('x'), 'input[0]', 'invalid_type', 'expected object'],
    ['no content', items({ role: 'user' }), 'input[0].content', 'missing_required_parameter', "'input[0].content'."],
    [
      'an address as in completions',
      said({ type: 'input_image', image_url: { url: 'https://example.invalid/a.png' } }),
      'input[0].content[0].image_url',
      'invalid_type',
      'expected string',
    ],
    [
      'no Base64',
      said({ type: 'input_image', image_url: 'data:image/png;base64,?' }),
      'input[0].content[0].image_url',
      'invalid_value',
      'Base64',
    ],
    ['a tool without a name', hi({ tools: [{ type: 'function' }] }), 'tools[0].name', 'missing_required_parameter', ''],
    ['no tokens', hi({ max_output_tokens: 0 }), 'max_output_tokens', 'invalid_value', 'greater than or equal to 1'],
  ];
  it.each(rows)('%s', async (_, body, param, code, message) => {
    const { status, json } = await ask(offline, body);
    const error = { type: 'invalid_request_error', param, code, message: expect.stringContaining(message) };
    expect([status, json]).toEqual([400, { error }]);
  });

  it('a model that draws is not found', async () => {
    const { status, json } = await ask(offline, hi({ model: 'local-image' }));
    expect([status, json]).toMatchObject([
      404,
      { error: { code: 'model_not_found', message: expect.stringMatching(/has local-text, local-chat\.$/) } },
    ]);
  });
});

it('takes whatever else a request of the responses format has', async () => {
  const rows = [
    hi({ newest: [], max_tokens: 9, reasoning: { effort: 'endless' }, temperature: 3, tools: [{ type: 'song' }] }),
    items({ ...user, zzz: 'x' }, call, user, result, { type: 'song' }, { ...user, role: 'tool' }),
    said({ type: 'text', text: 'x' }, { type: 'song' }),
  ];
  for (const body of rows)
    for (const server of [gateway, offline, openai])
      expect([(await ask(server, body)).status, body]).toEqual([200, body]);
});

it('heeds fields that other servers of the responses format take', async () => {
  const { status, json } = await ask(gateway, hi({ top_k: 3, seed: 1, stop: ' offline' }));
  expect([status, dig(json, 'output', 0, 'content', 0, 'text')]).toEqual([200, 'This is the']);
});
