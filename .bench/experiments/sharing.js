// Many processes that share a budget or a rate, against as many that share nothing.
import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { smallText } from '../server/bodies.js';
import { mustSay, prompt } from './experiment.js';
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

/** @param {import('./experiment.js').Lab} lab @param {string | undefined} before */
async function runPaidText(lab, before) {
  const folder = lab.folder();
  const ledger = join(folder, 'team.jsonl');
  if (before !== undefined) copyFileSync(before, ledger);
  const flags = ['--max-tokens', '100', ...prices.slice(0, 2), '--budget', `${ledger}:1000`];
  const sample = mustSay(await lab.product(['text', prompt, ...flags], { memory: true }), smallText);
  lab.drop(folder);
  return sample;
}

/** A text whose budget has paid for so many requests, against one whose budget is new. @param {number} requests @returns {Experiment} */
export function paidBy(requests) {
  /** @type {WeakMap<import('./experiment.js').Lab, Promise<string>>} */
  const ledgers = new WeakMap();
  /** @param {import('./experiment.js').Lab} lab */
  const makeLedger = async (lab) => {
    const folder = lab.folder();
    const ledger = join(folder, 'team.jsonl');
    const flags = ['--concurrency', '1', ...prices, '--budget', `${ledger}:1000`];
    await lab.product(['batch', writeJobs(folder, requests), '-o', join(folder, 'out'), ...flags]);
    if (statSync(ledger).size < requests * 100)
      throw new Error('the ledger has been made smaller: its row says less than its name');
    return ledger;
  };
  return {
    rounds: 9,
    memory: true,
    sides: {
      product: async (lab) => {
        if (!ledgers.has(lab)) ledgers.set(lab, makeLedger(lab));
        return runPaidText(lab, await ledgers.get(lab));
      },
      rival: (lab) => runPaidText(lab, undefined),
    },
  };
}
