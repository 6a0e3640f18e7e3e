// What every experiment is made of: sides to be run in turn, and checks that they did their work.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** @typedef {import('../lab.js').Lab} Lab */
/** @typedef {import('../run-child.js').Run} Run */
/** @typedef {Partial<Record<'wallMs' | 'firstMs' | 'cpuMs' | 'peakMiB' | 'p50Ms' | 'p99Ms' | 'bytes' | 'packages', number>>} Sample */
/** @typedef {(lab: Lab) => Promise<Sample>} Side */
/**
 * @typedef {object} Experiment
 * @property {number} rounds
 * @property {string} [command] the product's command, where it may be missing
 * @property {boolean} [memory] needs GNU time
 * @property {string[]} [tools] programs that a side needs
 * @property {Record<string, Side>} sides in the order of each round; `product` first
 */

export const prompt = 'three names for a lighthouse cat';

/** @param {Run} run @param {string} expected */
export function mustSay(run, expected) {
  if (run.stdout.trimEnd() !== expected.trimEnd()) throw new Error(`unexpected output: ${run.stdout.slice(0, 200)}`);
  return sampleOf(run);
}

/**
 * Runs a side that writes into a new folder, and counts the bytes there.
 * @param {Lab} lab
 * @param {number} leastBytes
 * @param {(folder: string) => Promise<Run>} run
 */
export async function intoFolder(lab, leastBytes, run) {
  const folder = lab.folder();
  try {
    const sample = sampleOf(await run(folder));
    const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    if (bytes < leastBytes) throw new Error(`${bytes} bytes were written where ${leastBytes} were sent`);
    return sample;
  } finally {
    lab.drop(folder);
  }
}

/** @param {Lab} lab @param {boolean} [memory] @returns {Promise<Sample>} what an empty Node process costs */
export async function bareNode(lab, memory = false) {
  return sampleOf(await lab.run([process.execPath, '-e', '0'], { memory }));
}

/** @param {Run} run @returns {Sample} */
export function sampleOf({ wallMs, firstMs, cpuMs, peakMiB }) {
  return { wallMs, firstMs, cpuMs, peakMiB };
}

/** @param {Lab} lab @param {string} scene */
export function contentUrl(lab, scene) {
  return `${lab.url(scene)}/v1beta/models/bench-model:generateContent`;
}
