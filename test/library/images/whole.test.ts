import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import jpegJs from 'jpeg-js';
import { encode as encodePng } from 'fast-png';
import { describe, expect } from 'vitest';
import { isCutImage } from '../../../src/library/images/whole.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { imageReply, test } from '../../helpers/with-server.ts';

const pixels = { width: 30, height: 20, data: new Uint8Array(30 * 20 * 4).map((_, at) => (at * 7919) % 251) };
const pictures: Record<string, Buffer> = {
  PNG: Buffer.from(encodePng(pixels)),
  JPEG: jpegJs.encode({ ...pixels, data: Buffer.from(pixels.data) }).data,
  WebP: Buffer.from('5249464614000000574542505650384c0d0000002f13400200001234', 'hex'),
  GIF: Buffer.from('47494638396101000100800000000000ffffff2c00000000010001000002024401003b', 'hex'),
};

describe('tells a picture that is cut from a whole one', () => {
  test.for(Object.entries(pictures))('%s, in memory and in a file', async ([, data]) => {
    const file = join(scratchFolder(), 'picture');
    const isCut = async (bytes: Buffer): Promise<boolean[]> => {
      writeFileSync(file, bytes);
      const blob = { bytes: bytes.length, sha256: '', head: bytes };
      return [
        await isCutImage({ ...blob, content: { data: bytes } }),
        await isCutImage({ ...blob, content: { file } }),
      ];
    };
    expect(await isCut(data)).toEqual([false, false]);
    expect(await isCut(Buffer.concat([data, Buffer.alloc(100)]))).toEqual([false, false]);
    for (const end of [data.length - 1, Math.floor(data.length * 0.7)])
      expect(await isCut(data.subarray(0, end))).toEqual([true, true]);
  });

  test('images of other types are never said to be cut', async () => {
    const data = Buffer.from('BM'.padEnd(64, '\0'));
    expect(await isCutImage({ bytes: 64, sha256: '', head: data, content: { data } })).toBe(false);
  });
});

test('a cut picture is saved with a warning, and with --strict is exit 11', async ({ server, cli }) => {
  const data = (pictures['PNG'] as Buffer).subarray(0, 100).toString('base64');
  server.always({ body: imageReply({ mimeType: 'image/png', data }) });
  const argv = ['image', 'gen', 'x', '-o', 'cat.png', '-f'];
  const told = 'cat.png is cut: its last part did not come\n';
  expect(await cli(argv)).toMatchObject({ code: 0, stdout: 'cat.png\n', stderr: `gateway-cli: warning: ${told}` });
  expect(await cli([...argv, '--strict'])).toMatchObject({
    code: 11,
    stdout: 'cat.png\n',
    stderr: expect.stringContaining(`gateway-cli: incomplete: ${told}`),
  });
});
