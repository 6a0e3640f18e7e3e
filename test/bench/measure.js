// Runs experiments: sides in turn (A B A B), the first round thrown away, medians of the rest.

/** @typedef {import('./experiments/experiment.js').Experiment} Experiment */
/** @typedef {import('./experiments/experiment.js').Sample} Sample */
/** @typedef {Record<string, Record<string, Sample>>} Medians by experiment and side */

/**
 * @param {Experiment} experiment
 * @param {import('./lab.js').Lab} lab
 * @param {number} [rounds]
 */
export async function measure(experiment, lab, rounds = experiment.rounds) {
  /** @type {Record<string, Sample[]>} */
  const samples = {};
  const warmUp = experiment.rounds > 1 ? 1 : 0;
  for (let round = 0; round < rounds + warmUp; round++) {
    for (const [name, side] of Object.entries(experiment.sides)) {
      const sample = await side(lab);
      if (round >= warmUp) (samples[name] ??= []).push(sample);
    }
  }
  return Object.fromEntries(Object.entries(samples).map(([name, list]) => [name, medianOf(list)]));
}

/** @param {Sample[]} samples @returns {Sample} the median of each number by itself */
function medianOf(samples) {
  const metrics = /** @type {(keyof Sample)[]} */ (Object.keys(samples[0] ?? {}));
  return Object.fromEntries(
    metrics.map((metric) => [metric, median(samples.map((sample) => sample[metric] ?? Number.NaN))]),
  );
}

/** @param {number[]} values */
function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}
