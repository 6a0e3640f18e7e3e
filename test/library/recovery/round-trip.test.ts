import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { expect, test } from 'vitest';
import { createFileStore, createMemoryStore } from '../../../src/library/images/store.ts';

import type { BlobStore, StoredBlob } from '../../../src/library/images/types.ts';

import { readRecovery, writeRecovery } from '../../../src/library/recovery/recovery-file.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/** Longer than a block, and not a multiple of it, so that pieces of Base64 have to join. */
const bytes = randomBytes(500_001);

const stores: [string, () => BlobStore][] = [
  ['memory', () => createMemoryStore()],
  ['a file', () => createFileStore({ folder: scratchFolder() })],
];

test.each(stores)('pictures and body from %s are the same after a recovery file', async (_name, create) => {
  const store = create();
  const blob = await store.resolve(bytes.toString('base64'));
  const document = { text: 'a'.repeat(20_000) };
  const image = { declaredType: 'image/png', candidate: 1, blob };
  const reply = { savedAt: 'now', command: 'image gen', printsText: true, document, images: [image], body: blob };
  const path = await writeRecovery(reply, { folders: [scratchFolder()], id: 'r' });
  await store.discard();
  const into = createMemoryStore();
  const { images, body, ...facts } = await readRecovery(createReadStream(path), into);
  expect(facts).toEqual({ savedAt: 'now', command: 'image gen', printsText: true, document });
  expect(images).toMatchObject([{ declaredType: 'image/png', candidate: 1, blob: { bytes: bytes.length } }]);
  expect([contentOf(images[0]?.blob), contentOf(body)].map((content) => content?.equals(bytes))).toEqual([true, true]);
});

function contentOf(blob: Pick<StoredBlob, 'content'> | undefined): Buffer | undefined {
  return blob && 'data' in blob.content ? Buffer.from(blob.content.data) : undefined;
}
