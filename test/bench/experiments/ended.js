// Folders whose jobs have all ended: what it costs to look at one, to export it, and to run the same command again.
import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { sampleOf } from './experiment.js';

/** @typedef {import('./experiment.js').Experiment} Experiment */
/** @typedef {import('./experiment.js').Lab} Lab */
/** @typedef {import('./experiment.js').Side} Side */

/** Jobs that are really sent: a larger folder has their lines again and again, with other ids. */
const sent = 100;

/** @type {WeakMap<Lab, Map<number, Promise<string>>>} */
const folders = new WeakMap();

/** @param {number} rows @returns {Experiment} */
export function ended(rows) {
  /** @param {(folder: string) => string[]} words @returns {Side} */
  const product = (words) => async (lab) => {
    const folder = await endedFolder(lab, rows);
    const results = join(folder, 'out/results.jsonl');
    const { size } = statSync(results);
    const run = await lab.product(words(folder), { scene: 'batch', memory: true });
    if (statSync(results).size !== size) throw new Error('the results changed');
    return sampleOf(run);
  };
  return {
    rounds: 3,
    command: 'batch',
    memory: true,
    sides: {
      product: product((folder) => ['batch', join(folder, 'jobs.jsonl'), '-o', join(folder, 'out')]),
      status: product((folder) => ['batch', 'status', join(folder, 'out')]),
      export: product((folder) => ['batch', 'export', join(folder, 'out'), '-f', '-o', join(folder, 'out.csv')]),
      rival: async (lab) => {
        const out = join(await endedFolder(lab, rows), 'out');
        const files = [join(out, 'journal.jsonl'), join(out, 'results.jsonl')];
        return sampleOf(await lab.script('rivals/parse-lines.js', files, { memory: true }));
      },
    },
  };
}

/** A folder with jobs and their batch; made once. @param {Lab} lab @param {number} rows */
function endedFolder(lab, rows) {
  const known = folders.get(lab) ?? new Map();
  folders.set(lab, known);
  const folder = known.get(rows) ?? makeFolder(lab, rows);
  known.set(rows, folder);
  return folder;
}

/** @param {Lab} lab @param {number} rows */
async function makeFolder(lab, rows) {
  const folder = lab.folder();
  const jobs = join(folder, 'jobs.jsonl');
  const out = join(folder, 'out');
  const job = (/** @type {number} */ index) => ({
    id: `job-${index}`,
    prompt: `see ${index % sent}`,
    vars: { n: index % sent },
  });
  writeLines(jobs, sent, job);
  await lab.product(['batch', jobs, '-o', out, '--concurrency', '32'], { scene: 'batch' });
  writeLines(jobs, rows, job);
  for (const name of ['journal.jsonl', 'results.jsonl']) {
    const lines = readFileSync(join(out, name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const [run] = lines[0].type === 'run' ? lines.splice(0, 1) : [];
    const head = run === undefined ? '' : `${JSON.stringify({ ...run, jobs: rows, total: rows })}\n`;
    const copy = (/** @type {number} */ at) => {
      const line = lines[at % lines.length];
      const index = Number(line.id.slice(4)) + Math.floor(at / lines.length) * sent;
      return { ...line, id: `job-${index}`, ...(line.line && { line: index + 1 }) };
    };
    writeLines(join(out, name), (rows / sent) * lines.length, copy, head);
  }
  return folder;
}

/** @param {string} path @param {number} count @param {(index: number) => object} lineOf */
function writeLines(path, count, lineOf, head = '') {
  const file = openSync(path, 'w');
  let text = head;
  for (let index = 0; index < count; index++) {
    text += `${JSON.stringify(lineOf(index))}\n`;
    if (text.length < 1_000_000 && index + 1 < count) continue;
    writeSync(file, text);
    text = '';
  }
  closeSync(file);
}
