import { expect, test } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import type { Output } from '../../src/terminal/io.ts';
import { lastingOutput } from '../../src/terminal/lasting-output.ts';

const never = new Promise<never>(() => undefined);
const idle = new AbortController().signal;

function output(write: Output['write']): Output {
  return { isTTY: false, columns: 80, write };
}

test('remembers the first failure of a full disk, and writes nothing more', async () => {
  const full = new GatewayError('not-written', 'no space is left');
  const tried: unknown[] = [];
  const lasting = lastingOutput(
    output(async (chunk) => {
      tried.push(chunk);
      throw full;
    }),
    idle,
  );
  expect(lasting.failure).toBeUndefined();
  await lasting.write('a');
  await lasting.write('b');
  expect([lasting.failure, tried]).toEqual([full, ['a']]);
});

test.each([
  ['a reader that has gone', new GatewayError('closed', 'stdout was closed by its reader')],
  ['a bug', new TypeError('oh')],
])('passes %s on', async (_name, error) => {
  const lasting = lastingOutput(
    output(() => Promise.reject(error)),
    idle,
  );
  await expect(lasting.write('a')).rejects.toBe(error);
  expect(lasting.failure).toBeUndefined();
});

test('after an abort a write may end in its time; one that nobody takes gives up, and so do those after it', async () => {
  const abort = new AbortController();
  const reason = new Error('interrupted');
  let timeIsUp = (): void => undefined;
  const taken: unknown[] = [];
  const lasting = lastingOutput(
    output(async (chunk) => {
      if (chunk === 'stuck') await never;
      taken.push(chunk);
    }),
    abort.signal,
    (_ms, act) => {
      timeIsUp = act;
      return () => undefined;
    },
  );
  abort.abort(reason);
  await lasting.write('last words');
  const stuck = lasting.write('stuck');
  timeIsUp();
  await expect(stuck).rejects.toBe(reason);
  await expect(lasting.write('more')).rejects.toBe(reason);
  expect(taken).toEqual(['last words']);
});

test('a run that was aborted before it began gives up in time too', async () => {
  const reason = new Error('interrupted');
  let timeIsUp = (): void => undefined;
  const lasting = lastingOutput(
    output(() => never),
    AbortSignal.abort(reason),
    (_ms, act) => {
      timeIsUp = act;
      return () => undefined;
    },
  );
  const stuck = lasting.write('stuck');
  timeIsUp();
  await expect(stuck).rejects.toBe(reason);
});
