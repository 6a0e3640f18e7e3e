// Many processes that share a budget or a rate, against as many that share nothing.
import { join } from 'node:path';
import { writeJobs } from './jobs.js';

/** @typedef {import('./experiment.js').Experiment} Experiment */
/** @typedef {import('./experiment.js').Side} Side */

const prices = ['--prices', '{"*":{"input":"0","output":"1"}}', '--defaults', '{"maxTokens":100}'];

/** Batches of 40 texts, 4 at once, of so many processes. @param {number} processes @returns {Experiment} */
export function sharedBy(processes) {
  return {
    rounds: 3,
    command: 'batch',
    sides: {
      product: batches(processes, (folder) => ['--budget', `${join(folder, 'team.jsonl')}:1000`]),
      group: batches(processes, (folder) => ['--rate', '10000/s', '--rate-group', join(folder, 'team.json')]),
      rival: batches(processes, () => []),
    },
  };
}

/** @param {number} processes @param {(folder: string) => string[]} listFlags @returns {Side} */
function batches(processes, listFlags) {
  return async (lab) => {
    const folder = lab.folder();
    try {
      const file = writeJobs(folder, 40);
      const start = performance.now();
      const ran = Array.from({ length: processes }, (_, at) =>
        lab.product(
          ['batch', file, '-o', join(folder, `out-${at}`), '--concurrency', '4', ...prices, ...listFlags(folder)],
          { scene: 'batch' },
        ),
      );
      await Promise.all(ran);
      return { wallMs: performance.now() - start };
    } finally {
      lab.drop(folder);
    }
  };
}
