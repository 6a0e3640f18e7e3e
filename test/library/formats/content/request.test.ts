import { describe, expect, test } from 'vitest';
import { type Body, createUpload } from '../../../../src/library/body.ts';
import { type Asked, encode, prompt } from './asking.ts';

const png = createUpload(new Uint8Array([1, 2, 3]));
const jpeg = createUpload('/tmp/cat.jpg', 12);

const cases: [string, Asked, Body][] = [
  ['nothing but what is set', {}, {}],
  ['a prompt as one user turn', { prompt: 'Hi' }, { contents: [prompt] }],
  [
    'an edit: text first, then every image in its order',
    {
      prompt: 'Hi',
      media: [
        { mimeType: 'image/png', data: png },
        { mimeType: 'image/jpeg', data: jpeg },
      ],
    },
    {
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'Hi' },
            { inlineData: { mimeType: 'image/png', data: png } },
            { inlineData: { mimeType: 'image/jpeg', data: jpeg } },
          ],
        },
      ],
    },
  ],
  [
    'an image without a prompt',
    { media: [{ mimeType: 'image/png', data: png }] },
    { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: png } }] }] },
  ],
  [
    'earlier turns as they are, the prompt last',
    {
      prompt: 'Hi',
      ownTurns: [
        { role: 'user', parts: [{ text: 'a' }] },
        { role: 'model', parts: [{ text: 'b' }] },
      ],
    },
    {
      contents: [{ role: 'user', parts: [{ text: 'a' }] }, { role: 'model', parts: [{ text: 'b' }] }, prompt],
    },
  ],
  ['earlier turns alone', { ownTurns: [prompt] }, { contents: [prompt] }],
  [
    'the prompt after the turns of the body',
    { prompt: 'Hi', body: { contents: [{ parts: [{ text: 'a' }] }] } },
    { contents: [{ parts: [{ text: 'a' }] }, prompt] },
  ],
  [
    'earlier turns in place of those of the body',
    { prompt: 'Hi', ownTurns: [{ parts: [{ text: 'b' }] }], body: { contents: [{ parts: [{ text: 'a' }] }] } },
    { contents: [{ parts: [{ text: 'b' }] }, prompt] },
  ],
  ['a system instruction', { system: 'Be short' }, { systemInstruction: { parts: [{ text: 'Be short' }] } }],
  [
    'every setting under its camelCase name',
    {
      temperature: 0,
      topP: 0.9,
      topK: 40,
      candidates: 2,
      maxTokens: 100,
      stop: ['END'],
      seed: 0,
      responseMime: 'text/plain',
      aspect: '16:9',
      size: '2K',
    },
    {
      generationConfig: {
        temperature: 0,
        topP: 0.9,
        topK: 40,
        candidateCount: 2,
        maxOutputTokens: 100,
        stopSequences: ['END'],
        seed: 0,
        responseMimeType: 'text/plain',
        imageConfig: { aspectRatio: '16:9', imageSize: '2K' },
      },
    },
  ],
  [
    'safety, tools, tool configuration and cached content',
    {
      safety: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      tools: [{ googleSearch: {} }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      cachedContent: 'cachedContents/1',
    },
    {
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      tools: [{ googleSearch: {} }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      cachedContent: 'cachedContents/1',
    },
  ],
  ['no empty lists', { stop: [], safety: [] }, {}],
  [
    'a schema with its response type',
    { schema: { type: 'object' } },
    { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: { type: 'object' } } },
  ],
  [
    'a schema with the response type that was asked for',
    { schema: { type: 'string' }, responseMime: 'text/x.enum' },
    { generationConfig: { responseMimeType: 'text/x.enum', responseJsonSchema: { type: 'string' } } },
  ],
  [
    'a schema in place of the other kind of schema in the body',
    { schema: {}, body: { generationConfig: { responseSchema: { type: 'OBJECT' }, seed: 1 } } },
    { generationConfig: { responseMimeType: 'application/json', seed: 1, responseJsonSchema: {} } },
  ],
  [
    'settings merged into those of the body, key by key',
    {
      temperature: 1,
      aspect: '1:1',
      body: {
        labels: { a: 'b' },
        generationConfig: { temperature: 0, thinkingConfig: { thinkingBudget: 0 }, imageConfig: { imageSize: '1K' } },
      },
    },
    {
      labels: { a: 'b' },
      generationConfig: {
        temperature: 1,
        thinkingConfig: { thinkingBudget: 0 },
        imageConfig: { imageSize: '1K', aspectRatio: '1:1' },
      },
    },
  ],
  [
    'the body as it is where no field lies over it',
    { body: { contents: 'odd', generationConfig: { topK: 1 } } },
    { contents: 'odd', generationConfig: { topK: 1 } },
  ],
];

describe('a request of the content format', () => {
  test.each(cases)('sends %s', (_, input, expected) => {
    expect(encode(input)).toStrictEqual(expected);
  });

  test('keeps uploads as the very same objects, to be read while sending', () => {
    const body = encode({ prompt: 'Hi', media: [{ mimeType: 'image/png', data: png }] });
    const [turn] = body['contents'] as unknown as { parts: { inlineData?: { data: unknown } }[] }[];
    expect(turn?.parts[1]?.inlineData?.data).toBe(png);
  });

  test('changes neither the body nor the turns it was given', () => {
    const body: Body = { contents: [], generationConfig: { imageConfig: {} } };
    const before = structuredClone(body);
    encode({ prompt: 'Hi', aspect: '1:1', temperature: 1, body });
    expect(body).toStrictEqual(before);
  });

  test('refuses to add a prompt to contents that are not an array', () => {
    const input = { prompt: 'Hi', body: { contents: { parts: [] } } };
    expect(() => encode(input)).toThrow(expect.objectContaining({ class: 'usage' }));
  });

  test('lets no __proto__ of a body reach an object of ours', () => {
    const body = JSON.parse('{"__proto__":{"x":1},"generationConfig":{"__proto__":{"y":1}}}') as Body;
    const encoded = encode({ temperature: 1, body });
    expect(Object.getPrototypeOf(encoded)).toBe(Object.prototype);
    expect((encoded as { x?: number }).x).toBeUndefined();
    expect(({} as { y?: number }).y).toBeUndefined();
  });
});
