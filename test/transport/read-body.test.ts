import { expect, test } from 'vitest';
import { readAll, readSome } from '../../src/transport/read-body.ts';

async function* chunksOf(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

test('reads a body whole', async () => {
  expect((await readAll(chunksOf('a', '', 'bc'))).toString()).toBe('abc');
  expect((await readAll(chunksOf('abc', 'def'), { maxBytes: 6 })).toString()).toBe('abcdef');
  expect((await readAll(chunksOf())).length).toBe(0);
});

test('faults 2b: huge body is refused, and the rest is not read', async () => {
  let [pulled, closed] = [0, false];
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        pulled++;
        yield new Uint8Array(1000);
      }
    } finally {
      closed = true;
    }
  }
  await expect(readAll(endless(), { maxBytes: 10_000 })).rejects.toMatchObject({ class: 'bad-reply', exitCode: 9 });
  expect([pulled, closed]).toEqual([11, true]);
});

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('abc');
  throw new Error('cut');
}
async function* silent(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('abc');
  await new Promise(() => {});
}

test('reads some of a body: to its size, its cut or its time', async () => {
  const limits = { maxBytes: 100, maxMs: 20 };
  expect((await readSome(chunksOf('ab', 'c'), limits)).toString()).toBe('abc');
  expect((await readSome(chunksOf('ab', 'cd', 'ef'), { maxBytes: 3, maxMs: 1000 })).toString()).toBe('abc');
  expect((await readSome(broken(), limits)).toString()).toBe('abc');
  expect((await readSome(silent(), limits)).toString()).toBe('abc');
});
