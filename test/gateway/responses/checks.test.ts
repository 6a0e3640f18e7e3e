import { describe, expect, it } from 'vitest';
import { serviceRules } from '../../../src/gateway/service.ts';
import type { LogEntry } from '../../../src/gateway/types.ts';
import { type Answered, dig, type GatewayUnderTest, responseTo, sharedGateway } from '../gateway-under-test.ts';

const log: LogEntry[] = [];
const gateway = sharedGateway({ log: (entry) => void log.push(entry) });
const offline = sharedGateway({ refuseUnknown: true });
const openai = sharedGateway({ rules: serviceRules.openai });

const ask = (server: GatewayUnderTest, body: unknown): Promise<Answered> => server.post('/v1/responses', body);
const hi = (more: object): object => responseTo('hi', more);
const items = (...input: unknown[]): object => responseTo(input);
const user = { role: 'user', content: 'x' };
const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
const result = { type: 'function_call_output', call_id: 'c1', output: 'y' };
const said = (...content: unknown[]): object => items({ role: 'user', content });

const moved = (name: string, to: string): string =>
  `Unsupported parameter: '${name}'. In the Responses API, this parameter has moved to '${to}'.`;

describe('a request of the responses format that is refused names the parameter', () => {
  const rows: [name: string, body: unknown, param: string | null, code: string | null, message: string][] = [
    ['no model', { input: 'x' }, 'model', 'missing_required_parameter', "Missing required parameter: 'model'."],
    [
      'no input',
      { model: 'local-chat' },
      'input',
      'missing_required_parameter',
      "Missing required parameter: 'input'.",
    ],
    [
      'nothing in it',
      items(),
      null,
      'missing_required_parameter',
      `One of "input" or "previous_response_id" or 'prompt'`,
    ],
    [
      'messages',
      { model: 'local-chat', messages: [user] },
      'messages',
      'unsupported_parameter',
      moved('messages', 'input'),
    ],
    ['a limit', hi({ max_tokens: 9 }), 'max_tokens', 'unsupported_parameter', moved('max_tokens', 'max_output_tokens')],
    [
      'a schema',
      hi({ response_format: {} }),
      'response_format',
      'unsupported_parameter',
      moved('response_format', 'text.format'),
    ],
    [
      'an effort',
      hi({ reasoning_effort: 'low' }),
      'reasoning_effort',
      'unsupported_parameter',
      moved('reasoning_effort', 'reasoning.effort'),
    ],
    [
      'an item in words',
      items('x'),
      'input[0]',
      'invalid_type',
      "'input[0]': expected an input item, but got a string",
    ],
    [
      'an unknown item',
      items({ type: 'song' }),
      'input[0]',
      'invalid_value',
      "Invalid value: 'song'. Supported values are: 'additional_tools', ",
    ],
    [
      'a foreign role',
      items({ ...user, role: 'tool' }),
      'input[0]',
      'invalid_value',
      "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
    ],
    ['no content', items({ role: 'user' }), 'input[0].content', 'missing_required_parameter', "'input[0].content'."],
    [
      'a part of completions',
      said({ type: 'text', text: 'x' }),
      'input[0].content[0].type',
      'invalid_value',
      "Invalid value: 'text'. Supported values are: 'input_text', 'input_image',",
    ],
    [
      'words of the user as those of the model',
      items({ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }, user),
      'input[0].content[0]',
      'invalid_value',
      "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    ],
    [
      'an address as in completions',
      said({ type: 'input_image', image_url: { url: 'https://example.invalid/a.png' } }),
      'input[0].content[0].image_url',
      'invalid_type',
      'expected an image URL, but got an object instead.',
    ],
    [
      'no Base64',
      said({ type: 'input_image', image_url: 'data:image/png;base64,?' }),
      'input[0].content[0].image_url',
      'invalid_value',
      'Base64',
    ],
    ['an unknown field', hi({ zzz: 1 }), 'zzz', 'unknown_parameter', "Unknown parameter: 'zzz'."],
    ['a nested one', items({ ...user, zzz: 1 }), 'input[0].zzz', 'unknown_parameter', "'input[0].zzz'."],
    ['an unknown tool', hi({ tools: [{ type: 'song' }] }), 'tools[0].type', 'invalid_value', "Invalid value: 'song'."],
    [
      'a tool of completions',
      hi({ tools: [{ type: 'function', function: { name: 'f' } }] }),
      'tools[0].name',
      'missing_required_parameter',
      '',
    ],
    ['a tool without a name', hi({ tools: [{ type: 'function' }] }), 'tools[0].name', 'missing_required_parameter', ''],
    [
      'a schema without a name',
      hi({ text: { format: { type: 'json_schema' } } }),
      'text.format.name',
      'missing_required_parameter',
      '',
    ],
    ['a call without its result', items(user, call), 'input', null, 'No tool output found for function call c1.'],
    [
      'a result without its call',
      items(user, result),
      'input',
      null,
      'No tool call found for function call output with call_id c1.',
    ],
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

describe('what the responses format does not know is left out, and named in the log', () => {
  const rows: [name: string, body: unknown, note: string][] = [
    ['fields', hi({ newest: [], newer: 'u' }), 'newest, newer'],
    ['a field of completions', hi({ max_tokens: 9 }), 'max_tokens'],
    ['a nested field', items({ ...user, zzz: 'x' }), 'input.0.zzz'],
    ['a value', hi({ reasoning: { effort: 'endless' } }), 'reasoning.effort'],
    ['an item', items({ type: 'song' }, user), 'input.0.song'],
    ['a part', said({ type: 'song' }, { type: 'input_text', text: 'x' }), 'input.0.content.0.song'],
    ['a tool', hi({ tools: [{ type: 'song' }] }), 'tools.0.song'],
  ];
  it.each(rows)('%s', async (_, body, note) => {
    const count = log.length;
    expect(await ask(gateway, body)).toMatchObject({ status: 200 });
    await expect.poll(() => log.slice(count)).toMatchObject([{ status: 200, note: `ignored ${note}` }]);
  });

  it('and refused as a service', async () => {
    for (const [what, body] of rows) expect((await ask(openai, body)).status, what).toBe(400);
  });

  it('fields that other servers of the responses format take are heeded, and not named in the log', async () => {
    const count = log.length;
    const { status, json } = await ask(gateway, hi({ top_k: 3, seed: 1, stop: ' offline' }));
    expect([status, dig(json, 'output', 0, 'content', 0, 'text')]).toEqual([200, 'This is the']);
    await expect.poll(() => log.slice(count)).toMatchObject([{ note: undefined }]);
  });
});

describe('as OpenAI, the local gateway refuses in the responses format', () => {
  const schema = { type: 'object', properties: {} };
  const strict = { type: 'json_schema', name: 'r', schema, strict: true };
  const gpt = (more: object): object => hi({ model: 'gpt-6-luna', ...more });
  const rows: [name: string, body: object, param: string, code: string | null, message: string][] = [
    ['words to stop at', gpt({ stop: 'x' }), 'stop', 'unknown_parameter', "Unknown parameter: 'stop'."],
    [
      'a small limit',
      gpt({ max_output_tokens: 15 }),
      'max_output_tokens',
      'integer_below_min_value',
      '>= 16, but got 15',
    ],
    [
      'a temperature while it thinks',
      gpt({ temperature: 0.5 }),
      'temperature',
      null,
      "Unsupported parameter: 'temperature' is not supported with this model.",
    ],
    [
      'an effort of a model that does not think',
      hi({ model: 'gpt-4o', reasoning: { effort: 'low' } }),
      'reasoning.effort',
      'unsupported_parameter',
      'is not supported with this model.',
    ],
    [
      'JSON without the word',
      gpt({ text: { format: { type: 'json_object' } } }),
      'input',
      null,
      "Response input messages must contain the word 'json'",
    ],
    [
      'a loose schema as a strict one',
      gpt({ text: { format: strict } }),
      'text.format.schema',
      'invalid_json_schema',
      "Invalid schema for response_format 'r': In context=(), 'additionalProperties' is required",
    ],
    [
      'a loose tool as a strict one',
      gpt({ tools: [{ type: 'function', name: 'f', parameters: schema, strict: true }] }),
      'tools[0].parameters',
      'invalid_function_parameters',
      "Invalid schema for function 'f'",
    ],
  ];
  it.each(rows)('%s', async (_, body, param, code, message) => {
    const { status, json } = await ask(openai, body);
    const error = { type: 'invalid_request_error', param, code, message: expect.stringContaining(message) };
    expect([status, json]).toEqual([400, { error }]);
  });

  it('an unknown model, and takes what it does not think about', async () => {
    expect(await ask(openai, hi({ model: 'x' }))).toMatchObject({
      status: 404,
      json: { error: { code: 'model_not_found' } },
    });
    const bold = gpt({ temperature: 0.5, reasoning: { effort: 'none' }, max_output_tokens: 16 });
    expect(await ask(openai, bold)).toMatchObject({ status: 200, json: { temperature: 0.5 } });
  });
});
