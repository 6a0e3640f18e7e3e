import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from 'fast-png';
import { describe, expect } from 'vitest';
import { createClient } from '../../../../src/index.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { test } from '../../../helpers/with-server.ts';
import { jpeg, png } from '../../../replies/deviation.ts';

const transparent = (width: number, height: number) =>
  Buffer.from(encode({ width, height, data: new Uint8Array(4 * width * height), channels: 4 }));
const opaque = (channels: 3 | 4) =>
  Buffer.from(encode({ width: 1, height: 1, data: new Uint8Array(channels).fill(255), channels }));
const edit = 'image edit -i dot.png blue --mask mask.png -o out.png'.split(' ');
const openai = ['--service', 'openai', '-m', 'm'];

function folderWith(mask: Buffer): string {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'dot.png'), Buffer.from(png, 'base64'));
  writeFileSync(join(cwd, 'mask.png'), mask);
  return cwd;
}

describe('--mask', () => {
  test('--mask is sent unchanged beside the image that it covers', async ({ server, cli }) => {
    const mask = transparent(1, 1);
    server.reply({ body: { created: 1, data: [{ b64_json: png }] } });
    const env = { OPENAI_API_KEY: 'k' };
    expect(await cli([...edit, ...openai], { cwd: folderWith(mask), env })).toMatchObject({ code: 0, stderr: '' });
    const [request] = server.requests;
    expect(request?.path).toBe('/v1/images/edits');
    expect(request?.body.toString('latin1')).toMatch(/name="image";.*name="mask"; filename="image.png"/s);
    expect(request?.body.includes(mask)).toBe(true);
  });

  test.for([
    ['of another size', transparent(2, 1), openai, '2x1 pixels, and the first image has 1x1'],
    ['that is no PNG', Buffer.from(jpeg, 'base64'), openai, 'is image/jpeg, and a mask is a PNG'],
    ['that marks nothing', opaque(4), openai, "--mask 'mask.png' marks nothing: no pixel of it is transparent"],
    ['without transparency', opaque(3), openai, "--mask 'mask.png' marks nothing: no pixel of it is transparent"],
    ['at Gemini', transparent(1, 1), [], '--mask: the content format does not have this field'],
    ['by chat', transparent(1, 1), ['--format', 'completions'], 'pictures by chat have no mask'],
  ] as const)('%s is refused before anything is sent', async ([, mask, flags, message], { server, cli }) => {
    const ran = await cli([...edit, ...flags], { cwd: folderWith(mask) });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(message);
    expect(server.requests).toEqual([]);
  });

  test('is a field of the library', async ({ server }) => {
    const mask = transparent(1, 1);
    server.reply({ body: { created: 1, data: [{ b64_json: png }] } });
    const client = createClient({ service: 'openai', baseUrl: server.url, apiKey: 'k' });
    await client.generateImages({ model: 'm', prompt: 'blue', media: [Buffer.from(png, 'base64')], mask });
    await client.close();
    expect(server.requests[0]?.body.includes(mask)).toBe(true);
  });

  test('one that marks nothing is refused by the library, too', async () => {
    const client = createClient({ service: 'openai', apiKey: 'k' });
    const asked = client.generateImages({
      model: 'm',
      prompt: 'blue',
      media: [Buffer.from(png, 'base64')],
      mask: opaque(4),
    });
    await expect(asked).rejects.toThrow('the mask marks nothing');
    await client.close();
  });
});
