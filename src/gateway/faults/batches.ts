import type { BatchFault, FaultTable } from './table.ts';

/** Batches that go wrong. They are of the vendors' batch APIs: a request by itself gets a good answer. */
export const batchFaults: FaultTable = {
  ...spoilt('lost-answer', 'is created, but the connection is reset before the reply', { losesReply: true }),
  ...spoilt('expired', 'expires with half of its requests', { expires: true }),
  ...spoilt('partial', 'completes, but every second request failed', { failsEverySecond: true }),
  ...spoilt('wrong-order', 'has its results in another order', { swapsLines: true }),
  ...spoilt('doubled', 'has each result twice', { doublesResults: true }),
  ...spoilt('404-at-first', 'is not found the first two times', { hiddenReads: 2 }),
  ...spoilt('stuck', 'stays in progress until it is canceled', { isStuck: true }),
};

function spoilt(name: string, description: string, batch: BatchFault): FaultTable {
  return { [`fault-batch-${name}`]: { description: `a batch ${description}`, exitCode: 0, batch } };
}
