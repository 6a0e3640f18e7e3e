import { expect, test } from 'vitest';
import type { BatchGate } from '../../src/batch/gate.ts';
import { paceRetries } from '../../src/batch/rate.ts';

test('a retry waits for its turn first, then for the pause that another job was told of meanwhile', async () => {
  const log: string[] = [];
  const inner: Pick<BatchGate, 'enter' | 'close' | 'allowRetry'> = {
    enter: async () => void log.push('gate'),
    close: () => undefined,
    allowRetry: () => true,
  };
  const gate = paceRetries(inner, async () => void log.push('turn'));
  const { signal } = new AbortController();
  await gate.enter(signal);
  await gate.enter(signal);
  expect(log).toEqual(['gate', 'turn', 'gate']);
});
