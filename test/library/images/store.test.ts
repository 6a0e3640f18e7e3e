import { createHash } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFileStore, createMemoryStore } from '../../../src/library/images/store.ts';
import type { StoredBlob } from '../../../src/library/images/types.ts';
import type { BlobStore } from '../../../src/library/images/types.ts';
import { namesIn, scratchFolder } from './scratch.ts';

async function put(store: BlobStore, bytes: Uint8Array, pieceSize = 50_000): Promise<string> {
  const { sink, placeholder } = await store.open();
  const text = Buffer.from(Buffer.from(bytes).toString('base64'));
  for (let at = 0; at < text.length; at += pieceSize) await sink.write(text.subarray(at, at + pieceSize));
  await sink.end();
  return placeholder;
}

function contentOf({ content }: StoredBlob): Buffer {
  return 'data' in content ? Buffer.from(content.data) : readFileSync(content.file);
}

const sample = (size: number): Buffer => Buffer.from(Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) & 255));

const stores: [string, (folder: string) => BlobStore][] = [
  ['file', (folder) => createFileStore({ folder })],
  ['memory', () => createMemoryStore()],
];

test.each(stores)('stores blobs of any size with their hash and head: %s', async (_name, create) => {
  const folder = scratchFolder();
  const store = create(folder);
  for (const size of [1, 1000, 262_144, 262_145, 1_000_000]) {
    const bytes = sample(size);
    const blob = await store.resolve(await put(store, bytes));
    expect(contentOf(blob).equals(bytes)).toBe(true);
    expect(blob.bytes).toBe(size);
    expect(blob.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(Buffer.from(blob.head).equals(bytes.subarray(0, 32_768))).toBe(true);
  }
  await store.discard();
  expect(namesIn(folder)).toEqual([]);
});

test('keeps a longer head of a possible JPEG', async () => {
  const store = createMemoryStore();
  const bytes = Buffer.concat([Buffer.from('ffd8', 'hex'), sample(500_000)]);
  const blob = await store.resolve(await put(store, bytes, 1000));
  expect(Buffer.from(blob.head).equals(bytes.subarray(0, 262_144))).toBe(true);
});

test.each(stores)('resolves short strings like placeholders: %s', async (_name, create) => {
  const store = create(scratchFolder());
  expect(contentOf(await store.resolve('aGVs\nbG8')).toString()).toBe('hello');
  expect(contentOf(await store.resolve('data:image/png;base64,aGVsbG8=')).toString()).toBe('hello');
  await expect(store.resolve('aGVsb*G8')).rejects.toMatchObject({ class: 'bad-reply' });
  await expect(store.resolve('š')).rejects.toMatchObject({ class: 'bad-reply' });
  await expect(store.resolve('')).rejects.toMatchObject({
    class: 'bad-reply',
    message: expect.stringContaining('empty'),
  });
  await store.discard();
});

test('refuses the placeholder of an incomplete string', async () => {
  const folder = scratchFolder();
  const store = createFileStore({ folder });
  const { sink, placeholder } = await store.open();
  await sink.write(Buffer.from('AAAA'.repeat(100_000)));
  await expect(store.resolve(placeholder)).rejects.toMatchObject({ class: 'bad-reply' });
  await store.discard();
  expect(namesIn(folder)).toEqual([]);
});

test('makes unique placeholders of Base64 characters', async () => {
  const [one, other] = [createMemoryStore(), createMemoryStore()];
  const { placeholder } = await one.open();
  expect(placeholder).toMatch(/^[A-Za-z0-9_]{24,80}$/);
  expect((await other.open()).placeholder).not.toBe(placeholder);
});

test('temporary files are readable only by their owner, and no other files are removed', async () => {
  const folder = scratchFolder();
  const store = createFileStore({ folder });
  const blob = await store.resolve(await put(store, sample(300_000)));
  const file = 'file' in blob.content ? blob.content.file : '';
  expect(namesIn(folder)).toEqual([expect.stringMatching(/^\.gateway-cli-[0-9a-f]{24}\.part$/)]);
  expect(statSync(file).mode & 0o777).toBe(process.platform === 'win32' ? 0o666 : 0o600);
  writeFileSync(join(folder, '.gateway-cli-0123.part'), 'of another run');
  rmSync(file);
  await store.discard();
  await store.discard();
  expect(namesIn(folder)).toEqual(['.gateway-cli-0123.part']);
});

test('a store reports a removed folder, or continues in the spare one', async () => {
  const folder = scratchFolder();
  const gone = join(folder, 'gone');
  await expect(put(createFileStore({ folder: gone }), sample(10))).rejects.toMatchObject({
    class: 'not-written',
    message: expect.stringContaining(JSON.stringify(gone)),
  });
  const spare = scratchFolder();
  const store = createFileStore({ folder: gone, spare });
  const blob = await store.resolve(await put(store, sample(600_000)));
  expect(contentOf(blob).equals(sample(600_000))).toBe(true);
  expect(namesIn(spare)).toHaveLength(1);
  await store.discard();
  expect(namesIn(spare)).toEqual([]);
});

test('the store of images refuses bad Base64', async () => {
  const folder = scratchFolder();
  const store = createFileStore({ folder });
  const { sink } = await store.open();
  await sink.write(Buffer.from('AAAA'.repeat(200_000)));
  await expect(async () => sink.write(Buffer.from('AA!A'))).rejects.toMatchObject({ class: 'bad-reply' });
  await store.discard();
  expect(namesIn(folder)).toEqual([]);
});
