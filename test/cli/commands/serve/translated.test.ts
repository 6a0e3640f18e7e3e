import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { serviceRules } from '../../../../src/gateway/service.ts';
import { completion, dig, key, message, responseTo, startGateway, turn } from '../../../gateway/gateway-under-test.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { startServe, writeConfig } from '../../../library/recordings/served.ts';

type Service = 'gemini' | 'anthropic' | 'openai';

/** A `serve` in front of another gateway, which stands for a service and knows its format alone. */
async function serveAs(service: Service, flags: readonly string[] = [], more: object = {}) {
  const asked: string[] = [];
  const rules = serviceRules[service];
  const upstream = await startGateway({ rules, log: ({ path, status }) => void asked.push(`${path} ${status}`) });
  onTestFinished(() => upstream.close(0));
  const cwd = scratchFolder();
  const profile = { service, baseUrl: upstream.url, apiKey: key, models: { text: 'local-chat' }, ...more };
  const config = writeConfig(cwd, { up: profile });
  const served = await startServe(['--upstream', 'up', ...flags], { cwd, config });
  return { served, asked, cwd, config };
}

async function post(served: { url: string; key: string }, path: string, body: object) {
  return postBytes(served, path, JSON.stringify(body));
}

async function postBytes(served: { url: string; key: string }, path: string, body: string) {
  const headers = { 'content-type': 'application/json', 'x-api-key': served.key, 'anthropic-version': '2023-06-01' };
  const reply = await fetch(served.url + path, { method: 'POST', headers, body });
  const text = await reply.text();
  return { status: reply.status, text, json: text.startsWith('{') ? (JSON.parse(text) as unknown) : undefined };
}

const content = '/v1beta/models/local-chat';
const callers: [path: string, body: object, isStream: boolean][] = [
  [`${content}:generateContent`, turn('hello there'), false],
  [`${content}:streamGenerateContent?alt=sse`, turn('hello there'), true],
  ['/v1/messages', message('hello there'), false],
  ['/v1/messages', message('hello there', { stream: true }), true],
  ['/v1/chat/completions', completion('hello there'), false],
  ['/v1/chat/completions', completion('hello there', { stream: true }), true],
  ['/v1/responses', responseTo('hello there'), false],
  ['/v1/responses', responseTo('hello there', { stream: true }), true],
];
const paths = { gemini: `${content}:`, anthropic: '/v1/messages', openai: '/v1/' };

test.each(['gemini', 'anthropic', 'openai'] as const)(
  'serve --upstream answers callers of every format by %s, in its own format alone',
  async (service) => {
    const { served, asked } = await serveAs(service);
    for (const [path, body, isStream] of callers) {
      const { status, text } = await post(served, path, body);
      expect([status, text.includes('data: ')], `${path}: ${text}`).toEqual([200, isStream]);
      expect(text.replaceAll(/[^a-z]/gi, '')).toContain('Thisis');
    }
    await expect.poll(() => asked.length).toBe(callers.length);
    for (const line of asked)
      expect([line.startsWith(paths[service]), line.endsWith('200')], line).toEqual([true, true]);
    await served.stop();
  },
);

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const called = { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } };
const turns = [
  { role: 'system', content: 'be brief' },
  { role: 'user', content: 'first' },
  { role: 'assistant', content: null, tool_calls: [called] },
  { role: 'tool', tool_call_id: 'c1', content: 'much rain' },
];
const tools = [{ type: 'function', function: { name: 'get_weather', parameters: schema } }];

test.each(['gemini', 'anthropic'] as const)(
  'a conversation with tools goes to %s, and a call comes back',
  async (service) => {
    const { served } = await serveAs(service);
    const path = '/v1/chat/completions';
    const answered = await post(served, path, { model: 'local-chat', messages: turns, tools });
    expect(dig(answered.json, 'choices', 0, 'message', 'content')).toMatch(
      /“be brief”.*get_weather returned “.*much rain/,
    );
    const forced = { messages: [{ role: 'user', content: 'x' }], tool_choice: 'required' };
    const { json } = await post(served, path, { model: 'local-chat', ...forced, tools });
    expect(json).toMatchObject({
      choices: [
        {
          finish_reason: 'tool_calls',
          message: { tool_calls: [{ type: 'function', function: { name: 'get_weather' } }] },
        },
      ],
      usage: { prompt_tokens: expect.any(Number) },
    });
    await served.stop();
  },
);

test('what the service refuses, and what its format cannot say, is told in the shape of the request', async () => {
  const { served, asked } = await serveAs('anthropic');
  const unknown = await post(served, '/v1/chat/completions', completion('hi', { model: 'x' }));
  expect([unknown.status, dig(unknown.json, 'error', 'message')]).toEqual([404, expect.stringContaining('model: x')]);
  const two = await post(served, '/v1/chat/completions', completion('hi', { n: 2 }));
  expect([two.status, dig(two.json, 'error', 'message')]).toEqual([400, expect.stringContaining('candidates')]);
  const none = await post(served, '/v1/chat/completions', { model: 'local-chat' });
  expect([none.status, dig(none.json, 'error', 'param')]).toEqual([400, 'messages']);
  expect(asked).toEqual(['/v1/messages 404']);
  await served.stop();
});

const generate = `${content}:generateContent`;
const hi = '"model":"local-chat","messages":[{"role":"user","content":"hi"}]';
const hiParts = '"contents":[{"parts":[{"text":"hi"}]}]';
const hiInput = '"model":"local-chat","input":"hi"';
const calls = '"tools":[{"functionDeclarations":[{"name":"a"},{"name":"b"}]}]';

/** Requests of which the other format cannot say a part: the service, the path, the body, and what the refusal names. */
const unsayable: readonly [service: Service, path: string, body: string, named: string][] = [
  ['openai', generate, `{${hiParts},"cachedContent":"cachedContents/7"}`, 'cachedContent'],
  ['openai', generate, `{${hiParts},"tools":[{"codeExecution":{}}]}`, 'tools[0].code_execution'],
  ['openai', generate, `{${hiParts},"tools":[{"url_context":{}}]}`, 'tools[0].url_context'],
  ['openai', generate, `{${hiParts},"tools":[{"googleMaps":{}}]}`, 'tools[0].google_maps'],
  ['openai', generate, `{${hiParts},"tools":[{"fileSearch":{"fileSearchStoreNames":["s"]}}]}`, 'tools[0].file_search'],
  ['openai', generate, `{${hiParts},"tools":[{"newTool":{}}]}`, 'tools[0].new_tool'],
  [
    'openai',
    generate,
    `{${hiParts},"generationConfig":{"responseLogprobs":true}}`,
    'generation_config.response_logprobs',
  ],
  [
    'openai',
    generate,
    `{${hiParts},"generationConfig":{"imageConfig":{"aspectRatio":"1:1"}}}`,
    'generation_config.image_config',
  ],
  [
    'openai',
    generate,
    `{${hiParts},"generationConfig":{"responseModalities":["TEXT","IMAGE"]}}`,
    'generation_config.response_modalities',
  ],
  [
    'openai',
    generate,
    `{${hiParts},"tools":[{"functionDeclarations":[{"name":"a"},{"name":"b"},{"name":"c"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["a","b"]}}}`,
    'tool_config.function_calling_config.allowed_function_names',
  ],
  [
    'anthropic',
    generate,
    `{${hiParts},"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}]}`,
    'safety',
  ],
  ['anthropic', '/v1/chat/completions', `{${hi},"presence_penalty":0.5}`, 'presence_penalty'],
  ['anthropic', '/v1/chat/completions', `{${hi},"frequency_penalty":1}`, 'frequency_penalty'],
  ['anthropic', '/v1/chat/completions', `{${hi},"logprobs":true,"top_logprobs":2}`, 'logprobs'],
  ['anthropic', '/v1/chat/completions', `{${hi},"web_search_options":{}}`, 'web_search_options'],
  ['anthropic', '/v1/chat/completions', `{${hi},"service_tier":"priority"}`, 'service_tier'],
  ['anthropic', '/v1/chat/completions', `{${hi},"modalities":["text","audio"]}`, 'modalities'],
  ['anthropic', '/v1/chat/completions', `{${hi},"response_format":{"type":"grammar"}}`, 'response_format.type'],
  [
    'anthropic',
    '/v1/responses',
    `{${hiInput},"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`,
    'tools[0].type',
  ],
  ['anthropic', '/v1/responses', `{${hiInput},"tools":[{"type":"custom","name":"patch"}]}`, 'tools[0].name'],
  ['anthropic', '/v1/responses', `{${hiInput},"previous_response_id":"resp_1"}`, 'previous_response_id'],
  ['gemini', '/v1/messages', `{${hi},"max_tokens":9,"tools":[{"type":"bash_20250124","name":"bash"}]}`, 'tools.0.type'],
  ['gemini', '/v1/messages', `{${hi},"max_tokens":9,"container":"c_1"}`, 'container'],
  ['gemini', '/v1/messages', `{${hi},"max_tokens":9,"a_new_field":1}`, 'a_new_field'],
  [
    'gemini',
    '/v1/messages',
    '{"model":"local-chat","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"container_upload","file_id":"f_1"}]}]}',
    'messages.0.content.1.file_id',
  ],
];

/** Requests as clients send them, whose fields change nothing in the answer of another service. */
const sayable: readonly [service: Service, path: string, body: string][] = [
  [
    'anthropic',
    '/v1/chat/completions',
    `{${hi},"n":1,"stream":false,"store":false,"logprobs":false,"top_logprobs":0,"presence_penalty":0,"frequency_penalty":0,"metadata":{},"user":"u","service_tier":"auto","parallel_tool_calls":false,"stop":[],"tools":[],"seed":null,"modalities":["text"],"response_format":{"type":"text"},"prompt_cache_key":"k"}`,
  ],
  [
    'anthropic',
    '/v1/chat/completions',
    `{${hi},"tools":[{"type":"function","function":{"name":"a","strict":true,"parameters":{"type":"object","properties":{"type":{"type":"string"}}}}}],"tool_choice":"auto"}`,
  ],
  [
    'anthropic',
    '/v1/responses',
    '{"model":"local-chat","store":false,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},"text":{"verbosity":"medium"},"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]},{"role":"user","content":"again"}]}',
  ],
  [
    'gemini',
    '/v1/messages',
    '{"model":"local-chat","max_tokens":9,"metadata":{"user_id":"u"},"service_tier":"auto","thinking":{"type":"enabled","budget_tokens":1024},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral","ttl":"5m"}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"t1","name":"a","caller":{"type":"direct"},"input":{"kind":"x","citations":{"enabled":true}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no"}]}]}],"tools":[{"name":"a","description":"d","input_schema":{"type":"object"}}]}',
  ],
  [
    'openai',
    generate,
    `{${hiParts},${calls},"systemInstruction":{"role":"user","parts":[{"text":"s"}]},"generationConfig":{"candidateCount":1,"presencePenalty":0,"responseLogprobs":false,"responseModalities":["TEXT"],"thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1},"responseMimeType":"text/plain"},"labels":{"a":"b"},"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["a","b"]}}}`,
  ],
  [
    'anthropic',
    generate,
    `{${hiParts},"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{}}}}`,
  ],
];

test.each(['gemini', 'anthropic', 'openai'] as const)(
  'a field that the format of %s cannot say is refused by its name, and one that changes nothing passes',
  async (service) => {
    const { served, asked } = await serveAs(service, [], { format: serviceRules[service].format });
    for (const [, path, body, named] of unsayable.filter(([to]) => to === service)) {
      const { status, text } = await postBytes(served, path, body);
      expect([status, text], body).toEqual([400, expect.stringContaining(named)]);
    }
    expect(asked).toEqual([]);
    for (const [, path, body] of sayable.filter(([to]) => to === service)) {
      const { status, text } = await postBytes(served, path, body);
      expect([status, body], text).toEqual([200, body]);
    }
    await served.stop();
  },
);

/** How clients of each format send an answer back, with the result of its call. */
const nextTurns: readonly [path: string, ask: object, goOn: (json: unknown) => object][] = [
  [
    generate,
    {
      contents: [{ role: 'user', parts: [{ text: 'x' }] }],
      tools: [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: schema }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
    },
    (json) => ({
      contents: [
        { role: 'user', parts: [{ text: 'x' }] },
        dig(json, 'candidates', 0, 'content'),
        { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { result: 'rain' } } }] },
      ],
    }),
  ],
  [
    '/v1/messages',
    message('x', { tools: [{ name: 'get_weather', input_schema: schema }], tool_choice: { type: 'any' } }),
    (json) => ({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: dig(json, 'content') },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: dig(json, 'content', 0, 'id'), content: 'rain' }],
        },
      ],
      tool_choice: undefined,
    }),
  ],
  [
    '/v1/chat/completions',
    completion('x', { tools, tool_choice: 'required' }),
    (json) => ({
      messages: [
        { role: 'user', content: 'x' },
        dig(json, 'choices', 0, 'message'),
        {
          role: 'tool',
          tool_call_id: dig(json, 'choices', 0, 'message', 'tool_calls', 0, 'id'),
          content: 'rain',
        },
      ],
      tool_choice: undefined,
    }),
  ],
  [
    '/v1/responses',
    responseTo('x', {
      tools: [{ type: 'function', name: 'get_weather', parameters: schema }],
      tool_choice: 'required',
    }),
    (json) => ({
      input: [
        { role: 'user', content: 'x' },
        ...(dig(json, 'output') as object[]),
        { type: 'function_call_output', call_id: dig(json, 'output', 0, 'call_id'), output: 'rain' },
      ],
      tool_choice: undefined,
    }),
  ],
];

test.each(['gemini', 'anthropic', 'openai'] as const)('an answer by %s goes back in the next turn', async (service) => {
  const { served } = await serveAs(service);
  for (const [path, ask, goOn] of nextTurns) {
    const called = await post(served, path, ask);
    const answered = await post(served, path, { ...ask, toolConfig: undefined, ...goOn(called.json) });
    expect([answered.status, answered.text], path).toEqual([200, expect.stringContaining('rain')]);
  }
  await served.stop();
});

test('a request that was translated is recorded, and answered from the recording', async () => {
  const { served, cwd, config, asked } = await serveAs('gemini', ['--record', 'kept']);
  const first = await post(served, '/v1/chat/completions', completion('hi'));
  await served.stop();
  const replaying = await startServe(['--replay', join(cwd, 'kept')], { cwd, config });
  const again = await post(replaying, '/v1/chat/completions', completion('hi'));
  expect([again.status, again.json]).toEqual([200, first.json]);
  expect(asked).toHaveLength(1);
  await replaying.stop();
});

test('a gateway gets the requests of all formats as they are', async () => {
  const { served, asked } = await serveAs('openai', [], { service: 'gateway' });
  expect((await post(served, '/v1/chat/completions', completion('hi'))).status).toBe(200);
  expect((await post(served, '/v1/messages', message('hi'))).status).toBe(404);
  expect(asked).toEqual(['/v1/chat/completions 200', '/v1/messages 404']);
  await served.stop();
});

test('a translated request counts in the budget, and one that could pass it is not sent', async () => {
  const prices = { 'local-chat': { input: 1000, output: 1000 } };
  const { served, asked, cwd } = await serveAs('gemini', ['--budget', './ledger.jsonl:1'], { prices });
  const path = '/v1/chat/completions';
  const bounded = completion('hi', { max_tokens: 20 });
  expect((await post(served, path, bounded)).status).toBe(200);
  const refused = await post(served, path, completion('hi', { max_tokens: 100_000 }));
  expect([refused.status, dig(refused.json, 'error', 'type')]).toEqual([402, 'insufficient_quota']);
  expect(asked).toHaveLength(1);
  await served.stop();
  const ledger = readFileSync(join(cwd, 'ledger.jsonl'), 'utf8');
  expect(ledger).toContain('local-chat');
});
