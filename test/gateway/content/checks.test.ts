import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../../src/gateway/types.ts';
import { dig, editPath, imagePath, textPath, turn, sharedGateway } from '../gateway-under-test.ts';

const log: LogEntry[] = [];
const gateway = sharedGateway({ log: (entry) => void log.push(entry) });
const offline = sharedGateway({ refuseUnknown: true });

const png = 'iVBORw0KGgo=';
const parts = (...list: unknown[]): object => ({ contents: [{ role: 'user', parts: list }] });
const config = (generationConfig: unknown): object => turn('hi', { generationConfig });
const inline = (inlineData: object): object => parts({ text: 'x' }, { inlineData });

describe('a request of the content format that is refused names the field', () => {
  const rows: [name: string, body: unknown, field: string, words: string][] = [
    ['no contents', {}, 'contents', 'contents is not specified'],
    ['contents null', { contents: null }, 'contents', 'not specified'],
    ['contents empty', { contents: [] }, 'contents', 'must not be empty'],
    ['contents a string', { contents: 'hi' }, 'contents', '(list), "hi"'],
    ['no parts', { contents: [{ role: 'user' }] }, 'contents[0].parts', 'parts is not specified'],
    ['parts empty', parts(), 'contents[0].parts', 'must not be empty'],
    ['a part without data', parts({}), 'contents[0].parts[0].data', 'must have one initialized field'],
    [
      'a part with two kinds',
      parts({ text: 'x', inlineData: { mimeType: 'image/png', data: png } }),
      'contents[0].parts[0].data',
      'only one of',
    ],
    [
      'a foreign role',
      { contents: [{ role: 'assistant', parts: [{ text: 'x' }] }] },
      'contents[0].role',
      "'user' or 'model'",
    ],
    ['an unknown field', turn('x', { prompt: 'x' }), '', 'Unknown name "prompt": Cannot find field.'],
    [
      'an unknown setting',
      config({ aspectRatio: '1:1' }),
      'generation_config',
      `Unknown name "aspectRatio" at 'generation_config'`,
    ],
    [
      'an extreme ratio',
      config({ imageConfig: { aspectRatio: '99:1' } }),
      'generation_config.image_config.aspect_ratio',
      '"99:1" is not an aspect ratio from 1:10 to 10:1',
    ],
    ['an unknown part', parts({ txt: 'x' }), 'contents[0].parts[0]', 'Unknown name "txt"'],
    ['a temperature in words', config({ temperature: 'hot' }), 'generation_config.temperature', '(number), "hot"'],
    ['half a token', config({ maxOutputTokens: 1.5 }), 'generation_config.max_output_tokens', 'integer'],
    ['no tokens', config({ maxOutputTokens: 0 }), 'generation_config.max_output_tokens', 'greater than or equal to 1'],
    ['nine candidates', config({ candidateCount: 9 }), 'generation_config.candidate_count', 'less than or equal to 8'],
    [
      'a foreign MIME type',
      config({ responseMimeType: 'text/html' }),
      'generation_config.response_mime_type',
      'text/plain',
    ],
    [
      'a schema for plain text',
      config({ responseSchema: {} }),
      'generation_config.response_schema',
      'responseMimeType',
    ],
    ['an image setting for text', config({ imageConfig: {} }), 'generation_config.image_config', 'local-image'],
    ['a file without type', inline({ data: png }), 'contents[0].parts[1].inline_data.mime_type', 'not specified'],
    [
      'a file without data',
      inline({ mimeType: 'image/png' }),
      'contents[0].parts[1].inline_data.data',
      'not specified',
    ],
    [
      'a data URL',
      inline({ mimeType: 'image/png', data: `data:image/png;base64,${png}` }),
      'contents[0].parts[1].inline_data.data',
      'data-URL',
    ],
    [
      'no Base64',
      inline({ mimeType: 'image/png', data: 'iVBO*w0KGgo=' }),
      'contents[0].parts[1].inline_data.data',
      'Base64',
    ],
    [
      'Base64 with blanks',
      inline({ mimeType: 'image/png', data: 'iVBO Rw0KGgo=' }),
      'contents[0].parts[1].inline_data.data',
      'Base64',
    ],
    [
      'Base64 cut short',
      inline({ mimeType: 'image/png', data: 'iVBORw0KG' }),
      'contents[0].parts[1].inline_data.data',
      'Base64',
    ],
    ['an empty file', inline({ mimeType: 'image/png', data: '' }), 'contents[0].parts[1].inline_data.data', 'empty'],
    [
      'a wrong type',
      inline({ mimeType: 'image/jpeg', data: png }),
      'contents[0].parts[1].inline_data.mime_type',
      'the bytes are image/png',
    ],
  ];
  it.each(rows)('%s', async (_, body, field, words) => {
    const { status, json } = await offline.post(textPath, body);
    const message = String(dig(json, 'error', 'message'));
    expect([status, dig(json, 'error', 'status'), message]).toEqual([
      400,
      'INVALID_ARGUMENT',
      expect.stringContaining(words),
    ]);
    expect(dig(json, 'error', 'details', 0, 'fieldViolations', 0)).toEqual({
      ...(field && { field }),
      description: message,
    });
  });

  const ratios = ['', '16', '16x9', '16:0', '0:9', '16:9:1', '-16:9', '100:1', 'square', '1e9:1'];
  it.each(ratios)('aspectRatio %j', async (aspectRatio) => {
    const { status, json } = await gateway.post(imagePath, config({ imageConfig: { aspectRatio } }));
    expect([status, dig(json, 'error', 'details', 0, 'fieldViolations', 0, 'field')]).toEqual([
      400,
      'generation_config.image_config.aspect_ratio',
    ]);
  });

  it.each(['1k', '8K', 'big'])('imageSize %j', async (imageSize) => {
    expect((await gateway.post(imagePath, config({ imageConfig: { imageSize } }))).status).toBe(400);
  });

  it('an edit without an image, and a picture without a prompt', async () => {
    const edit = await gateway.post(editPath, turn('make it blue'));
    expect([edit.status, dig(edit.json, 'error', 'message')]).toEqual([
      400,
      expect.stringContaining('parts[1].inline_data'),
    ]);
    expect((await gateway.post(imagePath, turn(' '))).status).toBe(400);
  });
});

describe('what the content format does not know is left out, and named in the log', () => {
  const rows: [name: string, body: unknown, note: string][] = [
    ['a field', turn('x', { prompt: 'x', thread: {} }), 'ignored prompt, thread'],
    ['a setting', config({ aspectRatio: '1:1', seed: 7 }), 'ignored generationConfig.aspectRatio'],
    ['a kind of part', parts({ text: 'x' }, { song: {} }), 'ignored contents.0.parts.1.song'],
    ['a lone kind of part', parts({ song: {} }), 'ignored contents.0.parts.0.song'],
    [
      'a value',
      config({ thinkingConfig: {}, responseMimeType: 'text/song' }),
      'ignored generationConfig.responseMimeType',
    ],
    [
      'one of several values',
      config({ responseModalities: ['TEXT', 'SMELL'] }),
      'ignored generationConfig.responseModalities.1',
    ],
    ['a tool', turn('x', { tools: [{ newTool: {} }] }), 'ignored tools.0.newTool'],
    [
      'many fields',
      turn('x', Object.fromEntries([...'abcdefg'].map((name) => [name, 1]))),
      'ignored a, b, c, d, e and 2 more',
    ],
  ];
  it.each(rows)('%s', async (_, body, note) => {
    const count = log.length;
    expect((await gateway.post(textPath, body)).status).toBe(200);
    await expect.poll(() => log.slice(count)).toMatchObject([{ status: 200, note }]);
  });
});

describe('snake_case names', () => {
  const body = { contents: [{ parts: [{ text: 'x' }, { inline_data: { mime_type: 'image/png', data: png } }] }] };

  it('are read, as client libraries write them', async () => {
    expect((await gateway.post(textPath, body)).status).toBe(200);
    expect((await gateway.post(textPath, turn('x', { generation_config: { max_output_tokens: 1 } }))).text).toContain(
      '"This"',
    );
  });
});

it('takes every field that the specification lists', async () => {
  const body = {
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    systemInstruction: { parts: [{ text: 'short' }] },
    generationConfig: {
      temperature: 1,
      topP: 0.5,
      topK: 3,
      candidateCount: 1,
      maxOutputTokens: 50,
      stopSequences: ['x'],
      seed: 7,
    },
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
    tools: [{ functionDeclarations: [{ name: 'f' }] }, { googleSearch: {} }, { codeExecution: {} }],
    toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
    cachedContent: 'cachedContents/x',
  };
  expect((await offline.post(textPath, body)).status).toBe(200);
});
