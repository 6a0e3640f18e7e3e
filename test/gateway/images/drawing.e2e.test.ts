import { decode } from 'fast-png';
import { describe, expect, it } from 'vitest';
import { dig, imageOf, imagePath, turn, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();

async function draw(prompt: string, imageConfig: object = {}, more: object = {}): Promise<unknown> {
  const generationConfig = { imageConfig: { imageSize: '512', ...imageConfig }, ...more };
  const { status, json } = await gateway.post(imagePath, turn(prompt, { generationConfig }));
  expect(status).toBe(200);
  return json;
}

/** How many different colours a picture has. */
function countColours(bytes: Buffer): number {
  const { data } = decode(bytes);
  const colours = new Set<number>();
  for (let at = 0; at < data.length; at += 4)
    colours.add(((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0));
  return colours.size;
}

describe('local-image', () => {
  it('draws a PNG of about a megapixel in the ratio', async () => {
    const json = await draw('a lighthouse at dusk', { imageSize: '1K', aspectRatio: '16:9' });
    const { mimeType, bytes } = imageOf(json);
    expect(mimeType).toBe('image/png');
    expect(decode(bytes, { checkCrc: true })).toMatchObject({ width: 1360, height: 768, channels: 4, depth: 8 });
    expect(countColours(bytes)).toBeGreaterThan(50);
    expect(dig(json, 'candidates', 0, 'finishReason')).toBe('STOP');
    expect(dig(json, 'usageMetadata', 'candidatesTokensDetails')).toEqual([{ modality: 'IMAGE', tokenCount: 1290 }]);
  });

  it('says in words, in the file and in its text that it is offline', async () => {
    const json = await draw('a lighthouse at dusk');
    expect(dig(json, 'candidates', 0, 'content', 'parts', 0, 'text')).toBe(
      'An offline test card of 512×512 pixels, no model was asked.',
    );
    expect(decode(imageOf(json).bytes).text).toMatchObject({ Software: 'gateway-cli offline model' });
  });

  it('leaves the words out where only IMAGE is wanted', async () => {
    const json = await draw('x', {}, { responseModalities: ['IMAGE'] });
    expect(dig(json, 'candidates', 0, 'content', 'parts')).toEqual([{ inlineData: expect.any(Object) }]);
  });

  it('draws the same picture for the same prompt and seed, and others for others', async () => {
    const [one, same] = [await draw('a cat', {}, { seed: 1 }), await draw('a cat', {}, { seed: 1 })];
    expect(imageOf(same).bytes.equals(imageOf(one).bytes)).toBe(true);
    const others = [await draw('a cat', {}, { seed: 2 }), await draw('a cat'), await draw('a dog', {}, { seed: 1 })];
    for (const other of others) expect(imageOf(other).bytes.equals(imageOf(one).bytes)).toBe(false);
  });

  it('draws another picture for each candidate', async () => {
    const json = await draw('a cat', {}, { candidateCount: 3 });
    const pictures = [0, 1, 2].map((index) => imageOf(json, index).bytes.toString('base64'));
    expect(new Set(pictures).size).toBe(3);
    expect(dig(json, 'usageMetadata', 'candidatesTokenCount')).toBe(3 * 1290);
  });

  const prompts = ['a city in the rain at night', 'one-very-long-word'.repeat(20), '漢字', '🙂'];
  it.each(prompts)('draws %j', async (prompt) => {
    for (const aspectRatio of ['16:9', '1:8', '8:1']) {
      expect(countColours(imageOf(await draw(prompt, { aspectRatio })).bytes)).toBeGreaterThan(50);
    }
  });

  it('local-image keeps the file small', async () => {
    const json = await draw('hello', { imageSize: '1K', aspectRatio: '16:9' });
    expect(imageOf(json).bytes.length).toBeLessThan(300_000);
  });
});
