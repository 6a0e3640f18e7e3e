import { describe, expect, it } from 'vitest';
import { serviceRules } from '../../../src/gateway/service.ts';
import type { LogEntry } from '../../../src/gateway/types.ts';
import { completion, type Answered, type GatewayUnderTest, sharedGateway } from '../gateway-under-test.ts';

const log: LogEntry[] = [];
const gateway = sharedGateway({ log: (entry) => void log.push(entry) });
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
    ['no model', { messages: [user] }, null, null, 'you must provide a model parameter'],
    ['no messages', { model: 'local-chat' }, 'messages', 'missing_required_parameter', "parameter: 'messages'."],
    ['messages empty', turns(), 'messages', 'empty_array', 'Expected an array with minimum length 1'],
    ['messages a string', hi({ messages: 'x' }), 'messages', 'invalid_type', 'expected an array of objects, but got a'],
    ['a message in words', turns('x'), 'messages[0]', 'invalid_type', 'expected an object, but got a string'],
    ['no role', turns({ content: 'x' }), 'messages[0].role', 'missing_required_parameter', "'messages[0].role'."],
    [
      'a foreign role',
      turns({ ...user, role: 'bogus' }),
      'messages[0].role',
      'invalid_value',
      "Invalid value: 'bogus'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
    ],
    ['content a number', turns({ role: 'user', content: 7 }), 'messages[0].content', 'invalid_type', 'got an integer'],
    [
      'an unknown part',
      completion([{ type: 'song' }]),
      'messages[0].content[0].type',
      'invalid_value',
      "Invalid value: 'song'. Supported values are: 'text', 'image_url', 'file'",
    ],
    ['an unknown field', hi({ zzz: 1 }), 'zzz', 'unknown_parameter', "Unknown parameter: 'zzz'."],
    ['a nested one', turns({ ...user, zzz: 1 }), 'messages[0].zzz', 'unknown_parameter', "'messages[0].zzz'."],
    ['n a string', hi({ n: '2' }), 'n', 'invalid_type', "Invalid type for 'n': expected an integer, but got a string"],
    ['no choice', hi({ n: 0 }), 'n', 'integer_below_min_value', 'integer below minimum value. Expected a value >= 1'],
    ['nine choices', hi({ n: 9 }), 'n', 'integer_above_max_value', 'Expected a value <= 8, but got 9 instead.'],
    [
      'a temperature too high',
      hi({ temperature: 3 }),
      'temperature',
      'decimal_above_max_value',
      "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    ],
    ['five stops', hi({ stop: [...'abcde'] }), 'stop', 'array_above_max_length', 'maximum length 4, but got an array'],
    [
      'a tool without function',
      hi({ tools: [{ type: 'function' }] }),
      'tools[0].function',
      'missing_required_parameter',
      '',
    ],
    [
      'a foreign choice',
      hi({ tool_choice: 'bogus' }),
      'tool_choice',
      'invalid_value',
      "Supported values are: 'none', 'auto', and 'required'.",
    ],
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
    [
      'a result without its call',
      turns(user, result),
      'messages.[1].role',
      null,
      "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    ],
    ['a call without its result', turns(user, called, user), 'messages.[2].role', null, 'response messages: c1'],
    ['a call at the end', turns(user, called), 'messages.[2].role', null, 'must be followed by tool messages'],
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

describe('what the completions format does not know is left out, and named in the log', () => {
  const rows: [name: string, body: unknown, note: string][] = [
    ['fields', hi({ newest: [], newer: 'u' }), 'newest, newer'],
    ['a nested field', turns({ ...user, zzz: 'x' }), 'messages.0.zzz'],
    ['a value', hi({ reasoning_effort: 'endless' }), 'reasoning_effort'],
    ['one of several values', hi({ modalities: ['text', 'smell'] }), 'modalities.1'],
    ['a part', completion([{ type: 'song' }, { type: 'text', text: 'x' }]), 'messages.0.content.0.song'],
  ];
  it.each(rows)('%s', async (_, body, note) => {
    const count = log.length;
    expect(await ask(gateway, body)).toMatchObject({ status: 200 });
    await expect.poll(() => log.slice(count)).toMatchObject([{ status: 200, note: `ignored ${note}` }]);
  });

  it('and refused as a service', async () => {
    for (const [what, body] of rows) expect((await ask(openai, body)).status, what).toBe(400);
  });

  it('fields that other servers of the completions format take and send are not named in the log', async () => {
    const count = log.length;
    const answered = { role: 'assistant', content: 'y', reasoning_content: 'hm', images: [] };
    const body = { ...hi({ top_k: 3, provider: {}, reasoning: { effort: 'low' } }), messages: [user, answered, user] };
    expect((await ask(gateway, body)).status).toBe(200);
    await expect.poll(() => log.slice(count)).toMatchObject([{ note: undefined }]);
    expect((await ask(openai, body)).status).toBe(400);
  });
});

describe('as OpenAI', () => {
  const schema = (more: object): object => ({
    response_format: { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: more } },
  });
  const name = { type: 'string' };
  const object = { type: 'object', properties: { name }, required: ['name'], additionalProperties: false };
  const refused = 'is not supported with this model.';
  const gpt5 = (more: object): object => hi({ model: 'gpt-5', ...more });
  const look = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };
  const rows: [what: string, body: object, param: string | null, code: string | null, message: string][] = [
    ['pictures as an answer', hi({ modalities: ['image'] }), 'modalities[0]', 'invalid_value', "'text' and 'audio'."],
    ['max_tokens of a reasoning model', gpt5({ max_tokens: 9 }), 'max_tokens', 'unsupported_parameter', refused],
    ['its stop', gpt5({ stop: 'x' }), 'stop', 'unsupported_parameter', refused],
    ['its penalties', gpt5({ presence_penalty: 1 }), 'presence_penalty', 'unsupported_parameter', refused],
    [
      'its temperature',
      gpt5({ temperature: 0.5 }),
      'temperature',
      'unsupported_value',
      "'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
    ],
    [
      'function tools of a model that thinks, from gpt-5.4 on, though the request says nothing of thinking',
      hi({ model: 'gpt-6-luna', tools: [look] }),
      'reasoning_effort',
      null,
      "Function tools with reasoning_effort are not supported for gpt-6-luna in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    ],
    [
      'no thinking of a model that cannot but think',
      hi({ model: 'gpt-6.2-sol', tools: [look], reasoning_effort: 'none' }),
      'reasoning_effort',
      'unsupported_value',
      "'reasoning_effort' does not support 'none' with this model. Supported values are: 'low', 'medium', 'high', 'xhigh', and 'max'.",
    ],
    [
      'JSON of which no message speaks',
      hi({ response_format: { type: 'json_object' } }),
      'messages',
      null,
      "must contain the word 'json' in some form",
    ],
    [
      'no schema',
      hi({ response_format: { type: 'json_schema' } }),
      'response_format.json_schema',
      'missing_required_parameter',
      '',
    ],
    [
      'a strict schema that takes other properties',
      hi(schema({ ...object, additionalProperties: undefined })),
      'response_format',
      null,
      "schema for response_format 'city': In context=(), 'additionalProperties' is required to be supplied and to be false.",
    ],
    [
      'one that does not require all, inside another',
      hi(schema({ ...object, properties: { name: { ...object, required: [] } } })),
      'response_format',
      null,
      "In context=('properties', 'name'), 'required' is required to be supplied and to be an array including every key in properties. Missing 'name'.",
    ],
    [
      'a strict function likewise',
      hi({ tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: { type: 'object' } } }] }),
      'tools[0].function.parameters',
      'invalid_function_parameters',
      "Invalid schema for function 'f'",
    ],
  ];
  it.each(rows)('refuses %s', async (_, body, param, code, message) => {
    const { status, json } = await ask(openai, body);
    expect([status, json]).toMatchObject([400, { error: { param, code, message: expect.stringContaining(message) } }]);
  });

  it('as OpenAI, the gateway takes the same field where the model or the value allows it', async () => {
    const bodies = [
      gpt5({ max_completion_tokens: 9, temperature: 1, reasoning_effort: 'low' }),
      hi({ model: 'gpt-5.1', reasoning_effort: 'none', temperature: 0.5, presence_penalty: 1 }),
      hi({ model: 'gpt-5-chat-latest', max_tokens: 9, stop: 'x' }),
      hi({ model: 'gpt-4o', max_tokens: 9 }),
      hi({ model: 'gpt-6-luna', tools: [look], reasoning_effort: 'none' }),
      gpt5({ tools: [look] }),
      completion('as JSON', { response_format: { type: 'json_object' } }),
      hi(schema({ ...object, properties: { name: { anyOf: [object, { type: 'null' }] } } })),
    ];
    for (const body of bodies) expect([(await ask(openai, body)).status, body]).toEqual([200, body]);
  });

  it('does not show thoughts, and counts them', async () => {
    const { json, text } = await ask(openai, gpt5({ reasoning_effort: 'low' }));
    expect(text).not.toContain('reasoning_content');
    const thinking = { reasoning_tokens: expect.any(Number) };
    expect(json).toMatchObject({ usage: { completion_tokens_details: thinking } });
    expect(text).not.toContain('"reasoning_tokens":0');
  });

  it.each([
    ['gpt-image-1', '512x512', 400],
    ['gpt-image-1', '1024x1536', 200],
    ['gpt-image-2', '512x512', 200],
    ['dall-e-2', '512x512', 200],
  ])('answers %s of the size %s with %i', async (model, size, status) => {
    expect((await openai.post('/v1/images/generations', { model, prompt: 'x', size })).status).toBe(status);
  });
});
