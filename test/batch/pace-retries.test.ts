import { expect, test } from 'vitest';
import { type BatchGate, paceRetries } from '../../src/batch/throttle.ts';

test('a retry waits for its turn, then for the pause that another job was told of meanwhile, and each attempt looks at the lock last', async () => {
  const log: string[] = [];
  const inner: Pick<BatchGate, 'enter' | 'close' | 'allowRetry'> = {
    enter: async () => void log.push('gate'),
    close: () => undefined,
    allowRetry: () => true,
  };
  const lock = { check: () => void log.push('lock') };
  const gate = paceRetries(inner, async () => void log.push('turn'), lock);
  const { signal } = new AbortController();
  await gate.enter(signal);
  await gate.enter(signal);
  expect(log).toEqual(['gate', 'lock', 'turn', 'gate', 'lock']);
});
