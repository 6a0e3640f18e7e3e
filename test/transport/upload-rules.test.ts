import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createUpload, segmentBody, streamBody } from '../../src/body.ts';
import { openFilesIn, tellsOpenFiles } from '../helpers/open-files.ts';
import { scratchFolder } from '../helpers/scratch.ts';

function streamOf(path: string, bytes: number): AsyncGenerator<Uint8Array> {
  return streamBody(segmentBody({ data: createUpload(path, bytes) }));
}

async function readWhole(stream: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const part of stream) expect(part.byteLength).toBeGreaterThan(0);
}

test('a file that grew before it was opened is not sent in part', async () => {
  const path = join(scratchFolder(), 'grown.bin');
  writeFileSync(path, 'longer than it was');
  await expect(readWhole(streamOf(path, 6))).rejects.toMatchObject({
    class: 'usage',
    message: `${path} changed while it was read`,
  });
});

test('a file that can be opened but not read is a usage error', async () => {
  const path = join(scratchFolder(), 'folder');
  mkdirSync(path);
  const size = Math.max(1, statSync(path).size);
  await expect(readWhole(streamOf(path, size))).rejects.toMatchObject({ class: 'usage' });
});

describe.skipIf(!tellsOpenFiles)('no file stays open (needs /proc)', () => {
  test.each(['read whole', 'left early', 'of another size'])('when it is %s', async (how) => {
    const folder = scratchFolder();
    const path = join(folder, 'picture.bin');
    writeFileSync(path, Buffer.alloc(500_000, 1));
    const stream = streamOf(path, how === 'of another size' ? 6 : 500_000);
    if (how === 'left early') {
      await stream.next();
      await stream.next();
      expect(openFilesIn(folder)).toEqual([path]);
      await stream.return(undefined);
    } else await readWhole(stream).catch(() => {});
    expect(openFilesIn(folder)).toEqual([]);
  });
});
