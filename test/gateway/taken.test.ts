import { describe, expect, it } from 'vitest';
import { serviceRules } from '../../src/gateway/service.ts';
import type { LogEntry } from '../../src/gateway/types.ts';
import {
  completion,
  contentText,
  dig,
  dotPng,
  type GatewayUnderTest,
  key,
  message,
  readChunks,
  sharedGateway,
  textPath,
  turn,
} from './gateway-under-test.ts';

const log: LogEntry[] = [];
const gateway = sharedGateway({ log: (entry) => void log.push(entry) });
const anthropic = sharedGateway({ rules: serviceRules.anthropic });
const gemini = sharedGateway({ rules: serviceRules.gemini });
const openai = sharedGateway({ rules: serviceRules.openai });

interface Sent {
  path: string;
  body: object;
  headers: Record<string, string>;
}

async function send({ url }: GatewayUnderTest, { path, body, headers }: Sent) {
  const request = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } };
  const response = await fetch(url + path, { ...request, body: JSON.stringify(body) });
  const json: unknown = await response.json();
  return { status: response.status, json };
}

/** The answer, which is the same with and without a service to stand for; nothing of the request is left out. */
async function answerOf(service: GatewayUnderTest, sent: Sent): Promise<unknown> {
  const count = log.length;
  const [usual, served] = [await send(gateway, sent), await send(service, sent)];
  expect([usual.status, served.status, served.json]).toEqual([200, 200, served.json]);
  await expect.poll(() => log.length).toBe(count + 1);
  expect(log.at(-1)?.note ?? '').not.toContain('ignored');
  return served.json;
}

const user = (content: unknown): object => ({ role: 'user', content });
const assistant = (content: unknown): object => ({ role: 'assistant', content });
const system = (content: unknown): object => ({ role: 'system', content });

describe('as the Messages API, the local gateway takes', () => {
  const ask = (messages: object[], more: object = {}) =>
    answerOf(anthropic, {
      path: '/v1/messages?beta=true',
      body: message('', { messages, ...more }),
      headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
    });
  const use = (id: string): object => ({ type: 'tool_use', id, name: 'get_weather', input: {} });
  const result = (id: string, content: unknown): object => ({ type: 'tool_result', tool_use_id: id, content });
  const reference = { type: 'tool_reference', tool_name: 'get_weather' };
  const addition = { type: 'tool_addition', tool: { type: 'tool_reference', name: 'get_weather' } };
  const tools = [{ name: 'get_weather', input_schema: { type: 'object' } }];

  it('words of the system between the turns, and follows them', async () => {
    const json = await ask([user('hello'), system('speak like a pirate'), assistant('Arr'), user('again')], {
      system: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } }],
    });
    const said = String(dig(json, 'content', 0, 'text'));
    expect(said).toContain('“be brief\nspeak like a pirate”');
    expect(said).toContain('“again”');
  });

  it('words of the system between a call and its result, with tools that are added', async () => {
    const json = await ask([user('hi'), assistant([use('t1')]), system([addition]), user([result('t1', 'rain')])]);
    expect(dig(json, 'content', 0, 'text')).toContain('The tool get_weather returned “rain”');
  });

  it('turns of one role in a row, and joins them', async () => {
    const turns = [user('first'), user('second'), assistant('one'), assistant([{ type: 'text', text: 'two' }])];
    const json = await ask([...turns, user('third'), user([{ type: 'text', text: 'fourth' }])]);
    expect(dig(json, 'content', 0, 'text')).toContain('before it you wrote “first\nsecond”');
    expect(dig(json, 'content', 0, 'text')).toContain('You wrote “third\nfourth”');
  });

  it('the results of two calls in two messages', async () => {
    const calls = [assistant([use('t1')]), assistant([use('t2')])];
    const json = await ask([user('hi'), ...calls, user([result('t1', 'rain')]), user([result('t2', 'snow')])]);
    expect(dig(json, 'content', 0, 'text')).toMatch(/returned “rain”.*returned “snow”/);
  });

  it('a turn of the assistant first', async () => {
    const json = await ask([assistant('Hello! What is it?'), user('the time')]);
    expect(dig(json, 'content', 0, 'text')).toContain('“the time”');
  });

  it('references to tools in the result of a search for tools', async () => {
    const json = await ask([user('hi'), assistant([use('t1')]), user([result('t1', [reference])])], { tools });
    expect(dig(json, 'stop_reason')).toBe('end_turn');
  });
});

describe('as the Gemini API, the local gateway takes', () => {
  const ask = (body: object, path = textPath) => answerOf(gemini, { path, body, headers: { 'x-goog-api-key': key } });

  it('a part that is only the signature of a thought', async () => {
    const said = { role: 'model', parts: [{ text: 'one' }, { thoughtSignature: 'c2ln' }] };
    const contents = [{ role: 'user', parts: [{ text: 'a' }] }, said, { role: 'user', parts: [{ text: 'b' }] }];
    expect(contentText(await ask({ contents }))).toContain('“b”');
  });

  it('a part that only says something of the video before it', async () => {
    const inlineData = { mimeType: 'video/mp4', data: 'AAAAHGZ0eXBtcDQy' };
    const parts = [{ text: 'explain' }, { inlineData }, { videoMetadata: { startOffset: '2s', endOffset: '10s' } }];
    expect(contentText(await ask({ contents: [{ role: 'user', parts }] }))).toContain('“explain”');
  });

  it('names of enums in small letters, and heeds them', async () => {
    const tools = [{ functionDeclarations: [{ name: 'get_weather' }] }];
    const toolConfig = { functionCallingConfig: { mode: 'none' } };
    const json = await ask(turn('get the weather', { tools, toolConfig }));
    expect(contentText(json)).toContain('“get the weather”');
    const drawn = turn('a boat', { generationConfig: { responseModalities: ['Text', 'Image'] } });
    const picture = await ask(drawn, '/v1beta/models/gemini-2.5-flash:generateContent');
    expect(dig(picture, 'candidates', 0, 'content', 'parts', 1)).toHaveProperty('inlineData');
  });

  it.each(['generateContent', 'countTokens'])('%s at /v1alpha and /v1', async (method) => {
    const usual = await ask(turn('hi'), `/v1beta/models/local-text:${method}`);
    for (const version of ['v1alpha', 'v1']) {
      const { responseId: _id, ...json } = (await ask(
        turn('hi'),
        `/${version}/models/local-text:${method}`,
      )) as object & { responseId?: string };
      expect(usual).toMatchObject(json);
    }
  });
});

describe('as OpenAI, the local gateway takes', () => {
  const headers = { authorization: `Bearer ${key}` };
  const ask = (body: object, path = '/v1/chat/completions') => answerOf(openai, { path, body, headers });
  const offer = { name: 'get_weather', parameters: { type: 'object' } };

  it('a name beside the function of a tool, of a choice and of a call', async () => {
    const call = {
      id: 'c1',
      type: 'function',
      name: 'get_weather',
      function: { name: 'get_weather', arguments: '{}' },
    };
    const messages = [
      user('hi'),
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'rain' },
    ];
    const named = { type: 'function', name: 'get_weather' };
    const json = await ask({
      ...completion('', { messages }),
      tools: [{ ...named, function: offer }],
      tool_choice: { ...named, function: { name: 'get_weather' } },
    });
    expect(dig(json, 'choices', 0, 'message', 'tool_calls', 0, 'function', 'name')).toBe('get_weather');
  });

  it('tools in their older form, and calls one in that form', async () => {
    const json = await ask(completion('hi', { functions: [offer], function_call: { name: 'get_weather' } }));
    expect(dig(json, 'choices', 0)).toMatchObject({
      message: { content: null, function_call: { name: 'get_weather', arguments: '{}' } },
      finish_reason: 'function_call',
    });
    expect(dig(json, 'choices', 0, 'message')).not.toHaveProperty('tool_calls');
    const called = { role: 'assistant', content: null, function_call: { name: 'get_weather', arguments: '{}' } };
    const result = { role: 'function', name: 'get_weather', content: 'rain' };
    const answered = await ask(completion('', { messages: [user('hi'), called, result], functions: [offer] }));
    expect(dig(answered, 'choices', 0, 'message', 'content')).toContain('The tool get_weather returned “rain”');
    const none = await ask(completion('get_weather', { functions: [offer], function_call: 'none' }));
    expect(dig(none, 'choices', 0, 'finish_reason')).toBe('stop');
  });

  it('tools in their older form in a stream', async () => {
    const body = completion('use get_weather', { functions: [offer], function_call: 'auto', stream: true });
    const { status, text } = await openai.post('/v1/chat/completions', body);
    expect(status).toBe(200);
    const deltas = readChunks(text).map((chunk) => dig(chunk, 'choices', 0, 'delta', 'function_call'));
    expect(deltas.filter((delta) => delta !== undefined)).toEqual([
      { name: 'get_weather', arguments: '' },
      { arguments: '{}' },
    ]);
  });

  it('breakpoints of the prompt cache on every kind of part', async () => {
    const prompt_cache_breakpoint = { mode: 'explicit' };
    const image_url = { url: `data:image/png;base64,${dotPng}` };
    const parts = [
      { type: 'text', text: 'hi', prompt_cache_breakpoint },
      { type: 'image_url', image_url, prompt_cache_breakpoint },
    ];
    const prompt_cache_options = { mode: 'explicit', ttl: '30m' };
    const json = await ask(completion(parts, { model: 'gpt-5.6', prompt_cache_options }));
    expect(dig(json, 'choices', 0, 'message', 'content')).toContain('image/png');
  });

  it('an edit of pictures as JSON', async () => {
    const image_url = `data:image/png;base64,${dotPng}`;
    const body = { model: 'gpt-image-2', prompt: 'invert', images: [{ image_url }], mask: { image_url } };
    const json = await ask(body, '/v1/images/edits');
    expect(dig(json, 'size')).toBe('1x1');
    const bad = { ...body, images: [{ image_url: 'iVBORw0KGgo=' }] };
    const refused = await send(openai, { path: '/v1/images/edits', body: bad, headers });
    expect([refused.status, dig(refused.json, 'error', 'param')]).toEqual([400, 'images[0].image_url']);
  });
});
