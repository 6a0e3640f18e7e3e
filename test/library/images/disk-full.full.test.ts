import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { publishImage, writeSidecar } from '../../../src/library/images/publish.ts';
import { createFileStore } from '../../../src/library/images/store.ts';
import { namesIn, scratchFolder } from './scratch.ts';
import { isFull } from '../../helpers/full.ts';

const named = (path: string) => (at: number) => (at === 0 ? { path, given: true } : undefined);
const base64 = Buffer.from(Buffer.alloc(900_000, 'picture').toString('base64'));

const small = mkdtempSync(join(tmpdir(), 'gateway-cli-full-'));
const isMounted = runs('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', small]);
const isAway = !isMounted && !isFull;

function runs(command: string, args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

afterAll(() => {
  if (isMounted) execFileSync('umount', [small]);
  rmSync(small, { recursive: true });
});

test.skipIf(isAway)('ENOSPC while a picture comes in leaves no file (needs a mountable tmpfs)', async () => {
  const store = createFileStore({ folder: small });
  const { sink } = await store.open();
  const writing = (async () => {
    await sink.write(base64);
    await sink.end();
  })();
  await expect(writing).rejects.toMatchObject({
    class: 'not-written',
    exitCode: 12,
    message: expect.stringContaining('the disk is full'),
    cause: expect.objectContaining({ code: 'ENOSPC' }),
  });
  await store.discard();
  expect(namesIn(small)).toEqual([]);
});

test.skipIf(isAway)(
  'a paid picture goes on in the spare folder when its disk is full (needs a mountable tmpfs)',
  async () => {
    const spare = scratchFolder();
    const store = createFileStore({ folder: small, spare });
    const { sink, placeholder } = await store.open();
    for (let at = 0; at < base64.length; at += 65_536) await sink.write(base64.subarray(at, at + 65_536));
    await sink.end();
    const blob = await store.resolve(placeholder);
    expect(blob.sha256).toBe(createHash('sha256').update(Buffer.alloc(900_000, 'picture')).digest('hex'));
    expect(namesIn(small)).toEqual([]);
    const names = named('cat.png');
    await expect(publishImage(blob, names, { cwd: small, force: false })).rejects.toMatchObject({
      class: 'not-written',
    });
    expect(namesIn(small)).toEqual([]);
    // The recovery folder takes it.
    expect(await publishImage(blob, names, { cwd: spare, force: false })).toBe('cat.png');
    await store.discard();
    expect(readFileSync(join(spare, 'cat.png')).equals(Buffer.alloc(900_000, 'picture'))).toBe(true);
    expect(namesIn(spare)).toEqual(['cat.png']);
  },
);

test.skipIf(isAway)(
  'a spare folder that fills up too ends the command, without naming another one (needs a mountable tmpfs)',
  async () => {
    let told = 0;
    const store = createFileStore({
      folder: join(scratchFolder(), 'gone'),
      spare: small,
      onSpare: () => void told++,
    });
    const { sink } = await store.open();
    const writing = (async () => {
      for (let at = 0; at < base64.length; at += 65_536) await sink.write(base64.subarray(at, at + 65_536));
      await sink.end();
    })();
    await expect(writing).rejects.toMatchObject({
      class: 'not-written',
      message: expect.stringContaining('full'),
      details: { hint: expect.stringMatching(/^the picture is lost.*TMPDIR$/) },
    });
    expect(told).toBe(1);
    await store.discard();
    expect(namesIn(small)).toEqual([]);
  },
);

test.skipIf(isAway)('a full disk spares the file that --force would replace (needs a mountable tmpfs)', async () => {
  writeFileSync(join(small, 'old.png'), 'precious');
  const data = Buffer.alloc(900_000);
  const blob = { bytes: data.length, sha256: '', head: data.subarray(0, 10), content: { data } };
  await expect(publishImage(blob, named('old.png'), { cwd: small, force: true })).rejects.toMatchObject({
    class: 'not-written',
  });
  await expect(
    writeSidecar('old.png', { prompt: 'x'.repeat(600_000) }, { cwd: small, force: true }),
  ).rejects.toMatchObject({ class: 'not-written' });
  expect(namesIn(small)).toEqual(['old.png']);
  expect(readFileSync(join(small, 'old.png'), 'utf8')).toBe('precious');
});
