import { describe, expect, test } from 'vitest';
import { chooseHint } from '../../../../src/library/reasons.ts';
import type { GatewayError } from '../../../../src/library/errors.ts';
import type { PlainRequest } from '../../../../src/library/formats/plain-request.ts';
import { createCompletionsDecoder } from '../../../../src/library/formats/completions/reply.ts';
import type { ReplyEvent } from '../../../../src/library/formats/events.ts';
import { completions } from '../../../../src/library/formats/completions/format.ts';
import type { JsonObject } from '../../../../src/library/json.ts';
import { describeBody, segmentForm } from '../../../../src/library/body.ts';
import { base, data, local, openai, openrouter } from './asking.ts';

function refusalOf(ask: PlainRequest, quirks = openai): GatewayError {
  try {
    completions.encode(ask, quirks);
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error('it was not refused');
}

describe("OpenAI's operations for images", () => {
  const image = { ...base, use: 'image', model: 'gpt-image-2.6-flare', prompt: 'a cat' } as const;

  test.each<[string, Partial<PlainRequest>, JsonObject]>([
    ['nothing more than what is asked', {}, {}],
    ['several pictures', { candidates: 3 }, { n: 3 }],
    ['a size as it is', { size: '2048x1152' }, { size: '2048x1152' }],
    ['a size as it is, whatever the shape', { size: 'auto', aspect: '16:9' }, { size: 'auto' }],
    ['the size of a shape', { aspect: '3:2' }, { size: '1536x1024' }],
    ['the size of a shape and of 1K', { aspect: '2:3', size: '1K' }, { size: '1024x1536' }],
    ['the size of 1K', { size: '1K' }, { size: '1024x1024' }],
    ['16:9, in multiples of 16 and of about 1K', { aspect: '16:9' }, { size: '1280x720' }],
    ['9:16 upright', { aspect: '9:16' }, { size: '720x1280' }],
    ['21:9', { aspect: '21:9' }, { size: '1568x672' }],
    ['3:1, the widest', { aspect: '3:1', size: '1K' }, { size: '1776x592' }],
    ['a square of 2K, which is not experimental', { size: '2K' }, { size: '1920x1920' }],
    ['16:9 of 2K', { aspect: '16:9', size: '2K' }, { size: '2560x1440' }],
    ['16:9 of 4K, whose longer side is the longest', { aspect: '16:9', size: '4K' }, { size: '3840x2160' }],
    ['4:3 of 4K, below the most pixels', { aspect: '4:3', size: '4K' }, { size: '3264x2448' }],
    ['a shape that is not in its lowest terms', { aspect: '1920:1080' }, { size: '1280x720' }],
    ['a shape with a fraction', { aspect: '19.5:9' }, { size: '1456x672' }],
    ['a square of 4K', { size: '4K' }, { size: '2880x2880' }],
    [
      'quality, background and type',
      { quality: 'high', background: 'transparent', outputFormat: 'webp' },
      { quality: 'high', background: 'transparent', output_format: 'webp' },
    ],
    ['a shape with large numbers, in the size that is large enough', { aspect: '43:24' }, { size: '1376x768' }],
  ])('are asked with %s', (_, ask, more) => {
    expect(completions.encode({ ...image, ...ask }, openai)).toStrictEqual({
      path: '/v1/images/generations',
      body: { model: 'gpt-image-2.6-flare', prompt: 'a cat', ...more },
    });
  });

  test('are sent pictures to change as files of a form', async () => {
    const media = [
      { mimeType: 'image/png', data, title: 'a "b".png' },
      { mimeType: 'image/jpeg', data },
    ];
    const encoded = completions.encode({ ...image, use: 'edit', media, candidates: 2 }, openai);
    expect([encoded.path, encoded.form]).toStrictEqual(['/v1/images/edits', true]);
    expect(describeBody(encoded.body)).toStrictEqual({
      model: 'gpt-image-2.6-flare',
      prompt: 'a cat',
      n: 2,
      'image[]': ['<3 bytes>', '<3 bytes>'],
    });
    expect(segmentForm(encoded.body).bytes).toBeGreaterThan(6);
  });

  test('have in a form a field for each value inside an object', () => {
    const form = segmentForm({ prompt: 'x', svg: { model: 'm', more: { deep: [1, 2] } } });
    const text = form.segments.map(String).join('');
    expect(text.match(/name="[^"]+"\r\n\r\n.*/g)).toEqual([
      'name="prompt"\r\n\r\nx',
      'name="svg[model]"\r\n\r\nm',
      'name="svg[more][deep]"\r\n\r\n1',
      'name="svg[more][deep]"\r\n\r\n2',
    ]);
  });

  test('are sent the mask of a picture as a file of its own', () => {
    const ask: PlainRequest = { ...image, use: 'edit', media: [{ mimeType: 'image/png', data }] };
    const { body } = completions.encode({ ...ask, mask: { mimeType: 'image/png', data } }, openai);
    expect(body['mask']).toMatchObject({ file: { name: 'image.png', mimeType: 'image/png' } });
  });

  test.each<[string, Partial<PlainRequest>, string, string]>([
    ['a shape that is too wide', { aspect: '4:1' }, "no aspect ratio '4:1'", 'it has those from 1:3 to 3:1'],
    ['a shape without multiples of 16', { aspect: '999:998' }, "no aspect ratio '999:998'", 'multiples of 16'],
    ['a size that they lack', { size: '8K' }, "no size '8K'", 'it has 1K, 2K, 4K, or WxH in pixels'],
    ['a longer side in pixels', { size: '1024' }, "no size '1024'", 'it has 1K, 2K, 4K, or WxH in pixels'],
    ['a seed', { seed: 1 }, "no place for 'seed'", 'leave --seed out'],
    ['a system text', { system: 'x' }, "no place for 'system'", 'leave --system out'],
    ['metadata', { metadata: { user: 'x' } }, "no place for 'metadata'", 'leave --metadata out'],
    ['a choice of tools', { toolChoice: 'auto' }, "no place for 'toolChoice'", 'leave --tool-choice out'],
    ["turns in a format's own form", { ownTurns: [{ role: 'user' }] }, "no place for 'ownTurns'", 'leave it out'],
    ['earlier turns', { turns: [{ role: 'user', content: 'x' }] }, "no place for 'turns'", 'leave it out'],
    [
      'a document',
      { media: [{ mimeType: 'text/plain', data: 'x' }] },
      'takes pictures, not text/plain',
      'leave the file',
    ],
  ])('refuse %s', (_, ask, message, hint) => {
    const error = refusalOf({ ...image, ...ask });
    expect(error).toMatchObject({ class: 'usage', details: { sent: 'no' } });
    expect(error.message).toContain(message);
    expect(chooseHint(error)).toContain(hint);
  });

  test.each([
    ['image/webp', {}, 'webp'],
    ['image/jpeg', {}, 'jpeg'],
    ['image/png', {}, undefined],
    ['image/tiff', {}, undefined],
    ['image/gif', {}, 'gif'],
    ['constructor', {}, undefined],
    ['image/svg+xml', {}, 'svg'],
    ['image/webp', { output_format: 'png' }, 'png'],
  ])('are asked for the type that is wanted: %s beside %j', (imageType, body, format) => {
    expect(completions.encode({ ...image, imageType, body }, openai).body['output_format']).toBe(format);
  });

  test('are not asked where a service has none', () => {
    expect(completions.encode(image, local).path).toBe('/v1/chat/completions');
  });
});

describe("OpenRouter's operation for images", () => {
  const image = { ...base, use: 'image', model: 'google/gemini-nano-banana-2.1', prompt: 'a cat' } as const;

  test.each<[string, Partial<PlainRequest>, JsonObject]>([
    ['nothing more than what is asked', {}, {}],
    [
      'shape and class of size as they are',
      { aspect: '19.5:9', size: '2K' },
      { aspect_ratio: '19.5:9', resolution: '2K' },
    ],
    ['both sides as they are', { size: '2048x1152' }, { size: '2048x1152' }],
    ['several pictures and a seed', { candidates: 2, seed: 7 }, { n: 2, seed: 7 }],
    ['the type of the name', { imageType: 'image/webp' }, { output_format: 'webp' }],
    ['a type over that of the name', { imageType: 'image/webp', outputFormat: 'png' }, { output_format: 'png' }],
    ['no type that it does not have', { imageType: 'image/gif' }, {}],
    ['quality and background', { quality: 'low', background: 'opaque' }, { quality: 'low', background: 'opaque' }],
  ])('is asked with %s', (_, ask, more) => {
    expect(completions.encode({ ...image, ...ask }, openrouter)).toStrictEqual({
      path: '/v1/images',
      body: { model: image.model, prompt: 'a cat', ...more },
    });
  });

  test('refers to the pictures to change', () => {
    const { body } = completions.encode(
      { ...image, use: 'edit', media: [{ mimeType: 'image/png', data }] },
      openrouter,
    );
    expect(describeBody(body)['input_references']).toStrictEqual([
      { type: 'image_url', image_url: { url: 'data:image/png;base64,<Base64, 4 characters>' } },
    ]);
  });

  test.each<[Partial<PlainRequest>, string]>([
    [{ mask: { mimeType: 'image/png', data } }, "no place for 'mask'"],
    [{ temperature: 1 }, "no place for 'temperature'"],
    [{ media: [{ mimeType: 'application/pdf', data }] }, 'takes pictures, not application/pdf'],
  ])('refuses %j', (ask, message) => {
    expect(refusalOf({ ...image, ...ask }, openrouter).message).toContain(message);
  });
});

describe('reads pictures of the images operations', () => {
  const linked = { type: 'text', text: '![image](https://h/a.png)', candidate: 0 } as const;
  const png = { b64_json: 'iVBO', revised_prompt: 'A cat' };
  const cases: [string, object, ReplyEvent[]][] = [
    [
      'with their type',
      { created: 1, data: [png, { b64_json: 'iVBP' }], output_format: 'webp', size: '1024x1024' },
      [
        { type: 'blob', mimeType: 'image/webp', data: 'iVBO', candidate: 0 },
        { type: 'blob', mimeType: 'image/webp', data: 'iVBP', candidate: 0 },
      ],
    ],
    ['without it', { created: 1, data: [png] }, [{ type: 'blob', mimeType: undefined, data: 'iVBO', candidate: 0 }]],
    [
      'with the type of each',
      { data: [{ b64_json: 'iVBO', media_type: 'image/jpeg' }] },
      [{ type: 'blob', mimeType: 'image/jpeg', data: 'iVBO', candidate: 0 }],
    ],
    ['as links', { data: [{ url: 'https://h/a.png', revised_prompt: 'x' }] }, [linked]],
    ['beside a null', { data: [{ b64_json: null, url: 'https://h/a.png' }] }, [linked]],
    ['beside an empty text', { data: [{ b64_json: '', url: 'https://h/a.png' }] }, [linked]],
    ['not from a data URL without data', { data: [{ b64_json: '', url: 'data:image/png;base64,' }] }, []],
    [
      'in a data URL',
      { data: [{ url: 'data:image/png;base64,iVBO' }] },
      [{ type: 'blob', mimeType: 'image/png', data: 'iVBO', candidate: 0 }],
    ],
    ['where there are none', { created: 1, data: [] }, []],
  ];
  test.each(cases)('%s', (_, json, expected) => {
    expect(createCompletionsDecoder().whole(json)).toStrictEqual(expected);
  });

  test('a reply of the images operations is read with its token counts', () => {
    const usage = {
      input_tokens: 50,
      output_tokens: 1056,
      total_tokens: 1106,
      input_tokens_details: { text_tokens: 10, image_tokens: 40 },
      output_tokens_details: { image_tokens: 1050, text_tokens: 6 },
    };
    expect(createCompletionsDecoder().whole({ data: [png], usage })[1]).toStrictEqual({
      type: 'facts',
      facts: {
        usage: {
          inputTokens: 50,
          outputTokens: 1056,
          thinkingTokens: undefined,
          cachedInputTokens: undefined,
          imageInputTokens: 40,
          imageOutputTokens: 1050,
          totalTokens: 1106,
        },
      },
    });
  });
});
