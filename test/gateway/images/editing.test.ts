import { describe, expect, it } from 'vitest';
import { dig, dotPng, editPath, imageOf, imagePath, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();

/** A GIF of 40×30 pixels, as far as its header. */
const gif = Buffer.concat([Buffer.from('GIF89a'), Buffer.from([40, 0, 30, 0, 0x80, 0, 0]), Buffer.from(';')]);
const png = Buffer.from(dotPng, 'base64');

async function edit(path: string, images: readonly Buffer[], mimeType: string): Promise<unknown> {
  const parts = images.map((bytes) => ({ inlineData: { mimeType, data: bytes.toString('base64') } }));
  return (await gateway.post(path, { contents: [{ parts: [{ text: 'mirror it' }, ...parts] }] })).json;
}

describe('local-edit answers with its input', () => {
  it.each([
    ['a PNG', editPath, png, 'image/png'],
    ['a type that is not drawn', editPath, gif, 'image/gif'],
    ['local-image, when an image comes with the prompt', imagePath, png, 'image/png'],
  ])('%s', async (_, path, bytes, type) => {
    const { mimeType, bytes: edited } = imageOf(await edit(path, [bytes], type));
    expect([mimeType, edited.equals(bytes)]).toEqual([type, true]);
  });

  it('of several images with the first, and says how many more came', async () => {
    const json = await edit(editPath, [gif, gif], 'image/gif');
    expect(dig(json, 'candidates', 0, 'content', 'parts', 0, 'text')).toBe(
      'The 40×30 picture and 1 more as it came, no model was asked.',
    );
  });

  it('and refuses what is no image by the name of the field', async () => {
    const json = await edit(editPath, [Buffer.from('hello, this is no image at all')], 'image/png');
    expect(dig(json, 'error', 'message')).toContain('Unable to process input image');
    expect(dig(json, 'error', 'details', 0, 'fieldViolations', 0, 'field')).toBe(
      'contents[0].parts[1].inline_data.data',
    );
  });
});
