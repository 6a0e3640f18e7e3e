import { expect, test } from 'vitest';
import { startDeadline } from '../../../src/library/client/deadline.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import { readReply } from '../../../src/library/client/read-reply.ts';
import { looksLikeSse, peek, readOn } from '../../../src/library/client/reply-body.ts';
import { textReply } from '../../helpers/with-server.ts';

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
  const seen: Uint8Array[] = [];
  const head = await peek(source, seen);
  expect(Buffer.from(head).toString()).toBe(' {"a":1}');
  const iterator = readOn(seen, source);
  const read: string[] = [];
  for (let chunk = 0; chunk < 2; chunk++) read.push(Buffer.from((await iterator.next()).value ?? []).toString());
  expect(read).toEqual([' {"a"', ':1}']);
});

test('a reader that leaves while nothing comes is heard at once', async () => {
  const { source, state } = silent();
  const seen: Uint8Array[] = [];
  await peek(source, seen);
  const iterator = readOn(seen, source);
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
])('looksLikeSse(%j) is %s (deviations 37 and 38)', (body, expected) => {
  expect(looksLikeSse(new TextEncoder().encode(body))).toBe(expected);
});

test('looksLikeSse reads the beginning only', () => {
  const body = new TextEncoder().encode(`${' '.repeat(64)}data: x`);
  expect(looksLikeSse(body)).toBe(false);
});

const held = (value: object, status = 200) => ({ status, headers: {}, body: Buffer.from(JSON.stringify(value)) });
const as = { format: 'content', model: 'm' } as const;

test('a reply that is held in memory is read as one that a call gets, its pictures in memory', async () => {
  const parts = [{ text: 'a picture' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }];
  const body = { candidates: [{ content: { parts }, finishReason: 'STOP' }] };
  const { result, error } = await readReply(held(body), as);
  expect(error).toBeUndefined();
  expect(result).toMatchObject({ model: 'm', text: 'a picture', complete: true, images: [{ blob: { bytes: 8 } }] });
});

test('a reply that was cut is read as far as it came, with the error that a call would have', async () => {
  const body = JSON.stringify(textReply('hello')).slice(0, -3);
  const request = 'POST https://host/path';
  async function* cut() {
    yield Buffer.from(body);
    throw new GatewayError('incomplete', 'the reply was cut', { sent: 'yes' });
  }
  const { result, error } = await readReply({ status: 200, headers: {}, request, body: cut() }, as);
  expect(result).toMatchObject({ text: 'hello', complete: false });
  expect(error).toMatchObject({ class: 'incomplete', billed: 'yes', details: { request, status: 200 } });
});

test('a held reply of another status than 2xx is thrown as the error that a call would throw', async () => {
  const refused = held({ error: { code: 400, message: 'no such field', status: 'INVALID_ARGUMENT' } }, 400);
  await expect(readReply(refused, as)).rejects.toMatchObject({
    class: 'rejected',
    message: expect.stringContaining('no such field') as string,
    details: { status: 400, sent: 'yes' },
  });
});

test('the time of a deadline holds for the reading of a held reply, and its signal ends it', async () => {
  const reason = new Error('stop');
  const deadline = startDeadline(60_000, AbortSignal.abort(reason));
  await expect(readReply(held(textReply('hello')), { ...as, deadline })).rejects.toBe(reason);
});
