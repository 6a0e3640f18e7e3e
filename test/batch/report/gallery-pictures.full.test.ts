import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from 'fast-png';
import { describe, expect } from 'vitest';
import { imageReply } from '../../helpers/with-server.ts';
import { manyJobs, test } from '../with-batch.ts';

/** A gray picture of few bytes, whatever its size. */
function pngOf(width: number, height: number): Buffer {
  return Buffer.from(encode({ width, height, data: new Uint8Array(width * height), channels: 1, depth: 8 }));
}

describe('batch gallery', () => {
  test('says why it shows no picture: removed, of an unknown type, or of too many pixels', async ({
    server,
    folder,
    batch,
  }) => {
    const huge = pngOf(8191, 8191);
    const twoHeaders = Buffer.concat([pngOf(1, 1).subarray(0, 33), huge.subarray(8)]);
    server.answer = (prompt) => {
      const data = { p1: huge, p2: twoHeaders, p3: Buffer.from('BM'.padEnd(64, '\0')), p4: pngOf(2, 2) }[prompt];
      return {
        body: imageReply({
          mimeType: prompt === 'p3' ? 'image/bmp' : 'image/png',
          data: data?.toString('base64') ?? '',
        }),
      };
    };
    folder.jobs(...manyJobs(4).map((job) => ({ ...job, command: 'image gen' })));
    await batch();
    rmSync(join(folder.cwd, 'out/images/p4.png'));
    expect((await batch(['gallery', 'out'])).code).toBe(0);
    const page = readFileSync(join(folder.cwd, 'out/index.html'), 'utf8');
    const hidden = [...page.matchAll(/<span class="none">([^<]*)</g)].map(([, why]) => why);
    expect(hidden).toEqual([
      'it has 8191×8191 pixels, more than 24 megapixels',
      'browsers show no image/bmp',
      'the file does not exist any more',
    ]);
  });
});
