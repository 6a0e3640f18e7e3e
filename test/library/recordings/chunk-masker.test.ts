import { expect, test } from 'vitest';
import { createChunkMasker } from '../../../src/library/recordings/mask.ts';
import { createMasker, Secret } from '../../../src/cli/settings/redact.ts';

const secret = 'canary-7f3a9c51-secret';
const text = `{"é":"the key ${secret} is wrong","again":"${secret}"}`;

function maskAll(chunks: readonly Uint8Array[]): Uint8Array[] {
  const masker = createChunkMasker(createMasker([new Secret(secret)]));
  const pushed = chunks.flatMap((chunk) => masker.push(chunk));
  return [...pushed, ...masker.end()];
}

test('hides a secret across any chunks, and keeps every length', () => {
  const bytes = Buffer.from(text);
  const hidden = text.replaceAll(secret, '*'.repeat(secret.length));
  for (let first = 0; first <= bytes.length; first++) {
    const chunks = [bytes.subarray(0, first), bytes.subarray(first, first + 3), bytes.subarray(first + 3)];
    const masked = maskAll(chunks);
    expect(Buffer.concat(masked).toString()).toBe(hidden);
    expect(masked.map(({ length }) => length)).toEqual(chunks.map(({ length }) => length));
  }
});

test('hides a secret that arrives byte by byte', () => {
  const masked = maskAll([...Buffer.from(text)].map((byte) => Buffer.from([byte])));
  expect(Buffer.concat(masked).toString()).not.toContain(secret.slice(0, 6));
});

test('holds back only what can be the start of a secret', () => {
  const masker = createChunkMasker(createMasker([new Secret(secret)]));
  const released = Array.from({ length: 100 }, () => masker.push(Buffer.from('abc'))).flat();
  expect(released.length).toBeGreaterThan(80);
});

test('without secrets every chunk is returned at once, unchanged', () => {
  const masker = createChunkMasker(createMasker([]));
  const chunk = Buffer.from('abc');
  expect(masker.push(chunk)).toEqual([chunk]);
  expect(masker.end()).toEqual([]);
});
