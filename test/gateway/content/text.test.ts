import { describe, expect, it } from 'vitest';
import { contentText, dig, textPath, turn, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();

async function ask(text: string, generationConfig: object = {}, more: object = {}): Promise<unknown> {
  const { status, json } = await gateway.post(textPath, turn(text, { generationConfig, ...more }));
  expect(status).toBe(200);
  return json;
}

describe('the reply of local-text', () => {
  it('has every field of a reply and says that it is offline', async () => {
    const json = await ask('say hello');
    expect(json).toEqual({
      candidates: [
        {
          content: { parts: [{ text: expect.stringContaining('“say hello”') }], role: 'model' },
          finishReason: 'STOP',
          index: 0,
        },
      ],
      usageMetadata: {
        promptTokenCount: 3,
        candidatesTokenCount: Math.ceil(contentText(json).length / 4),
        totalTokenCount: 3 + Math.ceil(contentText(json).length / 4),
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: 3 }],
        candidatesTokensDetails: [{ modality: 'TEXT', tokenCount: Math.ceil(contentText(json).length / 4) }],
      },
      modelVersion: 'local-text',
      responseId: expect.stringMatching(/^[0-9a-f]{24}$/),
    });
    expect(contentText(json)).toContain('offline model local-text');
  });

  it('is the same for the same request, id included, and another for another', async () => {
    const [one, same, other] = [await ask('a'), await ask('a'), await ask('b')];
    expect(same).toEqual(one);
    expect(dig(other, 'responseId')).not.toBe(dig(one, 'responseId'));
  });

  it('speaks of the system instruction, the turns before, and the files', async () => {
    const data = Buffer.from('%PDF-1.7 …').toString('base64');
    const contents = [
      { role: 'user', parts: [{ text: 'first question' }] },
      { role: 'model', parts: [{ text: 'first answer' }] },
      { role: 'user', parts: [{ text: 'second question' }, { inlineData: { mimeType: 'application/pdf', data } }] },
    ];
    const text = contentText(await ask('', {}, { contents, systemInstruction: { parts: [{ text: 'be brief' }] } }));
    for (const part of ['“be brief”', 'turn 2', '“first question”', '“second question”', 'application/pdf'])
      expect(text).toContain(part);
    expect(text).not.toContain('first answer');
  });

  it('is as long as the prompt asks', async () => {
    const words = contentText(await ask('write 200 words about boats')).split(' ').length;
    expect(words).toBeGreaterThanOrEqual(200);
    expect(words).toBeLessThan(210);
  });
});

describe('generationConfig', () => {
  it('maxOutputTokens cuts after four characters a token', async () => {
    const json = await ask('hello', { maxOutputTokens: 3 });
    expect(contentText(json)).toBe('This is the ');
    expect(dig(json, 'candidates', 0, 'finishReason')).toBe('MAX_TOKENS');
    expect(dig(json, 'usageMetadata', 'candidatesTokenCount')).toBe(3);
  });

  it('never splits a character', async () => {
    for (let tokens = 15; tokens < 40; tokens++) {
      const text = contentText(await ask('😀'.repeat(20), { maxOutputTokens: tokens }));
      expect(Buffer.from(text).toString()).toBe(text);
    }
  });

  it('stopSequences end the answer before the first of them, with STOP', async () => {
    const json = await ask('hello', { stopSequences: ['gateway', 'offline', 'nowhere'] });
    expect(contentText(json)).toBe('This is the ');
    expect(dig(json, 'candidates', 0, 'finishReason')).toBe('STOP');
  });

  it('candidateCount is the number of candidates, each with its index', async () => {
    const json = await ask('hello', { candidateCount: 3 });
    expect(dig(json, 'candidates')).toMatchObject([{ index: 0 }, { index: 1 }, { index: 2 }]);
  });

  it('thinkingConfig shows thoughts first, which count against the limit', async () => {
    const json = await ask('hello', { thinkingConfig: { includeThoughts: true } });
    expect(dig(json, 'candidates', 0, 'content', 'parts')).toMatchObject([
      { thought: true },
      { text: expect.any(String) },
    ]);
    const { usageMetadata } = json as { usageMetadata: Record<string, number> };
    const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usageMetadata;
    expect(thoughtsTokenCount).toBeGreaterThan(0);
    expect(usageMetadata['totalTokenCount']).toBe(promptTokenCount + candidatesTokenCount + thoughtsTokenCount);
    const cut = await ask('hello', { thinkingConfig: { includeThoughts: true }, maxOutputTokens: 5 });
    expect(dig(cut, 'candidates', 0)).toMatchObject({
      content: { parts: [{ thought: true }] },
      finishReason: 'MAX_TOKENS',
    });
  });

  it('responseMimeType application/json gives JSON, with a schema a value that fits', async () => {
    const json = { responseMimeType: 'application/json' };
    expect(JSON.parse(contentText(await ask('hello', json)))).toMatchObject({ offline: true, prompt: 'hello' });
    const responseSchema = { type: 'OBJECT', properties: { n: { type: 'INTEGER' } }, required: ['n'] };
    expect(JSON.parse(contentText(await ask('hello', { ...json, responseSchema })))).toEqual({ n: expect.any(Number) });
    const choice = { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['yes', 'no'] } };
    expect(contentText(await ask('hello', choice))).toBe('yes');
  });
});

describe('tools', () => {
  const parameters = { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] };
  const tools = [{ functionDeclarations: [{ name: 'get_weather', parameters }, { name: 'sing' }] }];
  const config = (mode: string, names?: string[]): object => ({
    functionCallingConfig: { mode, ...(names && { allowedFunctionNames: names }) },
  });
  const call = { functionCall: { name: 'get_weather', args: { city: 'example city' } } };
  const rows: [name: string, prompt: string, toolConfig: object, parts: unknown][] = [
    ['AUTO calls what the prompt names', 'How is the weather in Paris?', config('AUTO'), [call]],
    ['AUTO calls nothing else', 'Hello', config('AUTO'), [{ text: expect.any(String) }]],
    [
      'ANY calls in any case',
      'Hello',
      config('ANY'),
      [{ functionCall: { name: 'get_weather', args: { city: 'example city' } } }],
    ],
    ['ANY keeps to the allowed names', 'Hello', config('ANY', ['sing']), [{ functionCall: { name: 'sing' } }]],
    ['NONE never calls', 'How is the weather in Paris?', config('NONE'), [{ text: expect.any(String) }]],
  ];
  it.each(rows)('%s', async (_, prompt, toolConfig, parts) => {
    const json = await ask(prompt, {}, { tools, toolConfig });
    expect(dig(json, 'candidates', 0, 'content', 'parts')).toMatchObject(parts as object);
    expect(dig(json, 'candidates', 0, 'finishReason')).toBe('STOP');
  });

  it('the answer after the result of a tool mentions the result', async () => {
    const functionResponse = { name: 'get_weather', response: { sky: 'clear' } };
    const contents = [
      { role: 'user', parts: [{ text: 'the weather in Paris?' }] },
      { role: 'model', parts: [call] },
      { role: 'user', parts: [{ functionResponse }] },
    ];
    expect(contentText(await ask('', {}, { tools, contents }))).toContain('get_weather returned “{"sky":"clear"}”');
  });
});

describe('streamGenerateContent', () => {
  const path = textPath.replace('generate', 'streamGenerate');

  it('sends three words at a time, as events with CRLF', async () => {
    const { text, headers } = await gateway.post(
      `${path}?alt=sse`,
      turn('hi', { generationConfig: { maxOutputTokens: 10 } }),
    );
    expect(headers.get('content-type')).toBe('text/event-stream');
    const events = text.split('\r\n\r\n');
    expect(events.pop()).toBe('');
    const pieces = events.map((event) => JSON.parse(event.replace(/^data: /, '')) as unknown);
    expect(pieces.map(contentText)).toEqual(['This is the ', 'offline model local-text; ', 'no']);
    expect(pieces.map((piece) => dig(piece, 'candidates', 0, 'finishReason'))).toEqual([
      undefined,
      undefined,
      'MAX_TOKENS',
    ]);
    expect(dig(pieces[2], 'usageMetadata', 'candidatesTokenCount')).toBe(10);
  });

  it('sends a JSON list without alt=sse', async () => {
    const { json } = await gateway.post(path, turn('hi', { generationConfig: { maxOutputTokens: 3 } }));
    expect((json as unknown[]).map(contentText).join('')).toBe('This is the ');
  });
});
