import { describe, expect, it } from 'vitest';
import { dig, message, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();

async function ask(content: unknown, more: object = {}): Promise<unknown> {
  const { status, json } = await gateway.post('/v1/messages', message(content, more));
  expect([status, json]).toEqual([200, json]);
  return json;
}

const weather = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

describe('the reply of local-chat', () => {
  it('has every field of a reply and says that it is offline', async () => {
    expect(await ask('hello')).toEqual({
      id: expect.stringMatching(/^msg_[0-9a-f]{24}$/),
      type: 'message',
      role: 'assistant',
      model: 'local-chat',
      content: [{ type: 'text', text: expect.stringMatching(/offline model local-chat.*“hello”/) }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      usage: expect.objectContaining({
        input_tokens: 2,
        output_tokens: expect.any(Number),
        cache_read_input_tokens: 0,
      }),
    });
  });

  it('is the same for the same request', async () => {
    expect(await ask('hello')).toEqual(await ask('hello'));
  });

  it('obeys max_tokens', async () => {
    expect(await ask('hello', { max_tokens: 2 })).toMatchObject({
      content: [{ type: 'text', text: 'This is ' }],
      stop_reason: 'max_tokens',
      usage: { output_tokens: 2 },
    });
  });

  it('stops at a stop sequence and names it', async () => {
    expect(await ask('hello', { stop_sequences: ['nowhere', ' offline'] })).toMatchObject({
      content: [{ text: 'This is the' }],
      stop_reason: 'stop_sequence',
      stop_sequence: ' offline',
    });
  });

  it('reads system as text or blocks, and images', async () => {
    const data = 'iVBORw0KGgo=';
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    const text = dig(
      await ask([{ type: 'text', text: 'look' }, image], { system: [{ type: 'text', text: 'be brief' }] }),
      'content',
      0,
      'text',
    );
    expect(text).toContain('“be brief”');
    expect(text).toContain('image/png (8 bytes)');
  });

  it('thinks if the request asks for it, aloud or not, and counts thoughts and words as output', async () => {
    const thinking = { type: 'enabled', budget_tokens: 1024 };
    const json = await ask('hello', { max_tokens: 2000, thinking });
    expect(dig(json, 'content')).toMatchObject([
      { type: 'thinking', thinking: expect.stringContaining('offline'), signature: expect.any(String) },
      { type: 'text' },
    ]);
    const [thought, said] = [String(dig(json, 'content', 0, 'thinking')), String(dig(json, 'content', 1, 'text'))];
    // Four characters are a token, and a rest counts as one.
    const [thinkingTokens, tokens] = [Math.ceil(thought.length / 4), Math.ceil(said.length / 4)];
    expect(dig(json, 'usage')).toMatchObject({
      output_tokens: thinkingTokens + tokens,
      output_tokens_details: { thinking_tokens: thinkingTokens },
    });
    const quiet = await ask('hello', { thinking: { type: 'adaptive', display: 'omitted' } });
    expect(dig(quiet, 'content', 0)).toEqual({ type: 'thinking', thinking: '', signature: expect.any(String) });
  });

  it('fits output_config.format', async () => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
    const json = await ask('hello', { output_config: { format: { type: 'json_schema', schema } } });
    expect(JSON.parse(String(dig(json, 'content', 0, 'text')))).toEqual({ ok: false });
  });
});

describe('tools', () => {
  const rows: [name: string, prompt: string, choice: object | undefined, type: string][] = [
    ['auto calls what the prompt names', 'the weather in Paris?', undefined, 'tool_use'],
    ['auto calls nothing else', 'hello', { type: 'auto' }, 'text'],
    ['any calls in any case', 'hello', { type: 'any' }, 'tool_use'],
    ['tool calls the named one', 'hello', { type: 'tool', name: 'get_weather' }, 'tool_use'],
    ['none never calls', 'the weather in Paris?', { type: 'none' }, 'text'],
  ];
  it.each(rows)('%s', async (_, prompt, choice, type) => {
    const json = await ask(prompt, { tools: [weather], ...(choice && { tool_choice: choice }) });
    expect(dig(json, 'content', 0, 'type')).toBe(type);
    expect(dig(json, 'stop_reason')).toBe(type === 'text' ? 'end_turn' : 'tool_use');
  });

  it('the call has an id, a name and input that fits; its result is answered in words', async () => {
    const json = await ask('the weather in Paris?', { tools: [weather] });
    const call = {
      type: 'tool_use',
      id: expect.stringMatching(/^toolu_/),
      name: 'get_weather',
      input: { city: 'example city' },
    };
    expect(dig(json, 'content')).toEqual([call]);
    const id = dig(json, 'content', 0, 'id');
    const messages = [
      { role: 'user', content: 'the weather in Paris?' },
      { role: 'assistant', content: dig(json, 'content') },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'clear sky' }] },
    ];
    const answer = await ask('', { tools: [weather], messages });
    expect(dig(answer, 'content', 0, 'text')).toContain('The tool get_weather returned “clear sky”');
    expect(dig(answer, 'stop_reason')).toBe('end_turn');
  });

  const write = { name: 'Write', input_schema: { type: 'object' } };
  const todo = { name: 'TodoWrite', input_schema: { type: 'object' } };
  it.each([
    ['Write a poem on January', 'text'],
    ['Then: Write a poem. Write it again', 'text'],
    ['write the password', 'text'],
    ['call Write now', 'tool_use'],
    ['use `Write`', 'tool_use'],
    ['write it to my todo list', 'tool_use'],
  ])('of %j, tools called Write and TodoWrite make it %s', async (prompt, type) => {
    expect(dig(await ask(prompt, { tools: [write, todo] }), 'content', 0, 'type')).toBe(type);
  });

  it('the call has the required arguments, and nothing that a program should not run', async () => {
    const properties = {
      command: { type: 'string' },
      dangerouslyDisableSandbox: { type: 'boolean' },
      background: { type: 'boolean' },
      timeout: { type: 'integer', default: 60 },
      shell: { type: 'string', examples: ['zsh'] },
      mode: { enum: ['read', 'write'] },
      ticket: { type: 'string', pattern: '^[A-Z]{3}-\\d+$' },
    };
    const { dangerouslyDisableSandbox: _optional, ...must } = properties;
    const schema = { type: 'object', properties, required: Object.keys(must) };
    const json = await ask('in January, use Bash', { tools: [{ name: 'Bash', input_schema: schema }] });
    expect(dig(json, 'content', 0, 'input')).toEqual({
      command: 'example command',
      background: false,
      timeout: 60,
      shell: 'zsh',
      mode: 'read',
      ticket: 'example ticket',
    });
  });

  it('a call that the limit would cut is not made', async () => {
    const json = await ask('the weather in Paris?', { max_tokens: 3, tools: [weather] });
    expect(json).toMatchObject({ content: [], stop_reason: 'max_tokens', usage: { output_tokens: 3 } });
  });
});
