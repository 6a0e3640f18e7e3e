import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { GatewayError } from '../../../src/library/errors.ts';
import { makeRereadable, readInputImage } from '../../../src/library/images/input.ts';
import { planOutput } from '../../../src/library/images/naming.ts';
import { checkOutput } from '../../../src/library/images/publish.ts';
import { placeFile } from '../../../src/library/files/temp-file.ts';
import { publishImage } from '../../../src/library/images/publish.ts';
import { createFileStore, createMemoryStore } from '../../../src/library/images/store.ts';
import { copyRange, notWritten, removeFile, writeFully } from '../../../src/library/files/temp-file.ts';
import { writeRecovery } from '../../../src/library/recovery/recovery-file.ts';
import { openFilesIn, tellsOpenFiles } from '../../helpers/open-files.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const base64 = png.toString('base64');
const facts = { isDirectory: false, count: 1, prompt: 'a cat', model: 'm', date: '2026-11-20' };

afterEach(() => {
  vi.restoreAllMocks();
});

/** The prototype of every open file of this process, to spy on its methods. */
async function handles(): Promise<FileHandle> {
  const probe = await open(import.meta.filename);
  await probe.close();
  return Object.getPrototypeOf(probe) as FileHandle;
}

const given = (path: string) => (at: number) => (at === 0 ? { path, given: true } : undefined);

test.each(['a file', 'memory'])('syncs a picture in %s before it has its name, and the folder after', async (kind) => {
  const folder = scratchFolder();
  const final = join(folder, 'cat.png');
  const order: string[] = [];
  const shared = await handles();
  for (const name of ['datasync', 'sync'] as const) {
    vi.spyOn(shared, name).mockImplementation(async () => {
      // A slow disk: without waiting for it the file would have its name by now.
      for (let turn = 0; turn < 1000 && !existsSync(final); turn++) await setImmediate();
      order.push(`${name}, named: ${existsSync(final)}`);
    });
  }
  const store = kind === 'memory' ? createMemoryStore() : createFileStore({ folder });
  const blob = await store.resolve(base64);
  await publishImage(blob, given(final), { cwd: folder, force: false });
  expect(order).toEqual(['datasync, named: false', 'sync, named: true']);
});

test('a picture that cannot be synced is not-written', async () => {
  const folder = scratchFolder();
  vi.spyOn(await handles(), 'datasync').mockRejectedValue(Object.assign(new Error('EIO'), { code: 'EIO' }));
  const store = createFileStore({ folder });
  await expect(store.resolve(base64)).rejects.toMatchObject({ class: 'not-written' });
  await store.discard();
  expect(readdirSync(folder)).toEqual([]);
  if (tellsOpenFiles) expect(openFilesIn(folder)).toEqual([]);
});

test('a recovery file is synced, and one that cannot be is removed', async () => {
  const [first, second] = [scratchFolder(), scratchFolder()];
  const sync = vi.spyOn(await handles(), 'datasync');
  sync.mockRejectedValueOnce(Object.assign(new Error('EIO'), { code: 'EIO' }));
  const reply = { savedAt: '', command: 'text', printsText: true, document: {}, images: [] };
  const path = await writeRecovery(reply, { folders: [first, second], id: 'r' });
  expect(path).toBe(join(second, 'r.json'));
  expect(sync).toHaveBeenCalledTimes(2);
  expect(readdirSync(first)).toEqual([]);
});

test('pieces that are decoded in the same memory stay separate', async () => {
  const store = createMemoryStore();
  const { sink, placeholder } = await store.open();
  for (const byte of [1, 2]) await sink.write(Buffer.from(Buffer.alloc(3000, byte).toString('base64')));
  await sink.end();
  const { content } = await store.resolve(placeholder);
  expect(content).toEqual({ data: Buffer.concat([Buffer.alloc(3000, 1), Buffer.alloc(3000, 2)]) });
});

test('an unknown placeholder is not a picture', async () => {
  const store = createMemoryStore();
  const { placeholder } = await store.open();
  await expect(store.resolve(placeholder.replace(/0$/, '7'))).rejects.toMatchObject({
    message: expect.stringContaining('whole'),
  });
  await expect(store.resolve(placeholder)).rejects.toMatchObject({ class: 'bad-reply' });
});

test('a character outside Latin-1 is not read by its low byte', async () => {
  await expect(createMemoryStore().resolve('QUJ\u0144')).rejects.toMatchObject({ class: 'bad-reply' });
});

test('a write of nothing and a copy beyond the end are errors', async () => {
  const stuck = { write: async () => ({ bytesWritten: 0 }) } as unknown as FileHandle;
  await expect(writeFully(stuck, png, 0)).rejects.toThrow('nothing could be written');
  const path = join(scratchFolder(), 'short');
  writeFileSync(path, 'abc');
  const file = await open(path, 'r+');
  onTestFinished(() => file.close());
  await expect(copyRange(file, file, { offset: 0, bytes: 4 })).rejects.toThrow('shorter');
});

test('removes a file that is missing without an error, and nothing else', async () => {
  const folder = scratchFolder();
  await removeFile(join(folder, 'gone'));
  await expect(removeFile(folder)).rejects.toHaveProperty('code');
});

test('a GatewayError stays as it is', () => {
  const error = new GatewayError('bad-reply', 'no Base64');
  expect(notWritten('cat.png', error)).toBe(error);
});

const otherDisk = ['/dev/shm', '/tmp'].find(
  (path) => existsSync(path) && statSync(path).dev !== statSync(tmpdir()).dev,
);
describe.skipIf(otherDisk === undefined)('from another disk (needs /dev/shm)', () => {
  function parts(): { temp: string; final: string; folder: string; other: string } {
    const other = mkdtempSync(`${otherDisk}/gateway-cli-`);
    onTestFinished(() => rmSync(other, { recursive: true, force: true, maxRetries: 10 }));
    const folder = scratchFolder();
    const temp = join(other, 'temp');
    const final = join(folder, 'cat.png');
    writeFileSync(temp, 'new');
    writeFileSync(final, 'old');
    return { temp, final, folder, other };
  }

  test('a file is synced and then replaced, and nothing else is left', async () => {
    const { temp, final, folder, other } = parts();
    const seen: string[] = [];
    vi.spyOn(await handles(), 'datasync').mockImplementation(async () => void seen.push(readFileSync(final, 'utf8')));
    await placeFile(temp, final, { bytes: 3, replace: true });
    expect([readFileSync(final, 'utf8'), seen]).toEqual(['new', ['old']]);
    expect([readdirSync(folder), readdirSync(other)]).toEqual([['cat.png'], []]);
    if (tellsOpenFiles) expect([openFilesIn(folder), openFilesIn(other)]).toEqual([[], []]);
  });

  test('a file whose replacement fails stays', async () => {
    const { temp, final, folder } = parts();
    await expect(placeFile(temp, final, { bytes: 4, replace: true })).rejects.toThrow('shorter');
    expect(readFileSync(final, 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['cat.png']);
  });
});

test('a replacement that fails for another reason is not copied', async () => {
  const folder = scratchFolder();
  const final = join(folder, 'cat.png');
  writeFileSync(final, 'old');
  await expect(placeFile(join(folder, 'gone'), final, { bytes: 3, replace: true })).rejects.toMatchObject({
    code: 'ENOENT',
    syscall: 'rename',
  });
  expect(readFileSync(final, 'utf8')).toBe('old');
});

test.skipIf(!tellsOpenFiles)('no input stays open (needs /proc)', async () => {
  const folder = scratchFolder();
  writeFileSync(join(folder, 'cat.png'), png);
  writeFileSync(join(folder, 'none.png'), 'text');
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  vi.stubEnv('TMPDIR', folder);
  await readInputImage(join(folder, 'cat.png'), { hash: true });
  await expect(readInputImage(join(folder, 'none.png'))).rejects.toMatchObject({ class: 'usage' });
  const removals: (() => Promise<void>)[] = [];
  const signal = new AbortController().signal;
  const reading = makeRereadable(fifo, { signal, atEnd: (remove) => void removals.push(remove) });
  const writer = await open(fifo, 'w');
  await writer.write(png);
  await writer.close();
  await readInputImage(await reading);
  expect(openFilesIn(folder)).toEqual([]);
  for (const remove of removals) await remove();
});

describe('output dir missing, not writable, name too long', () => {
  const check = (output: string, more: object = {}, cwd = scratchFolder()): Promise<void> =>
    checkOutput(planOutput(output, { ...facts, ...more }), { cwd, force: false });
  const refused = { class: 'usage', message: expect.stringContaining('name is too long') };

  test('refuses a template whose hundredth name is too long', async () => {
    await expect(check(`${'a'.repeat(248)}-{n}.{ext}`)).rejects.toMatchObject(refused);
    await expect(check(`${'a'.repeat(240)}-{n}.{ext}`)).resolves.toBeUndefined();
    await expect(check(`${'a'.repeat(220)}-{id}.{ext}`)).rejects.toMatchObject(refused);
  });

  test('refuses a folder that cannot contain files', async () => {
    await expect(check('/proc/self/', { isDirectory: true })).rejects.toMatchObject({ class: 'usage' });
  });

  test('--dry-run makes no folder', async () => {
    const cwd = scratchFolder();
    await checkOutput(planOutput('new/', facts), { cwd, force: false, dryRun: true });
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('refuses a pipe with one of the names, even with --force', async () => {
    const cwd = scratchFolder();
    execFileSync('mkfifo', [join(cwd, 'cat.png')]);
    const checking = checkOutput(planOutput('cat', facts), { cwd, force: true });
    await expect(checking).rejects.toMatchObject({ class: 'usage', message: expect.stringContaining('pipe') });
  });

  test('accepts a folder that was made meanwhile', async () => {
    const cwd = scratchFolder();
    mkdirSync(join(cwd, 'new'));
    await expect(check('new/', {}, cwd)).resolves.toBeUndefined();
  });
});
