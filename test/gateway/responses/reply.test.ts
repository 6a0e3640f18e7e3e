import { describe, expect, it } from 'vitest';
import { dig, dotPng, responseTo, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();

const path = '/v1/responses';

async function ask(input: unknown, more: object = {}): Promise<unknown> {
  const { status, json } = await gateway.post(path, responseTo(input, more));
  expect([status, json]).toEqual([200, json]);
  return json;
}

const textOf = (json: unknown, at = 0): string => String(dig(json, 'output', at, 'content', 0, 'text'));

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather = { type: 'function', name: 'get_weather', parameters, strict: false };
const image_url = `data:image/png;base64,${dotPng}`;

describe('a response', () => {
  it('has every field of a reply and says that it is offline', async () => {
    const id = /^msg_[0-9a-f]{24}$/;
    const text = expect.stringMatching(/offline model local-chat.*“hello”/);
    expect(await ask('hello', { metadata: { a: 'b' }, text: { verbosity: 'low' } })).toEqual({
      id: expect.stringMatching(/^resp_[0-9a-f]{24}$/),
      object: 'response',
      created_at: expect.any(Number),
      completed_at: expect.any(Number),
      status: 'completed',
      background: false,
      error: null,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: { a: 'b' },
      model: 'local-chat',
      output: [
        {
          id: expect.stringMatching(id),
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', annotations: [], logprobs: [], text }],
        },
      ],
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      service_tier: 'default',
      store: true,
      temperature: 1,
      text: { format: { type: 'text' }, verbosity: 'low' },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
      usage: {
        input_tokens: 2,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 42,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 44,
      },
      user: null,
    });
  });

  it('is the same for the same request, and has an id of the request in a header', async () => {
    expect(await ask('hello')).toEqual(await ask('hello'));
    const { headers } = await gateway.post(path, responseTo('hello'));
    expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  });

  it.each(['/responses', '/responses?a=b', '/v1/responses'])('is answered at %s', async (address) => {
    expect((await gateway.post(address, responseTo('hi'))).status).toBe(200);
  });

  it('is incomplete where max_output_tokens cuts it', async () => {
    expect(await ask('hello', { max_output_tokens: 2 })).toMatchObject({
      status: 'incomplete',
      completed_at: null,
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete', content: [{ text: 'This is ' }] }],
      usage: { output_tokens: 2 },
    });
  });

  it('reads instructions, messages of the system, earlier turns and parts', async () => {
    const input = [
      { role: 'system', content: 'be kind' },
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'be quick' }] },
      { role: 'user', content: 'first' },
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        content: [{ type: 'output_text', text: 'yes?', annotations: [] }],
      },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'second' }] },
    ];
    const json = await ask(input, { instructions: 'be brief' });
    expect(textOf(json)).toMatch(/“be brief\nbe kind\nbe quick”.*turn 2.*“first”.*“second”/s);
    expect(dig(json, 'instructions')).toBe('be brief');
  });

  it('reads pictures and files that the message holds, and leaves addresses alone', async () => {
    const content = [
      { type: 'input_text', text: 'look' },
      { type: 'input_image', image_url, detail: 'low' },
      { type: 'input_image', image_url: 'https://example.invalid/a.png' },
      { type: 'input_file', file_url: 'https://example.invalid/a.pdf' },
      { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${btoa('%PDF-1.7 ')}` },
    ];
    const text = textOf(await ask([{ role: 'user', content }]));
    expect(text).toContain('image/png (70 bytes)');
    expect(text).toContain('application/pdf (9 bytes)');
    expect(text.match(/With it came/g)).toHaveLength(2);
  });

  it('thinks where an effort is asked for, and shows a summary and the encrypted thoughts where they are asked for', async () => {
    const include = ['reasoning.encrypted_content'];
    const json = await ask('hello', { reasoning: { effort: 'low', summary: 'auto' }, include });
    expect(json).toMatchObject({
      output: [
        {
          id: expect.stringMatching(/^rs_/),
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: expect.stringContaining('does not think') }],
          encrypted_content: expect.stringMatching(/^[\w+/]{20,}=*$/),
        },
        { type: 'message' },
      ],
      reasoning: { effort: 'low', summary: 'auto' },
    });
    expect(dig(json, 'usage', 'output_tokens_details', 'reasoning_tokens')).toBeGreaterThan(0);
    const hidden = await ask('hello', { reasoning: { effort: 'low' } });
    expect(dig(hidden, 'output', 0)).toEqual({ id: expect.any(String), type: 'reasoning', summary: [] });
    expect(await ask('hello', { reasoning: { effort: 'none' } })).toMatchObject({ output: [{ type: 'message' }] });
  });

  it('fits a JSON Schema, or is any JSON', async () => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
    const strict = { type: 'json_schema', name: 'answer', schema, strict: true };
    expect(JSON.parse(textOf(await ask('hello', { text: { format: strict } })))).toEqual({ ok: false });
    const json = await ask('json', { text: { format: { type: 'json_object' } } });
    expect(JSON.parse(textOf(json))).toMatchObject({ offline: true });
    expect(textOf(await ask('hello', { text: { format: { type: 'text' } } }))).toMatch(/^This is/);
  });

  it.each([
    ['flex', 'flex'],
    ['auto', 'default'],
    ['fast', 'priority'],
  ])('names the service tier: of %s it is %s', async (asked, tier) => {
    expect(await ask('hello', { service_tier: asked })).toMatchObject({ service_tier: tier });
  });

  it('comes from a local model that writes, whichever model of a vendor is asked', async () => {
    expect(await ask('hello', { model: 'gpt-6-luna' })).toMatchObject({ model: 'local-chat' });
  });

  it('has its tokens counted before it is asked for', async () => {
    const { status, json } = await gateway.post(`${path}/input_tokens`, responseTo('hello', { tools: [weather] }));
    expect([status, json]).toEqual([200, { object: 'response.input_tokens', input_tokens: expect.any(Number) }]);
    const { usage } = (await ask('hello', { tools: [weather] })) as { usage: { input_tokens: number } };
    expect(dig(json, 'input_tokens')).toBe(usage.input_tokens);
  });
});

describe('tools of a response', () => {
  const named = { type: 'function', name: 'get_weather' };
  const allowed = { type: 'allowed_tools', mode: 'required', tools: [named] };
  const rows: [name: string, prompt: string, choice: unknown, called: boolean][] = [
    ['auto calls what the prompt names', 'the weather in Paris?', undefined, true],
    ['auto calls nothing else', 'hello', 'auto', false],
    ['required calls in any case', 'hello', 'required', true],
    ['a named function is called', 'hello', named, true],
    ['an allowed function is called', 'hello', allowed, true],
    ['none never calls', 'the weather in Paris?', 'none', false],
  ];
  it.each(rows)('%s', async (_, prompt, choice, called) => {
    const json = await ask(prompt, { tools: [weather], ...(choice !== undefined && { tool_choice: choice }) });
    expect(json).toMatchObject({ status: 'completed', output: [{ type: called ? 'function_call' : 'message' }] });
  });

  it('are called with the required properties, and answered by what they return', async () => {
    const called = await ask('the weather in Paris?', { tools: [weather] });
    const [call] = (called as { output: object[] }).output;
    expect(call).toEqual({
      id: expect.stringMatching(/^fc_/),
      type: 'function_call',
      status: 'completed',
      call_id: expect.stringMatching(/^call_/),
      name: 'get_weather',
      arguments: '{"city":"example city"}',
    });
    const user = { role: 'user', content: 'the weather in Paris?' };
    const output = [
      { type: 'input_text', text: 'rain' },
      { type: 'input_image', image_url },
    ];
    const result = { type: 'function_call_output', call_id: dig(call, 'call_id'), output };
    const answered = await ask([user, call, result], { tools: [weather] });
    expect(textOf(answered)).toContain('The tool get_weather returned “rain”');
    expect(textOf(answered)).toContain('image/png (70 bytes)');
  });

  it('can be in the input, or in a bundle; those of the service are not called', async () => {
    const added = { type: 'additional_tools', role: 'developer', tools: [{ type: 'web_search' }, weather] };
    const user = { role: 'user', content: 'the weather in Paris?' };
    expect(await ask([added, user], { tool_choice: 'auto' })).toMatchObject({ output: [{ name: 'get_weather' }] });
    const bundle = { type: 'namespace', name: 'mcp__sky', tools: [weather] };
    expect(await ask([user], { tools: [bundle] })).toMatchObject({ output: [{ name: 'get_weather' }] });
    const hosted = [{ type: 'web_search', name: 'get_weather' }];
    expect(await ask([user], { tools: hosted })).toMatchObject({ output: [{ type: 'message' }] });
  });

  it('can be of the custom kind, whose calls and results are read', async () => {
    const call = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c1', name: 'apply_patch', input: '*** Begin' };
    const result = { type: 'custom_tool_call_output', call_id: 'c1', output: 'Done' };
    expect(textOf(await ask([{ role: 'user', content: 'go' }, call, result]))).toContain(
      'The tool apply_patch returned “Done”',
    );
  });
});
