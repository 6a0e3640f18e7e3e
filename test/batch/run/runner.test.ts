import { expect, test } from 'vitest';
import { GatewayError } from '../../../src/library/errors.ts';
import { noLock } from '../../../src/batch/folder/lock.ts';
import { createJobSender } from '../../../src/batch/run/live.ts';
import type { Payment } from '../../../src/library/client/payment.ts';
import { createGate } from '../../../src/library/transport/gate.ts';
import { done, failed, hostOf, jobOf, readyOf, start, silentRecorder } from './with-runner.ts';

const count = (log: readonly string[], word: string) => log.filter((line) => line.startsWith(word)).length;

test('each job is written down, sent, and written down again', async () => {
  const { log, ended } = await start({ jobs: 2, options: { concurrency: 1 } });
  expect(await ended).toBeUndefined();
  const of = (id: number) => log.filter((line) => line.endsWith(` ${id}`));
  expect(of(1)).toEqual(['ready 1', 'sent 1', 'send 1', 'done 1']);
  expect(of(2)).toEqual(['ready 2', 'sent 2', 'send 2', 'done 2']);
});

test('never more than asked for are under way', async () => {
  const { state, ended } = await start({
    jobs: 50,
    send: () => new Promise((resolve) => setImmediate(() => resolve(done))),
    options: { concurrency: 7 },
  });
  await ended;
  expect(state.most).toBe(7);
});

test('a failure ends only its own job', async () => {
  const { log, ended } = await start({ send: async (id) => (id % 2 === 0 ? failed : done) });
  expect(await ended).toBeUndefined();
  expect([count(log, 'done'), count(log, 'failed')]).toEqual([5, 5]);
});

test.each([
  ['the first failure', 1, 2],
  ['the third', 3, 4],
])('ends after %s, with what is under way', async (_, maxFailures, most) => {
  const { log, ended } = await start({ send: async () => failed, policy: { maxFailures } });
  expect(await ended).toBe('failures');
  expect(count(log, 'failed')).toBeGreaterThanOrEqual(maxFailures);
  expect(count(log, 'failed')).toBeLessThanOrEqual(most);
});

test('after a signal the jobs under way go on to their end', async () => {
  const stop = new AbortController();
  const release: (() => void)[] = [];
  const { log, ended } = await start({
    send: (id) =>
      new Promise((resolve) => {
        release.push(() => resolve(done));
        if (id === 2) stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
        if (id === 2) setImmediate(() => release.forEach((one) => one()));
      }),
    signal: stop.signal,
  });
  expect(await ended).toBe('signal');
  expect([count(log, 'send'), count(log, 'done')]).toEqual([2, 2]);
});

test('jobs under way are ended when the time after a signal is over, and recorded as what they are', async () => {
  const stop = new AbortController();
  const { log, ended } = await start({
    send: (id, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () =>
          resolve(id === 1 ? { state: 'unknown', document: {} } : { state: 'unsent' }),
        );
        if (id === 2) stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
      }),
    signal: stop.signal,
    options: { graceMs: 0 },
  });
  expect(await ended).toBe('signal');
  expect(log.slice(-6).toSorted()).toEqual(['close 3', 'close 4', 'unknown 1', 'unsent 2', 'unsent 3', 'unsent 4']);
});

test('a signal that came before the run ends it before the first job', async () => {
  const { log, ended } = await start({ signal: AbortSignal.abort(new Error('x')) });
  expect(await ended).toBe('signal');
  expect(log).toEqual([]);
});

test('a signal ends the wait of a closed gate', async () => {
  const stop = new AbortController();
  const { ended } = await start({
    signal: stop.signal,
    options: {
      gate: {
        enter: (signal) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason as Error));
            setImmediate(() => stop.abort(new Error('x')));
          }),
        close: () => undefined,
        allowRetry: () => true,
        succeeded: () => undefined,
        waitMs: 1,
      },
    },
  });
  expect(await ended).toBe('signal');
});

test('a journal that cannot be written stops before the next request', async () => {
  const full = new GatewayError('not-written', 'the disk is full');
  let sent = 0;
  const { log, ended } = await start({
    options: {
      concurrency: 1,
      recorder: {
        ...silentRecorder,
        async sent() {
          if (++sent === 3) throw full;
        },
      },
    },
  });
  await expect(ended).rejects.toBe(full);
  expect(count(log, 'send')).toBe(2);
});

test('an end that cannot be written down ends the run too', async () => {
  const full = new GatewayError('not-written', 'the disk is full');
  const { log, ended } = await start({
    jobs: 100,
    send: () => new Promise((resolve) => setImmediate(() => resolve(done))),
    options: { recorder: { ...silentRecorder, ended: () => Promise.reject(full) } },
  });
  await expect(ended).rejects.toBe(full);
  expect(count(log, 'send')).toBeLessThan(10);
});

test('jobs beside one that could not be built are dropped, and not recorded as unsent: they were not recorded as ready', async () => {
  const gone = new GatewayError('usage', 'the file is gone');
  const { log, ended } = await start({
    async prepare(job, closed) {
      if (job.id === '2') throw gone;
      return readyOf(job, closed);
    },
  });
  await expect(ended).rejects.toBe(gone);
  expect(log).toEqual(['close 1']);
});

test('a job that could not be written down as sent is not sent, and what it opened is closed', async () => {
  const full = new GatewayError('not-written', 'the disk is full');
  const log: string[] = [];
  const { signal } = new AbortController();
  const sender = createJobSender({
    batch: { host: hostOf(signal), policy: {}, lock: noLock },
    clientOf: () => Promise.reject(new Error('it was sent')),
    gate: createGate({ elapsed: () => 0, sleep: () => Promise.reject(new Error('it waited')), jobs: 1 }),
    pace: async () => undefined,
  });
  const payment = { cancel: async () => void log.push('cancel') } as unknown as Payment;
  await expect(sender.send(readyOf(jobOf(1), log), { payment, onReady: () => Promise.reject(full) })).rejects.toBe(
    full,
  );
  expect(log).toEqual(['cancel', 'close 1']);
});

test('only who has a job waits for a turn', async () => {
  let turns = 0;
  const pace = async () => void turns++;
  const { ended } = await start({ jobs: 3, options: { concurrency: 4, pace } });
  await ended;
  expect(turns).toBe(3);
});

test('a job whose turn did not come before the signal is given back', async () => {
  const stop = new AbortController();
  const pace = async (signal: AbortSignal) => {
    stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
    signal.throwIfAborted();
  };
  const { log, ended } = await start({ jobs: 1, signal: stop.signal, options: { pace } });
  expect(await ended).toBe('signal');
  expect(log).toEqual(['ready 1', 'close 1', 'unsent 1']);
});

test('a bug in one job ends the run, which waits for the jobs under way', async () => {
  const bug = new TypeError('bug');
  let late = false;
  const { ended } = await start({
    send: (id) =>
      id === 1 ? Promise.reject(bug) : new Promise((resolve) => setImmediate(() => ((late = true), resolve(done)))),
  });
  await expect(ended).rejects.toBe(bug);
  expect(late).toBe(true);
});
