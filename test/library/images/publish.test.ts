import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { CandidateNames } from '../../../src/library/images/naming.ts';
import { publishImage, writeSidecar } from '../../../src/library/images/publish.ts';
import { createFileStore, createMemoryStore } from '../../../src/library/images/store.ts';
import type { StoredBlob, BlobStore } from '../../../src/library/images/types.ts';
import { namesIn, scratchFolder } from './scratch.ts';

const picture = Buffer.from('the picture');

function blobIn(store: BlobStore): Promise<StoredBlob> {
  return store.resolve(picture.toString('base64'));
}

const numbered: CandidateNames = (at) => ({ path: `image-${at + 1}.png`, given: false });
const named =
  (path: string): CandidateNames =>
  (at) =>
    at === 0 ? { path, given: true } : undefined;
const given = named('cat.png');
const stores: [string, (folder: string) => BlobStore][] = [
  ['file', (folder) => createFileStore({ folder })],
  ['memory', () => createMemoryStore()],
];

function failWith(code: string): () => Promise<never> {
  return () => Promise.reject(Object.assign(new Error(code), { code }));
}

test.each(stores)('publishes under the first free name, with the mode of any new file: %s', async (_name, create) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'image-1.png'), 'first');
  mkdirSync(join(cwd, 'image-2.png'));
  symlinkSync('nowhere', join(cwd, 'image-3.png'));
  const store = create(cwd);
  expect(await publishImage(await blobIn(store), numbered, { cwd, force: true })).toBe('image-4.png');
  await store.discard();
  expect(namesIn(cwd)).toEqual(['image-1.png', 'image-2.png', 'image-3.png', 'image-4.png']);
  expect(readFileSync(join(cwd, 'image-4.png'))).toEqual(picture);
  expect(readFileSync(join(cwd, 'image-1.png'), 'utf8')).toBe('first');
  expect(statSync(join(cwd, 'image-4.png')).mode).toBe(statSync(join(cwd, 'image-1.png')).mode);
});

test.each<[string, (path: string) => void]>([
  ['a file', (path) => writeFileSync(path, 'old')],
  ['a dangling link', (path) => symlinkSync('nowhere', path)],
])('refuses the name of %s, and replaces it with force', async (_name, make) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'other'), 'spared');
  make(join(cwd, 'cat.png'));
  const before = lstatSync(join(cwd, 'cat.png')).ino;
  const store = createFileStore({ folder: cwd });
  const blob = await blobIn(store);
  await expect(publishImage(blob, given, { cwd, force: false })).rejects.toMatchObject({
    class: 'not-written',
    message: 'cannot write "cat.png": it already exists',
  });
  expect(lstatSync(join(cwd, 'cat.png')).ino).toBe(before);
  expect(await publishImage(blob, given, { cwd, force: true })).toBe('cat.png');
  await store.discard();
  expect(readFileSync(join(cwd, 'cat.png'))).toEqual(picture);
  expect(lstatSync(join(cwd, 'cat.png')).isFile()).toBe(true);
  expect(readFileSync(join(cwd, 'other'), 'utf8')).toBe('spared');
  expect(namesIn(cwd)).toEqual(['cat.png', 'other']);
});

test('refuses the name of a link, and with force writes the file that it leads to', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'other'), 'old');
  symlinkSync('other', join(cwd, 'cat.png'));
  const store = createFileStore({ folder: cwd });
  const blob = await blobIn(store);
  await expect(publishImage(blob, given, { cwd, force: false })).rejects.toMatchObject({ class: 'not-written' });
  expect(readFileSync(join(cwd, 'other'), 'utf8')).toBe('old');
  expect(await publishImage(blob, given, { cwd, force: true })).toBe('cat.png');
  await store.discard();
  expect(lstatSync(join(cwd, 'cat.png')).isSymbolicLink()).toBe(true);
  expect(readFileSync(join(cwd, 'other'))).toEqual(picture);
  expect(namesIn(cwd)).toEqual(['cat.png', 'other']);
});

test.skipIf(process.platform === 'win32')(
  'never puts a file in the place of a folder, a FIFO or a device',
  async () => {
    const cwd = scratchFolder();
    mkdirSync(join(cwd, 'folder'));
    execFileSync('mkfifo', [join(cwd, 'fifo')]);
    const blob = await blobIn(createMemoryStore());
    for (const path of ['folder', 'fifo', '/dev/null']) {
      await expect(publishImage(blob, named(path), { cwd, force: true })).rejects.toMatchObject({
        class: 'not-written',
      });
      await expect(publishImage(blob, named(path), { cwd, force: false })).rejects.toMatchObject({
        class: 'not-written',
      });
    }
    expect(namesIn(cwd)).toEqual(['fifo', 'folder']);
    expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true);
  },
);

test('gives each of many concurrent pictures its own name', async () => {
  const cwd = scratchFolder();
  const store = createFileStore({ folder: cwd });
  const blobs = await Promise.all(
    Array.from({ length: 30 }, (_, i) => store.resolve(Buffer.from(`picture ${i}`).toString('base64'))),
  );
  const names = await Promise.all(blobs.map((blob) => publishImage(blob, numbered, { cwd, force: true })));
  await store.discard();
  expect(new Set(names).size).toBe(30);
  expect(namesIn(cwd)).toHaveLength(30);
  for (const [i, name] of names.entries()) expect(readFileSync(join(cwd, name), 'utf8')).toBe(`picture ${i}`);
});

test.each(['EPERM', 'ENOTSUP', 'EXDEV', 'ENOSYS'])('copies on a file system without links: %s', async (code) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'image-1.png'), 'first');
  const store = createFileStore({ folder: cwd });
  const options = { cwd, force: false, linkFile: failWith(code) };
  expect(await publishImage(await blobIn(store), numbered, options)).toBe('image-2.png');
  await store.discard();
  expect(readFileSync(join(cwd, 'image-2.png'))).toEqual(picture);
  expect(statSync(join(cwd, 'image-2.png')).mode).toBe(statSync(join(cwd, 'image-1.png')).mode);
  expect(namesIn(cwd)).toEqual(['image-1.png', 'image-2.png']);
});

test('reports the error of the system, and keeps the stored picture', async () => {
  const cwd = scratchFolder();
  const store = createFileStore({ folder: cwd });
  const blob = await blobIn(store);
  await expect(publishImage(blob, given, { cwd, force: false, linkFile: failWith('EIO') })).rejects.toMatchObject({
    class: 'not-written',
    cause: expect.objectContaining({ code: 'EIO' }),
  });
  await expect(publishImage(blob, named('no/cat.png'), { cwd, force: false })).rejects.toMatchObject({
    class: 'not-written',
    message: 'cannot write "no/cat.png": the folder does not exist',
  });
  expect(await publishImage(blob, given, { cwd, force: false })).toBe('cat.png');
  await store.discard();
});

test('finds the first free name among many taken ones', async () => {
  const cwd = scratchFolder();
  for (let n = 1; n <= 60; n++) if (n !== 50) writeFileSync(join(cwd, `image-${n}.png`), '');
  const store = createFileStore({ folder: cwd });
  expect(await publishImage(await blobIn(store), numbered, { cwd, force: false })).toBe('image-50.png');
  expect(await publishImage(await blobIn(store), numbered, { cwd, force: false })).toBe('image-61.png');
  await store.discard();
});

test('writes facts beside a picture, and replaces a sidecar only with force', async () => {
  const cwd = scratchFolder();
  await writeSidecar('cat.png', { prompt: 'ä', n: 1 }, { cwd, force: false });
  expect(readFileSync(join(cwd, 'cat.png.json'), 'utf8')).toBe('{\n  "prompt": "ä",\n  "n": 1\n}\n');
  await expect(writeSidecar('cat.png', {}, { cwd, force: false })).rejects.toMatchObject({
    class: 'not-written',
    message: 'cannot write "cat.png.json": it already exists',
  });
  expect(JSON.parse(readFileSync(join(cwd, 'cat.png.json'), 'utf8'))).toMatchObject({ n: 1 });
  await writeSidecar('cat.png', {}, { cwd, force: true });
  expect(readFileSync(join(cwd, 'cat.png.json'), 'utf8')).toBe('{}\n');
  expect(namesIn(cwd)).toEqual(['cat.png.json']);
});

test('publishing an image leaves no file if it cannot write', async () => {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'cat.png.json'));
  writeFileSync(join(cwd, 'file'), '');
  await expect(writeSidecar('cat.png', {}, { cwd, force: true })).rejects.toMatchObject({
    message: expect.stringContaining('it is a folder'),
  });
  await expect(writeSidecar('no/cat.png', {}, { cwd, force: true })).rejects.toMatchObject({ class: 'not-written' });
  expect(namesIn(cwd)).toEqual(['cat.png.json', 'file']);
});
