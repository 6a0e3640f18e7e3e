import { describe, expect, test } from 'vitest';
import { createGate } from '../../../src/library/transport/gate.ts';

/** A clock that only sleeping moves. */
function clock() {
  let time = 1000;
  const slept: number[] = [];
  return {
    slept,
    move: (ms: number) => void (time += ms),
    elapsed: () => time,
    async sleep(ms: number, signal: AbortSignal) {
      signal.throwIfAborted();
      slept.push(ms);
      time += ms;
    },
  };
}
const { signal } = new AbortController();

describe('the gate', () => {
  test('lets every request pass while it is open', async () => {
    const at = clock();
    await createGate({ ...at, jobs: 5 }).enter(signal);
    expect(at.slept).toEqual([]);
  });

  test('holds all requests until the longest hint is over', async () => {
    const at = clock();
    const gate = createGate({ ...at, jobs: 5 });
    gate.close(3000);
    gate.close(500);
    expect(gate.waitMs).toBe(3000);
    await gate.enter(signal);
    await gate.enter(signal);
    expect(at.slept).toEqual([3000]);
    expect(gate.waitMs).toBe(0);
  });

  test('waits on if it is closed again during the wait', async () => {
    const at = clock();
    const gate = createGate({
      ...at,
      jobs: 5,
      async sleep(ms, given) {
        await at.sleep(ms, given);
        if (at.slept.length === 1) gate.close(700);
      },
    });
    gate.close(300);
    await gate.enter(signal);
    expect(at.slept).toEqual([300, 700]);
  });

  test('limits a hint to the longest timer', () => {
    const gate = createGate({ ...clock(), jobs: 5 });
    gate.close(Number.MAX_VALUE);
    expect(gate.waitMs).toBe(2 ** 31 - 1);
  });

  test('ends the wait with the signal', async () => {
    const gate = createGate({ ...clock(), jobs: 5 });
    gate.close(300);
    await expect(gate.enter(AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
  });

  test.each([
    ['ten retries for few jobs', 5, 10],
    ['a tenth of many', 1000, 100],
  ])('allows %s', (_, jobs, expected) => {
    const gate = createGate({ ...clock(), jobs });
    let allowed = 0;
    while (gate.allowRetry()) allowed++;
    expect(allowed).toBe(expected);
  });

  test('ten successes give one retry back, never more than the budget', () => {
    const gate = createGate({ ...clock(), jobs: 5 });
    while (gate.allowRetry()) continue;
    for (let i = 0; i < 11; i++) gate.succeeded();
    expect([gate.allowRetry(), gate.allowRetry()]).toEqual([true, false]);
    for (let i = 0; i < 1000; i++) gate.succeeded();
    let allowed = 0;
    while (gate.allowRetry()) allowed++;
    expect(allowed).toBe(10);
  });
});
