import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from 'fast-png';
import { imageSize } from 'image-size';
import { describe, expect } from 'vitest';
import { imageReply } from '../helpers/with-server.ts';
import { manyJobs, test } from './with-batch.ts';

/** A gray picture of few bytes, whatever its size. */
function pngOf(width: number, height: number): Buffer {
  return Buffer.from(encode({ width, height, data: new Uint8Array(width * height), channels: 1, depth: 8 }));
}

describe('batch gallery', () => {
  test('says why it shows no picture: gone, of a strange type, or of too many pixels to be decoded', async ({
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
    for (const flags of [[], ['--embed']]) {
      expect((await batch(['gallery', 'out', ...flags])).code).toBe(0);
      const page = readFileSync(join(folder.cwd, 'out/index.html'), 'utf8');
      const hidden = [...page.matchAll(/<span class="none">([^<]*)</g)].map(([, why]) => why);
      const known = [
        'it has 8191×8191 pixels, more than 24 megapixels',
        'browsers show no image/bmp',
        'the file is gone',
      ];
      expect(hidden).toEqual(flags.length === 0 ? known : known.toSpliced(1, 0, 'it cannot be decoded'));
    }
  });

  test('--embed of the built program draws on threads, and the pictures stand in their order', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = (prompt) => {
      const side = Number(prompt.slice(1));
      return { body: imageReply({ mimeType: 'image/png', data: pngOf(side, side).toString('base64') }) };
    };
    folder.jobs(...manyJobs(9).map((job) => ({ ...job, command: 'image gen' })));
    await batch();
    const bin = join(import.meta.dirname, '../../bin/gateway-cli.js');
    const printed = execFileSync(process.execPath, [bin, 'batch', 'gallery', 'out', '--embed'], { cwd: folder.cwd });
    expect(printed.toString()).toBe(`${join('out', 'index.html')}\n`);
    const page = readFileSync(join(folder.cwd, 'out/index.html'), 'utf8');
    const sides = [...page.matchAll(/<img src="data:image\/jpeg;base64,([^"]*)" width="(\d+)"/g)].map(
      ([, data, width]) => {
        const size = imageSize(Buffer.from(data as string, 'base64'));
        return [size.width, size.height, Number(width)];
      },
    );
    expect(sides).toEqual(Array.from({ length: 9 }, (_, i) => [i + 1, i + 1, i + 1]));
  });
});
