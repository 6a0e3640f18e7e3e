import { expect, test } from 'vitest';
import { looksLikeSse, peek } from '../../src/client/read-reply.ts';

/** Two chunks, then silence. */
function silent() {
  const chunks = [Buffer.from(' {"a"'), Buffer.from(':1}')];
  const state = { left: false };
  const source: AsyncIterableIterator<Uint8Array> = {
    next() {
      const value = chunks.shift();
      return value === undefined ? new Promise(() => {}) : Promise.resolve({ done: false, value });
    },
    async return() {
      state.left = true;
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  return { state, source };
}

test('the bytes that were inspected are read again, and then the rest', async () => {
  const { source } = silent();
  const { head, chunks } = await peek(source);
  expect(Buffer.from(head).toString()).toBe(' {"a":1}');
  const iterator = chunks[Symbol.asyncIterator]();
  const read: string[] = [];
  for (let chunk = 0; chunk < 2; chunk++) read.push(Buffer.from((await iterator.next()).value ?? []).toString());
  expect(read).toEqual([' {"a"', ':1}']);
});

test('a reader that leaves while nothing comes is heard at once', async () => {
  const { source, state } = silent();
  const iterator = (await peek(source)).chunks[Symbol.asyncIterator]();
  for (let chunk = 0; chunk < 2; chunk++) await iterator.next();
  void iterator.next();
  void iterator.return?.();
  expect(state.left).toBe(true);
});

test.each([
  ['event: message_start\n', true],
  ['data: {"candidates":[]}', true],
  ['data:{}', true],
  [': PING\n\n', true],
  ['id: 1\n', true],
  ['retry: 3000\n', true],
  ['\r\n\n  data: {}', true],
  ['\uFEFFevent: ping', true],
  ['{"type":"message"}', false],
  ['\n[{"candidates":[]}]', false],
  ['<html>data:', false],
  ['database error', false],
  ['error: upstream', false],
  ['', false],
])('looksLikeSse(%j) is %s (wire 6 #37, #38)', (body, expected) => {
  expect(looksLikeSse(new TextEncoder().encode(body))).toBe(expected);
});

test('looksLikeSse reads the beginning only', () => {
  const body = new TextEncoder().encode(`${' '.repeat(64)}data: x`);
  expect(looksLikeSse(body)).toBe(false);
});
