// The local gateway under load, beside another mock server.
import { join } from 'node:path';

/** @typedef {import('./experiment.js').Experiment} Experiment */
/** @typedef {import('./experiment.js').Lab} Lab */

/** So many requests of whole replies, or of streams, in all formats. @param {number} requests @param {'whole' | 'streamed'} kind @returns {Experiment} */
export function loaded(requests, kind) {
  /** @param {(lab: Lab) => string[]} listWords */
  const side = (listWords) => async (/** @type {Lab} */ lab) => {
    const run = await lab.script('loaded.js', [String(requests), kind, process.execPath, ...listWords(lab)]);
    return { cpuMs: Number(run.stdout) };
  };
  return {
    rounds: 3,
    command: 'serve',
    sides: {
      product: side((lab) => [lab.bin, 'serve', '--port', '0']),
      rival: side(() => [join(import.meta.dirname, '../rivals/aimock.js')]),
    },
  };
}
