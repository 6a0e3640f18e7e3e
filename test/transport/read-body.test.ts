import { expect, onTestFinished, test, vi } from 'vitest';
import { readSome } from '../../src/transport/attempts.ts';

async function* chunksOf(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

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

test('what is read to its size is not read on, is let go, and leaves no timer', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let [pulled, closed] = [0, false];
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (; pulled < 100; pulled++) yield new Uint8Array(10);
    } finally {
      closed = true;
    }
  }
  expect(await readSome(endless(), { maxBytes: 25, maxMs: 1000 })).toHaveLength(25);
  expect([pulled, closed, vi.getTimerCount()]).toEqual([2, true, 0]);
});
