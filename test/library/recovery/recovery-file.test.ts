import { randomBytes } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFileStore, createMemoryStore } from '../../../src/library/images/store.ts';
import type { BlobStore } from '../../../src/library/images/types.ts';
import {
  keepTempFiles,
  readRecovery,
  readRecoveryHead,
  type SavedReply,
  writeRecovery,
} from '../../../src/library/recovery/recovery-file.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const base = { savedAt: 'now', command: 'text', printsText: false, document: { text: 'paid' }, images: [] };
const bytes = randomBytes(3000);

const write = (reply: SavedReply) => writeRecovery(reply, { folders: [scratchFolder()], id: 'r' });
const read = (path: string) => readRecovery(createReadStream(path), createMemoryStore());

async function picture(store: BlobStore, content = bytes) {
  return { declaredType: 'image/png', candidate: 0, blob: await store.resolve(content.toString('base64')) };
}

/** A recovery file with members that no program wrote. */
function odd(members: object): string {
  const path = join(scratchFolder(), 'odd.json');
  const whole = { schema: 'gateway-cli/recovery@1', savedAt: 'now', command: 'text', document: ['1'], images: [] };
  writeFileSync(path, JSON.stringify({ ...whole, ...members }));
  return path;
}

test.each([true, false])(
  'the reply of a job of a batch is read with its batch; its whole result: %s',
  async (isResult) => {
    const batch = { folder: '/work/out', request: 'c0ffee', isResult };
    const reply = { ...base, job: 'cat-1', batch };
    expect(await read(await write(reply))).toEqual({ ...reply, body: undefined });
  },
);

test('a document that is longer than a piece is the same, and no string in the file is long enough to be taken for a picture', async () => {
  const document = { text: `${'a'.repeat(8191)}"\\\n${'ö'.repeat(9000)}` };
  const path = await write({ ...base, document });
  expect((await read(path)).document).toEqual(document);
  const { document: pieces } = JSON.parse(readFileSync(path, 'utf8')) as { document: string[] };
  expect(Math.max(...pieces.map((piece) => piece.length))).toBe(8192);
});

test('a reply without a document is kept with its pictures', async () => {
  const images = [await picture(createMemoryStore()), await picture(createMemoryStore(), randomBytes(30))];
  const saved = await read(await write({ ...base, document: undefined, images }));
  expect(saved.document).toBeNull();
  expect(saved.images.map(({ blob }) => blob.bytes)).toEqual([3000, 30]);
});

test('pictures and the body go to a store while the file is read, so that they need not fit into memory', async () => {
  const { declaredType, candidate, blob } = await picture(createMemoryStore(), randomBytes(30_000));
  const path = await write({ ...base, images: [{ declaredType, candidate, blob }], body: blob });
  const store = createMemoryStore();
  const resolved: string[] = [];
  const resolve: BlobStore['resolve'] = (data) => (resolved.push(data), store.resolve(data));
  const saved = await readRecovery(createReadStream(path), { ...store, resolve });
  expect([saved.images[0]?.blob.sha256, saved.body]).toEqual([blob.sha256, blob]);
  expect(resolved.every((data) => data.length < 100)).toBe(true);
});

test.skipIf(process.platform === 'win32')(
  'only the owner can read a recovery file, and the folder made for it',
  async () => {
    const folder = join(scratchFolder(), 'state', 'recovered');
    const path = await writeRecovery(base, { folders: [folder], id: 'r' });
    expect([path, folder].map((made) => statSync(made).mode & 0o777)).toEqual([0o600, 0o700]);
  },
);

test('where the first folder cannot be written the reply goes into the next, and else the last error is told', async () => {
  const [good, file] = [scratchFolder(), join(scratchFolder(), 'file')];
  writeFileSync(file, '');
  expect(await writeRecovery(base, { folders: [file, good], id: 'r' })).toBe(join(good, 'r.json'));
  await expect(writeRecovery(base, { folders: [join(file, 'a'), file], id: 'r' })).rejects.toMatchObject({
    code: 'EEXIST',
  });
  await expect(writeRecovery(base, { folders: [], id: 'r' })).rejects.toThrow('there is no folder for it');
});

test.each(['', 'notes', '[]', '{}', '{"schema":"gateway-cli/recovery@2","document":["1"]}'])(
  'what is no recovery file of this version is refused: %j',
  async (text) => {
    const path = join(scratchFolder(), 'other.json');
    writeFileSync(path, text);
    await expect(read(path)).rejects.toMatchObject({
      class: 'usage',
      message: 'cannot recover the reply: it is not a recovery file',
      details: { hint: 'name the recovery file that stderr showed with exit code 12' },
    });
  },
);

test('a picture whose bytes are not those that were saved is refused, and nothing is recovered from it', async () => {
  const path = await write({ ...base, images: [await picture(createMemoryStore())] });
  const text = readFileSync(path, 'utf8');
  const at = text.indexOf('"b64_json":"') + 40;
  writeFileSync(path, `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`);
  await expect(read(path)).rejects.toThrow('cannot recover the reply: a picture in it is damaged');
});

test('of what was changed by hand the rest is recovered', async () => {
  const { blob } = await picture(createMemoryStore());
  const image = { declaredType: 7, candidate: 'x', b64_json: bytes.toString('base64'), sha256: blob.sha256 };
  const path = odd({ savedAt: 1, command: null, printsText: 'yes', job: 5, batch: [], body: {}, images: ['x', image] });
  expect(await read(path)).toEqual({
    savedAt: '',
    command: '',
    printsText: false,
    document: 1,
    images: [{ declaredType: undefined, candidate: 0, blob: expect.objectContaining({ bytes: 3000 }) as unknown }],
    job: undefined,
    batch: undefined,
    body: undefined,
  });
  expect(await read(odd({ images: {}, batch: { folder: 1, isResult: 1 } }))).toMatchObject({
    images: [],
    batch: { folder: '', request: '', isResult: false },
  });
  await expect(read(odd({ document: 'text' }))).rejects.toThrow('it is not a recovery file');
});

test('where no recovery file can be written, the stored files get names that are not removed, each its own', async () => {
  const folder = scratchFolder();
  const store = createFileStore({ folder });
  const [first, lost, second] = [await picture(store), await picture(store), await picture(store)];
  const body = await store.resolve(bytes.toString('base64'));
  const reply = { ...base, images: [await picture(createMemoryStore()), first, lost, second], body };
  // Another program removed one of them.
  const gone = { ...lost, blob: { ...lost.blob, content: { file: join(folder, 'gone') } } };
  const kept = await keepTempFiles({ ...reply, images: reply.images.with(2, gone) }, 'r');
  expect(kept).toEqual([1, 2, 3].map((n) => join(folder, `gateway-cli-r-${n}`)));
  await store.discard();
  expect(kept.map((path) => readFileSync(path).equals(bytes))).toEqual([true, true, true]);
  expect(await keepTempFiles({ ...base, images: [await picture(createMemoryStore())] }, 'm')).toEqual([]);
  expect(existsSync(join(folder, 'gateway-cli-m-1'))).toBe(false);
});

test('a list reads the command and the job of a recovery file from its first line alone, and nothing of another file', async () => {
  const job = 'a "b"\\\n ö';
  const path = await write({ ...base, command: 'image gen', job, document: { text: 'x'.repeat(100_000) } });
  expect(await readRecoveryHead(path)).toEqual({ command: 'image gen', job });
  const long = 'ö'.repeat(20_000);
  expect(await readRecoveryHead(await write({ ...base, job: long }))).toEqual({ command: 'text', job: long });
  expect(await readRecoveryHead(odd({ command: 5 }))).toEqual({ command: '', job: undefined });
  const other = join(scratchFolder(), 'other.json');
  for (const text of ['', '{}', '{"schema":"gateway-cli/recovery@2","command":"a"}']) {
    writeFileSync(other, text);
    expect(await readRecoveryHead(other), text).toBeUndefined();
  }
  expect(await readRecoveryHead(join(scratchFolder(), 'gone.json'))).toBeUndefined();
});
