import { expect, test } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import type { Output } from '../../src/terminal/io.ts';
import { tolerateFailure } from '../../src/terminal/output.ts';

const never = new Promise<never>(() => undefined);
const idle = new AbortController().signal;

function output(write: Output['write']): Output {
  return { isTTY: false, columns: 80, write };
}

test('remembers the first failure of a full disk, and writes nothing more', async () => {
  const full = new GatewayError('not-written', 'the disk is full');
  const tried: unknown[] = [];
  const tolerant = tolerateFailure(
    output(async (chunk) => {
      tried.push(chunk);
      throw full;
    }),
    idle,
  );
  expect(tolerant.failure).toBeUndefined();
  await tolerant.write('a');
  await tolerant.write('b');
  expect([tolerant.failure, tried]).toEqual([full, ['a']]);
});

test.each([
  ['a reader that has gone', new GatewayError('closed', 'stdout was closed by its reader')],
  ['a bug', new TypeError('oh')],
])('passes %s on', async (_name, error) => {
  const tolerant = tolerateFailure(
    output(() => Promise.reject(error)),
    idle,
  );
  await expect(tolerant.write('a')).rejects.toBe(error);
  expect(tolerant.failure).toBeUndefined();
});

test('after an abort a write may end in its time; one that is not read gives up, and so do those after it', async () => {
  const abort = new AbortController();
  const reason = new Error('interrupted');
  let timeIsUp = (): void => undefined;
  const taken: unknown[] = [];
  const tolerant = tolerateFailure(
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
  await tolerant.write('last words');
  const stuck = tolerant.write('stuck');
  timeIsUp();
  await expect(stuck).rejects.toBe(reason);
  await expect(tolerant.write('more')).rejects.toBe(reason);
  expect(taken).toEqual(['last words']);
});

test('a run that was aborted before it began gives up in time too', async () => {
  const reason = new Error('interrupted');
  let timeIsUp = (): void => undefined;
  const tolerant = tolerateFailure(
    output(() => never),
    AbortSignal.abort(reason),
    (_ms, act) => {
      timeIsUp = act;
      return () => undefined;
    },
  );
  const stuck = tolerant.write('stuck');
  timeIsUp();
  await expect(stuck).rejects.toBe(reason);
});
