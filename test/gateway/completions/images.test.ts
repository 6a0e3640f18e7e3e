import { imageSize } from 'image-size';
import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../../src/gateway/types.ts';
import { dig, dotPng, key, type Answered, sharedGateway } from '../gateway-under-test.ts';

const log: LogEntry[] = [];
const gateway = sharedGateway({ log: (entry) => void log.push(entry) });

const generate = (body: object): Promise<Answered> =>
  gateway.post('/v1/images/generations', { prompt: 'a boat', size: '256x128', ...body });

function pictureAt(json: unknown, index = 0): object {
  return imageSize(Buffer.from(String(dig(json, 'data', index, 'b64_json')), 'base64'));
}

describe('generated pictures', () => {
  it('come in the asked number and size, with their usage', async () => {
    const { status, json } = await generate({ model: 'gpt-image-2.6-flare', n: 2 });
    expect([status, json]).toMatchObject([
      200,
      {
        created: expect.any(Number),
        data: [{ b64_json: expect.any(String) }, { b64_json: expect.any(String) }],
        output_format: 'png',
        size: '256x128',
        usage: {
          input_tokens: 2,
          input_tokens_details: { image_tokens: 0, text_tokens: 2 },
          output_tokens: 2580,
          total_tokens: 2582,
        },
      },
    ]);
    expect([pictureAt(json), pictureAt(json, 1)]).toMatchObject([
      { type: 'png', width: 256, height: 128 },
      { type: 'png', width: 256, height: 128 },
    ]);
    expect(dig(json, 'data', 0)).not.toEqual(dig(json, 'data', 1));
    await expect.poll(() => log.at(-1)).toMatchObject({ note: 'gpt-image-2.6-flare is answered by local-image' });
  });

  it('need only a prompt, and are a square of 1024 pixels then', async () => {
    const { json } = await gateway.post('/images/generations', { prompt: 'a boat' });
    expect(pictureAt(json)).toMatchObject({ width: 1024, height: 1024 });
    expect(json).toMatchObject({ size: '1024x1024' });
  });

  it('are JPEG files where output_format says so, and data URLs where they should be URLs', async () => {
    const { json } = await generate({ output_format: 'jpeg' });
    expect([pictureAt(json), json]).toMatchObject([{ type: 'jpg', width: 256 }, { output_format: 'jpeg' }]);
    const urls = await generate({ model: 'dall-e-3', response_format: 'url' });
    expect(dig(urls.json, 'data', 0, 'url')).toMatch(/^data:image\/png;base64,iVBOR/);
  });

  const rows: [name: string, body: object, param: string, words: string][] = [
    ['no prompt', { prompt: undefined }, 'prompt', "Missing required parameter: 'prompt'."],
    ['an empty prompt', { prompt: ' ' }, 'prompt', 'a prompt or an instruction is required'],
    ['a size in words', { size: 'large' }, 'size', "Expected 'auto'"],
    ['a size without end', { size: '9999x9999' }, 'size', 'at most 16777216 pixels'],
    ['eleven pictures', { n: 11 }, 'n', 'less than or equal to 10'],
    ['a type that is not made here', { output_format: 'webp' }, 'output_format', "does not make 'output_format': webp"],
    ['a stream', { stream: true }, 'stream', "does not make 'stream': true"],
  ];
  it.each(rows)('%s is refused by its name', async (_, body, param, words) => {
    const { status, json } = await generate(body);
    expect([status, json]).toMatchObject([400, { error: { param, message: expect.stringContaining(words) } }]);
  });

  it('are not drawn by a model of text', async () => {
    const { status, json } = await generate({ model: 'local-text' });
    const message = expect.stringMatching(/`local-text` does not exist.*has local-image, local-edit\./);
    expect([status, json]).toMatchObject([404, { error: { code: 'model_not_found', message } }]);
  });
});

describe('edited pictures', () => {
  const png = (): Blob => new Blob([Buffer.from(dotPng, 'base64')], { type: 'image/png' });

  async function edit(fields: Record<string, string | Blob | Blob[]>): Promise<{ status: number; json: unknown }> {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) for (const each of [value].flat()) form.append(name, each);
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${gateway.url}/v1/images/edits`, { method: 'POST', headers, body: form });
    return { status: response.status, json: await response.json() };
  }

  it.each(['image', 'image[]'])('are made from the form field %s', async (name) => {
    const { status, json } = await edit({
      [name]: png(),
      prompt: 'make it blue',
      model: 'gpt-image-2.6-flare',
      n: '2',
    });
    expect(status).toBe(200);
    expect([pictureAt(json), pictureAt(json, 1)]).toMatchObject([{ width: 1 }, { width: 1 }]);
    expect(dig(json, 'usage', 'input_tokens_details', 'image_tokens')).toBe(258);
  });

  it('are the first input, and count several inputs', async () => {
    const { json } = await edit({ 'image[]': [png(), png()], mask: png(), prompt: 'x', size: '96x64' });
    expect(pictureAt(json)).toMatchObject({ type: 'png', width: 1, height: 1 });
    expect(dig(json, 'usage', 'input_tokens_details', 'image_tokens')).toBe(516);
  });

  it('are the same for the same form, whose boundary differs', async () => {
    const fields = { image: png(), prompt: 'x', model: 'fault-503-once' };
    expect([(await edit(fields)).status, (await edit(fields)).status]).toEqual([503, 200]);
  });

  it('need an image, a prompt, and a form or JSON', async () => {
    expect(await edit({ prompt: 'x' })).toMatchObject({ status: 400, json: { error: { param: 'image' } } });
    expect(await edit({ image: png() })).toMatchObject({ status: 400, json: { error: { param: 'prompt' } } });
    expect(await gateway.post('/v1/images/edits', { prompt: 'x' })).toMatchObject({ status: 400 });
    expect(await gateway.post('/v1/images/edits', 'x', { 'content-type': 'text/plain' })).toMatchObject({
      status: 415,
    });
    const type = { 'content-type': 'multipart/form-data; boundary=x' };
    expect(await gateway.post('/v1/images/edits', 'no form', type)).toMatchObject({ status: 400 });
  });
});

describe('faults of pictures', () => {
  it('faults of images drop, damage, misname and misplace images', async () => {
    const ask = async (fault: string): Promise<unknown> => (await generate({ model: `fault-${fault}`, n: 2 })).json;
    expect(dig(await ask('fewer-images'), 'data')).toHaveLength(1);
    expect(dig(await ask('no-image'), 'data')).toEqual([]);
    expect(dig(await ask('bad-base64'), 'data', 0, 'b64_json')).toContain('!*!*');
    expect(await ask('wrong-mime')).toMatchObject({ output_format: 'jpeg' });
    expect(dig(await ask('markdown-image'), 'data', 0, 'url')).toMatch(/^data:image\/png;base64,/);
    expect(dig(await ask('snake-case'), 'data', 0, 'b64_json')).not.toMatch(/[+/=]/);
    expect(dig(await ask('draft-image'), 'data')).toHaveLength(2);
    expect(Object.keys(Object(await ask('no-usage')))).toEqual(['created', 'data']);
  });

  it.each(['blocked', 'safety'])('refuse the prompt: fault-%s', async (fault) => {
    const { status, json } = await generate({ model: `fault-${fault}` });
    const error = { type: 'image_generation_user_error', code: 'moderation_blocked', param: null };
    expect([status, json]).toMatchObject([400, { error }]);
  });
});

describe("OpenRouter's operation", () => {
  it('draws the ratio and the class of size that it is asked for', async () => {
    const { status, json } = await gateway.post('/v1/images', { prompt: 'a', aspect_ratio: '2:1', resolution: '512' });
    expect(status).toBe(200);
    expect(pictureAt(json)).toMatchObject({ type: 'png', width: 728, height: 360 });
  });

  it('changes the picture that it refers to', async () => {
    const url = `data:image/png;base64,${dotPng}`;
    const input_references = [{ type: 'image_url', image_url: { url } }];
    const { status, json } = await gateway.post('/v1/images', {
      model: 'gpt-image-2.6-flare',
      prompt: 'a',
      input_references,
    });
    expect([status, pictureAt(json)]).toMatchObject([200, { type: 'png' }]);
    await expect.poll(() => log.at(-1)).toMatchObject({ note: 'gpt-image-2.6-flare is answered by local-edit' });
  });
});
