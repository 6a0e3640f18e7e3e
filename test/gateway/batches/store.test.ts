import { expect, test } from 'vitest';
import type { BatchJob } from '../../../src/gateway/batches/batch.ts';
import { createBatches } from '../../../src/gateway/batches/store.ts';
import { messagesFormat } from '../../../src/gateway/messages/format.ts';
import type { GatewayRequest } from '../../../src/gateway/types.ts';

const job: BatchJob = {
  request: { format: messagesFormat } as GatewayRequest,
  about: {},
  model: 'local-chat',
  lines: [
    { label: {}, body: {} },
    { label: {}, body: {} },
  ],
  path: '/',
  handle: () => Promise.reject(new Error('not called')),
};

test.each(['close', 'remove'] as const)(
  '%s ends the request that is being answered, and answers no other',
  async (how) => {
    const steps: string[] = [];
    const batches = createBatches({
      delay: 1,
      answer: ({ left }) =>
        new Promise((_resolve, reject) => {
          steps.push('asked');
          left.signal.addEventListener('abort', () => {
            steps.push('stopped');
            reject(new Error('stopped'));
          });
        }),
    });
    const batch = batches.start('b1', job);
    await expect.poll(() => steps).toEqual(['asked']);
    if (how === 'close') batches.close();
    else batches.all.remove('b1');
    await new Promise((resolve) => setImmediate(resolve));
    expect(steps).toEqual(['asked', 'stopped']);
    expect([batch.ended, batch.results.length, batches.all.list()]).toEqual([undefined, 0, []]);
  },
);
