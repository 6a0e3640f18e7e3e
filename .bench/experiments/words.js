// Start, one text, streams.
import { manyWords, smallText } from '../server/bodies.js';
import { bareNode, mustSay, prompt, sampleOf } from './experiment.js';

/** @typedef {import('./experiment.js').Experiment} Experiment */

/** @param {string} flag @returns {Experiment} */
export function startOf(flag) {
  return {
    rounds: 21,
    sides: {
      product: async (lab) => {
        const run = await lab.product([flag]);
        if (!/\d|Usage/.test(run.stdout)) throw new Error(`nothing was printed for ${flag}`);
        return sampleOf(run);
      },
      rival: (lab) => bareNode(lab),
    },
  };
}

/** @type {Experiment} */
export const oneText = {
  rounds: 15,
  sides: {
    product: async (lab) => mustSay(await lab.product(['text', prompt]), smallText),
    rival: async (lab) => mustSay(await lab.script('rivals/fetch-text.js', [prompt]), smallText),
  },
};

/** @type {Experiment} */
export const firstDelta = streamed({ scene: 'first', rounds: 15, expected: 'first words' });

/** @type {Experiment} */
export const manyDeltas = streamed({ scene: 'deltas', rounds: 9, expected: manyWords().join('') });

/** @param {{ scene: string, rounds: number, expected: string }} what @returns {Experiment} */
function streamed({ scene, rounds, expected }) {
  return {
    rounds,
    sides: {
      product: async (lab) => mustSay(await lab.product(['chat', prompt], { scene }), expected),
      rival: async (lab) => mustSay(await lab.script('rivals/sdk-chat.js', [prompt], { scene }), expected),
    },
  };
}

/** @param {number} perSecond @returns {Experiment} */
export function delayAt(perSecond) {
  return {
    rounds: 5,
    sides: {
      product: (lab) => measureDelay((extras) => lab.product(['chat', prompt], extras), perSecond),
      rival: (lab) => measureDelay((extras) => lab.script('rivals/sdk-chat.js', [prompt], extras), perSecond),
    },
  };
}

/**
 * Each line of the answer is the moment at which the server wrote it, by the machine's monotonic clock.
 * @param {(extras: import('../lab.js').RunExtras) => Promise<import('../run-child.js').Run>} run
 * @param {number} perSecond
 */
async function measureDelay(run, perSecond) {
  /** @type {number[]} */
  const delays = [];
  let rest = '';
  const onChunk = (/** @type {Buffer} */ chunk) => {
    const now = process.hrtime.bigint();
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) delays.push(Number(now - BigInt(line)) / 1e6);
  };
  await run({ scene: `timed-${perSecond}`, onChunk });
  if (delays.length !== perSecond * 2) throw new Error(`${delays.length} deltas of ${perSecond * 2} came`);
  delays.sort((a, b) => a - b);
  return { p50Ms: quantile(delays, 0.5), p99Ms: quantile(delays, 0.99) };
}

/** @param {number[]} sorted @param {number} share */
function quantile(sorted, share) {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
