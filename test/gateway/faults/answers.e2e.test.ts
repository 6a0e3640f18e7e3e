import { describe, expect, it } from 'vitest';
import { dig, imageOf, readEvents, turn, type Answered, sharedGateway } from '../gateway-under-test.ts';
import { askFaults } from './ask.ts';

const gateway = sharedGateway();
const { chat, complete, completeStream, draw, respond, respondStream, stream, write } = askFaults(gateway);

describe('answers', () => {
  const content: [model: string, expected: object][] = [
    ['fault-blocked', { promptFeedback: { blockReason: 'SAFETY' } }],
    ['fault-safety', { candidates: [{ finishReason: 'SAFETY', safetyRatings: [{ blocked: true }] }] }],
    ['fault-no-answer', { candidates: [{ content: { role: 'model' }, finishReason: 'STOP' }] }],
    ['fault-max-tokens', { candidates: [{ finishReason: 'MAX_TOKENS' }] }],
    ['fault-error-200', { error: { code: 503 } }],
  ];
  it.each(content)('%s in the content format', async (model, expected) => {
    const { status, json } = await write(model);
    expect([status, json]).toMatchObject([200, expected]);
  });

  const messages: [model: string, expected: object][] = [
    ['fault-blocked', { content: [], stop_reason: 'refusal', stop_details: { type: 'refusal' } }],
    ['fault-safety', { content: [{ type: 'text' }], stop_reason: 'refusal' }],
    ['fault-no-answer', { content: [], stop_reason: 'end_turn' }],
    ['fault-max-tokens', { stop_reason: 'max_tokens' }],
    ['fault-error-200', { type: 'error', error: { type: 'overloaded_error' } }],
  ];
  it.each(messages)('%s in the messages format', async (model, expected) => {
    const { status, json } = await chat(model);
    expect([status, json]).toMatchObject([200, expected]);
  });

  const choice = (message: object, finish_reason: string): object => ({ choices: [{ message, finish_reason }] });
  const completions: [model: string, expected: object][] = [
    ['fault-blocked', choice({ content: null, refusal: expect.any(String) }, 'stop')],
    ['fault-safety', choice({ content: expect.stringMatching(/^This/), refusal: null }, 'content_filter')],
    ['fault-no-answer', choice({ content: null, refusal: null }, 'stop')],
    ['fault-max-tokens', choice({ content: expect.stringMatching(/^This/) }, 'length')],
    ['fault-error-200', { error: { type: 'server_error', code: null } }],
  ];
  it.each(completions)('%s in the completions format', async (model, expected) => {
    const { status, json } = await complete(model);
    expect([status, json]).toMatchObject([200, expected]);
  });

  const said = (part: object, more: object): object => ({ output: [{ type: 'message', content: [part] }], ...more });
  const cut = (reason: string): object => ({ status: 'incomplete', incomplete_details: { reason } });
  const text = { type: 'output_text', text: expect.stringMatching(/^This/) };
  const responses: [model: string, expected: object][] = [
    ['fault-blocked', said({ type: 'refusal', refusal: expect.any(String) }, { status: 'completed' })],
    ['fault-safety', said(text, cut('content_filter'))],
    ['fault-no-answer', { output: [], status: 'completed' }],
    ['fault-max-tokens', said(text, cut('max_output_tokens'))],
    ['fault-error-200', { output: [], status: 'failed', error: { code: 'server_error', message: expect.any(String) } }],
    ['fault-no-image', said(text, { status: 'completed' })],
  ];
  it.each(responses)('%s in the responses format, whole and at the end of a stream', async (model, expected) => {
    const { status, json } = await respond(model);
    expect([status, json]).toMatchObject([200, expected]);
    const end = readEvents((await respondStream(model)).text).at(-1);
    expect(end).toMatchObject({ type: `response.${String(dig(json, 'status'))}`, response: expected });
  });

  it('fault-blocked has no candidates at all', async () => {
    expect((await write('fault-blocked')).json).not.toHaveProperty('candidates');
  });

  it('fault-blocked streams a refusal without a block', async () => {
    const { text } = await stream('fault-blocked');
    expect(text).toContain('"stop_reason":"refusal"');
    expect(text).not.toContain('content_block_start');
    expect((await completeStream('fault-blocked')).text).toMatch(/"delta":\{"refusal":"/);
    expect((await completeStream('fault-error-200')).text).toMatch(/^data: \{"error":[^\n]*\}\n\n$/);
  });

  it('fault-no-usage leaves out all that is optional', async () => {
    expect(Object.keys((await write('fault-no-usage')).json as object)).toEqual(['candidates']);
    expect((await chat('fault-no-usage')).json).not.toHaveProperty('usage');
    expect(Object.keys((await complete('fault-no-usage')).json as object)).toEqual(['object', 'created', 'choices']);
    expect(Object.keys((await respond('fault-no-usage')).json as object)).toEqual(['object', 'status', 'output']);
  });
});

describe('pictures', () => {
  const parts = (json: unknown): unknown => dig(json, 'candidates', 0, 'content', 'parts');

  it('fault-no-image answers in words', async () => {
    const { json } = await draw('fault-no-image');
    expect([parts(json), dig(json, 'candidates', 0, 'finishReason')]).toEqual([
      [{ text: expect.any(String) }],
      'NO_IMAGE',
    ]);
  });

  it('fault-fewer-images drops one candidate', async () => {
    const { json } = await draw('fault-fewer-images', {
      generationConfig: { imageConfig: { imageSize: '512' }, candidateCount: 2 },
    });
    expect(dig(json, 'candidates')).toHaveLength(1);
  });

  it('fault-bad-base64 holds characters that are not Base64', async () => {
    expect(String(dig(parts((await draw('fault-bad-base64')).json), 1, 'inlineData', 'data'))).toMatch(
      /[A-Za-z0-9+/]{100}!\*!\*/,
    );
  });

  it('fault-wrong-mime calls a PNG a JPEG', async () => {
    const { mimeType, bytes } = imageOf((await draw('fault-wrong-mime')).json);
    expect([mimeType, bytes.toString('latin1', 1, 4)]).toEqual(['image/jpeg', 'PNG']);
  });

  it('fault-markdown-image has the image in the text, fault-draft-image has it twice', async () => {
    const markdown = parts((await draw('fault-markdown-image')).json);
    expect(dig(markdown, 1, 'text')).toMatch(/^Here it is:\n\n!\[image\]\(data:image\/png;base64,[A-Za-z0-9+/=]+\)\n$/);
    expect(parts((await draw('fault-draft-image')).json)).toMatchObject([
      { text: expect.any(String) },
      { thought: true },
      { inlineData: {} },
    ]);
  });

  it('fault-snake-case spells everything otherwise', async () => {
    const { json } = await draw('fault-snake-case');
    expect(json).toMatchObject({
      candidates: [{ finish_reason: 'STOP' }],
      usage_metadata: { prompt_token_count: expect.any(Number) },
    });
    expect(dig(parts(json), 1, 'inline_data', 'data')).not.toMatch(/[+/=]/);
  });

  it('images come in a chat completion where the fault is about images, or the request asks for an image', async () => {
    const ask = async (model: string, more: object = {}): Promise<unknown> =>
      dig((await complete(model, { image_config: { image_size: '512' }, ...more })).json, 'choices', 0, 'message');
    const urlOf = (message: unknown): unknown => dig(message, 'images', 0, 'image_url', 'url');
    expect(urlOf(await ask('fault-wrong-mime'))).toMatch(/^data:image\/jpeg;base64,iVBOR/);
    expect(urlOf(await ask('fault-bad-base64'))).toContain('!*!*');
    expect(urlOf(await ask('fault-snake-case', { modalities: ['image'] }))).not.toMatch(/base64,.*[+/=]/);
    expect(dig(await ask('fault-draft-image'), 'images')).toHaveLength(1);
    expect(dig(await ask('fault-no-image'), 'content')).toContain('instead of drawing');
    expect(dig(await ask('fault-markdown-image'), 'content')).toContain('](data:image/png;base64,');
    expect(urlOf(await ask('fault-429-once', { n: 2 }))).toBeUndefined();
    expect(urlOf(await ask('fault-429-once', { n: 2 }))).toContain('iVBOR');
    expect(dig((await complete('fault-429-once')).json, 'error', 'code')).toBe('rate_limit_exceeded');
    expect(dig((await complete('fault-429-once')).json, 'choices', 0, 'message')).not.toHaveProperty('images');
  });

  const forms: [name: string, headers: Record<string, string>, query?: string][] = [
    ['x-goog-api-key', { 'x-goog-api-key': 'local-test-key' }],
    ['x-vendor-a-api-key', { 'x-vendor-a-api-key': 'local-test-key' }],
    ['x-api-key', { 'x-api-key': 'local-test-key' }],
    ['?key=', {}, '?key=local-test-key'],
    ['a bearer token', { authorization: 'Bearer local-test-key' }],
  ];
  it.each(forms)('come with the key in %s, without a word of modalities', async (_, headers, query = '') => {
    const ask = async (model: string): Promise<Answered> => {
      const path = `/v1beta/models/${model}:generateContent${query}`;
      return gateway.post(path, turn('a boat'), { authorization: '', ...headers });
    };
    expect(imageOf((await ask('fault-wrong-mime')).json).mimeType).toBe('image/jpeg');
    expect(dig((await ask('fault-no-image')).json, 'candidates', 0, 'finishReason')).toBe('NO_IMAGE');
    expect(dig((await ask('fault-draft-image')).json, 'candidates', 0, 'content', 'parts', 1, 'thought')).toBe(true);
    for (const model of ['fault-bad-base64', 'fault-fewer-images'])
      expect(imageOf((await ask(model)).json).bytes.length, model).toBeGreaterThan(1000);
    expect((await ask('fault-markdown-image')).text).toContain('](data:image/png;base64,');
  });

  it('images come for a bearer token, text for the other header', async () => {
    expect(imageOf((await draw('fault-429-once', {})).json).mimeType).toBe('undefined');
    expect(imageOf((await draw('fault-429-once', {})).json).mimeType).toBe('image/png');
    expect((await write('fault-slow')).text).not.toContain('inlineData');
  });
});
