// Runs experiments: sides in turn (A B A B), the first round thrown away, medians of the rest.

/** @typedef {import('./experiments/experiment.js').Experiment} Experiment */
/** @typedef {import('./experiments/experiment.js').Sample} Sample */
/** @typedef {Record<string, Record<string, Sample>>} Medians by experiment and side */

/**
 * The rounds of each experiment are spread over the whole run: a slow minute of the machine is no row's alone.
 * @param {Record<string, Experiment>} experiments by name
 * @param {import('./lab.js').Lab} lab
 * @param {object} options
 * @param {number | undefined} options.rounds of each, instead of its own number
 * @param {(done: number, all: number) => void} options.onTurn
 * @param {(name: string, medians: Medians[string]) => void} options.onEnded called after the last round of each
 */
export async function measure(experiments, lab, { rounds, onTurn, onEnded }) {
  /** @type {Record<string, Record<string, Sample[]>>} */
  const samples = {};
  const turns = Object.entries(experiments)
    .flatMap(([name, experiment]) => turnsOf(name, experiment, rounds))
    .toSorted((a, b) => a.at - b.at);
  for (const [index, { name, round, isWarmUp }] of turns.entries()) {
    onTurn(index, turns.length);
    const ofName = (samples[name] ??= {});
    for (const [side, run] of rotated(Object.entries(experiments[name]?.sides ?? {}), round)) {
      const sample = await run(lab).catch((cause) => {
        throw new Error(`${name}, ${side}: ${cause}`, { cause });
      });
      if (!isWarmUp) (ofName[side] ??= []).push(sample);
    }
    if (turns.findLastIndex((turn) => turn.name === name) === index) onEnded(name, mediansOf(ofName));
  }
}

/** @param {string} name @param {Experiment} experiment @param {number | undefined} wanted rounds */
function turnsOf(name, experiment, wanted = experiment.rounds) {
  const warmUp = experiment.rounds > 1 ? 1 : 0;
  const all = wanted + warmUp;
  // The big ones come last: a gigabyte that goes to the disk is felt by what is measured after it.
  if (all === 1) return [{ name, round: 0, isWarmUp: false, at: 1 }];
  return Array.from({ length: all }, (_, round) => ({
    name,
    round,
    isWarmUp: round < warmUp,
    at: (round + 0.5) / all,
  }));
}

/**
 * Whoever comes first finds the machine as another experiment left it: each side in its turn.
 * @template T
 * @param {T[]} list
 * @param {number} by
 */
function rotated(list, by) {
  const start = by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}

/** @param {Record<string, Sample[]>} sides */
function mediansOf(sides) {
  return Object.fromEntries(Object.entries(sides).map(([side, list]) => [side, medianOf(list)]));
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
