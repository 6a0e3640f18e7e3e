// Where the product's time goes: one run under V8's profiler, functions by their own time.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** @typedef {{ id: number, callFrame: { functionName: string, url: string, lineNumber: number } }} ProfileNode */
/** @typedef {{ nodes: ProfileNode[], samples: number[], timeDeltas: number[] }} Profile */

const shown = 25;

/**
 * @param {import('./experiments/experiment.js').Experiment} experiment
 * @param {import('./lab.js').Lab} lab
 */
export async function profile(experiment, lab) {
  const folder = lab.folder();
  await experiment.sides['product']?.(lab);
  lab.nodeFlags.push('--cpu-prof', '--cpu-prof-interval', '200', '--cpu-prof-dir', folder);
  await experiment.sides['product']?.(lab);
  const files = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
  return files.map((name) => describe(JSON.parse(readFileSync(join(folder, name), 'utf8')))).join('\n');
}

/** @param {Profile} profile */
function describe({ nodes, samples, timeDeltas }) {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  /** @type {Map<string, number>} */
  const selfTimes = new Map();
  for (const [index, id] of samples.entries()) {
    const name = names.get(id) ?? '?';
    selfTimes.set(name, (selfTimes.get(name) ?? 0) + (timeDeltas[index] ?? 0));
  }
  const total = timeDeltas.reduce((sum, delta) => sum + delta, 0);
  const sorted = [...selfTimes].sort((a, b) => b[1] - a[1]).slice(0, shown);
  const lines = sorted.map(
    ([name, time]) =>
      `${(time / 1000).toFixed(1).padStart(8)} ms ${((100 * time) / total).toFixed(1).padStart(5)} %  ${name}`,
  );
  return `${(total / 1000).toFixed(0)} ms in all\n${lines.join('\n')}\n`;
}

/** @param {ProfileNode['callFrame']} frame */
function nameOf({ functionName, url, lineNumber }) {
  const file = url.startsWith('file://') ? relative(process.cwd(), url.slice('file://'.length)) : url;
  return `${functionName || '(anonymous)'}${file ? ` ${file}:${lineNumber + 1}` : ''}`;
}
