import { afterEach, expect, test, vi } from 'vitest';
import { ChunkQueue } from '../../src/transport/exchange.ts';

afterEach(() => {
  vi.useRealTimers();
});

function queue(): { queue: ChunkQueue; told: string[] } {
  const told: string[] = [];
  const note = (what: string) => (): void => void told.push(what);
  return {
    queue: new ChunkQueue({ idleMs: 1000, onIdle: note('idle'), onRoom: note('room'), onLeave: note('leave') }),
    told,
  };
}

const bytes = (text: string): Uint8Array => Buffer.from(text);
const over = { done: true, value: undefined };
const value = (text: string): object => ({ done: false, value: bytes(text) });

test('what came before a failure is read first, and the failure is told once', async () => {
  const { queue: chunks } = queue();
  const failure = new Error('cut');
  chunks.push(bytes('a'));
  chunks.end(failure);
  expect(await chunks.next()).toEqual(value('a'));
  await expect(chunks.next()).rejects.toBe(failure);
  expect(await chunks.next()).toEqual(over);
});

test('a failure that is told to a waiting reader is not told again', async () => {
  const { queue: chunks } = queue();
  const reading = chunks.next();
  const failure = new Error('cut');
  chunks.end(failure);
  await expect(reading).rejects.toBe(failure);
  expect(await chunks.next()).toEqual(over);
});

test('an abort takes the place of what waits', async () => {
  const { queue: chunks } = queue();
  const failure = new Error('ctrl-c');
  chunks.push(bytes('a'));
  chunks.end(failure, { atOnce: true });
  await expect(chunks.next()).rejects.toBe(failure);
});

test('the first end counts, and nothing comes behind it', async () => {
  const { queue: chunks } = queue();
  chunks.end();
  chunks.end(new Error('late'));
  expect(chunks.push(bytes('late'))).toBe(true);
  expect(await chunks.next()).toEqual(over);
});

test('chunks that wait come together', async () => {
  const { queue: chunks } = queue();
  for (const text of ['a', 'b', 'c']) chunks.push(bytes(text));
  expect(await chunks.next()).toEqual(value('abc'));
});

test('there is room when nothing waits any more, and never after the end', async () => {
  const { queue: chunks, told } = queue();
  expect(chunks.push(bytes('a'))).toBe(true);
  expect(chunks.push(bytes('x'.repeat(128 * 1024)))).toBe(false);
  expect(told).toEqual([]);
  await chunks.next();
  expect(told).toEqual(['room']);
  chunks.push(bytes('a'));
  chunks.end();
  await chunks.next();
  expect(told).toEqual(['room']);
});

test('a reader that leaves is told of once, and gets nothing more', async () => {
  const { queue: chunks, told } = queue();
  chunks.push(bytes('a'));
  await chunks.return();
  await chunks.return();
  chunks.push(bytes('b'));
  expect(await chunks.next()).toEqual(over);
  expect(told).toEqual(['leave']);
});

test('a reader that leaves after a cut gets neither the rest nor the failure', async () => {
  const { queue: chunks, told } = queue();
  chunks.push(bytes('a'));
  chunks.end(new Error('cut'));
  await chunks.return();
  expect(await chunks.next()).toEqual(over);
  expect(told).toEqual([]);
});

test('the time of a silence runs while the reader waits, and only then', async () => {
  vi.useFakeTimers();
  const { queue: chunks, told } = queue();
  await vi.advanceTimersByTimeAsync(999);
  void chunks.next();
  await vi.advanceTimersByTimeAsync(999);
  expect(told).toEqual([]);
  await vi.advanceTimersByTimeAsync(2);
  expect(told).toEqual(['idle']);
});

test('nobody waits: no silence', async () => {
  vi.useFakeTimers();
  const { told } = queue();
  await vi.advanceTimersByTimeAsync(1002);
  expect(told).toEqual([]);
});

test('bytes that are there when the time is up are no silence', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { queue: chunks, told } = queue();
  const reading = chunks.next();
  vi.advanceTimersByTime(1000);
  chunks.push(bytes('a'));
  expect(await reading).toEqual(value('a'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).not.toContain('idle');
});

test('no timer outlives the end or holds the process', () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  queue();
  expect(timers()).toBe(before);
  vi.useFakeTimers();
  const { queue: chunks } = queue();
  chunks.end();
  expect(vi.getTimerCount()).toBe(0);
});
