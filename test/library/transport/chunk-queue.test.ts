import { afterEach, expect, test, vi } from 'vitest';
import { ChunkQueue } from '../../../src/library/transport/exchange.ts';

afterEach(() => {
  vi.useRealTimers();
});

function queue(): { queue: ChunkQueue; calls: string[] } {
  const calls: string[] = [];
  const record = (what: string) => (): void => void calls.push(what);
  return {
    queue: new ChunkQueue({ idleMs: 1000, onIdle: record('idle'), onRoom: record('room'), onReturn: record('return') }),
    calls,
  };
}

const bytes = (text: string): Uint8Array => Buffer.from(text);
const over = { done: true, value: undefined };
const value = (text: string): object => ({ done: false, value: bytes(text) });

test('chunks before a failure are read first, and the failure is thrown once', async () => {
  const { queue: chunks } = queue();
  const failure = new Error('cut');
  chunks.push(bytes('a'));
  chunks.end(failure);
  expect(await chunks.next()).toEqual(value('a'));
  await expect(chunks.next()).rejects.toBe(failure);
  expect(await chunks.next()).toEqual(over);
});

test('a failure that a waiting reader got is not thrown again', async () => {
  const { queue: chunks } = queue();
  const reading = chunks.next();
  const failure = new Error('cut');
  chunks.end(failure);
  await expect(reading).rejects.toBe(failure);
  expect(await chunks.next()).toEqual(over);
});

test('an abort replaces the waiting chunks', async () => {
  const { queue: chunks } = queue();
  const failure = new Error('ctrl-c');
  chunks.push(bytes('a'));
  chunks.end(failure, { atOnce: true });
  await expect(chunks.next()).rejects.toBe(failure);
});

test('the first end counts, and nothing follows it', async () => {
  const { queue: chunks } = queue();
  chunks.end();
  chunks.end(new Error('late'));
  expect(chunks.push(bytes('late'))).toBe(true);
  expect(await chunks.next()).toEqual(over);
});

test('waiting chunks are read as one', async () => {
  const { queue: chunks } = queue();
  for (const text of ['a', 'b', 'c']) chunks.push(bytes(text));
  expect(await chunks.next()).toEqual(value('abc'));
});

test('the sender resumes when no chunk waits, and never after the end', async () => {
  const { queue: chunks, calls } = queue();
  expect(chunks.push(bytes('a'))).toBe(true);
  expect(chunks.push(bytes('x'.repeat(128 * 1024)))).toBe(false);
  expect(calls).toEqual([]);
  await chunks.next();
  expect(calls).toEqual(['room']);
  chunks.push(bytes('a'));
  chunks.end();
  await chunks.next();
  expect(calls).toEqual(['room']);
});

test('a reader that stops is reported once, and gets no further chunk', async () => {
  const { queue: chunks, calls } = queue();
  chunks.push(bytes('a'));
  await chunks.return();
  await chunks.return();
  chunks.push(bytes('b'));
  expect(await chunks.next()).toEqual(over);
  expect(calls).toEqual(['return']);
});

test('a reader that stops after a cut gets neither the rest nor the failure', async () => {
  const { queue: chunks, calls } = queue();
  chunks.push(bytes('a'));
  chunks.end(new Error('cut'));
  await chunks.return();
  expect(await chunks.next()).toEqual(over);
  expect(calls).toEqual([]);
});

test('the idle time runs only while the reader waits', async () => {
  vi.useFakeTimers();
  const { queue: chunks, calls } = queue();
  await vi.advanceTimersByTimeAsync(999);
  void chunks.next();
  await vi.advanceTimersByTimeAsync(999);
  expect(calls).toEqual([]);
  await vi.advanceTimersByTimeAsync(2);
  expect(calls).toEqual(['idle']);
});

test('without a waiting reader the idle time does not run', async () => {
  vi.useFakeTimers();
  const { calls } = queue();
  await vi.advanceTimersByTimeAsync(1002);
  expect(calls).toEqual([]);
});

test('bytes that arrived just before the idle time ended count', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { queue: chunks, calls } = queue();
  const reading = chunks.next();
  vi.advanceTimersByTime(1000);
  chunks.push(bytes('a'));
  expect(await reading).toEqual(value('a'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).not.toContain('idle');
});

test('no timer outlives the end or keeps the process alive', () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  queue();
  expect(timers()).toBe(before);
  vi.useFakeTimers();
  const { queue: chunks } = queue();
  chunks.end();
  expect(vi.getTimerCount()).toBe(0);
});
