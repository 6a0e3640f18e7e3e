// Folders whose jobs have all ended: what it costs to look at one, to export it, and to run the same command again.
import { closeSync, cpSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { sampleOf } from './experiment.js';

/** @typedef {import('./experiment.js').Experiment} Experiment */
/** @typedef {import('./experiment.js').Lab} Lab */
/** @typedef {import('./experiment.js').Side} Side */

/** Jobs that are really sent: a larger folder has their lines again and again, as rows that ask the same. @param {number} rows */
const countSent = (rows) => Math.max(100, rows / 100);

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
  /** Another table in a copy of the folder. @param {string} table @param {string[]} flags @returns {Side} */
  const changed =
    (table, ...flags) =>
    async (lab) => {
      const folder = await endedFolder(lab, rows);
      const copy = join(folder, 'copy');
      cpSync(join(folder, 'out'), copy, { recursive: true });
      const words = ['batch', join(folder, table), '-o', copy, ...flags];
      const run = await lab.product(words, { scene: 'batch', memory: true });
      rmSync(copy, { recursive: true });
      return sampleOf(run);
    };
  return {
    rounds: 3,
    command: 'batch',
    memory: true,
    sides: {
      product: product((folder) => ['batch', join(folder, 'jobs.jsonl'), '-o', join(folder, 'out')]),
      edited: changed('edited.jsonl', '--accept-changes'),
      deleted: changed('deleted.jsonl'),
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
  const sent = countSent(rows);
  const job = (/** @type {number} */ index) => ({
    id: `job-${index}`,
    prompt: `see ${index % sent}`,
    vars: { n: index % sent },
  });
  writeLines(jobs, sent, job);
  await lab.product(['batch', jobs, '-o', out, '--concurrency', '32'], { scene: 'batch' });
  writeLines(jobs, rows, job);
  writeLines(join(folder, 'edited.jsonl'), rows, (at) => (at === 500 ? { ...job(at), prompt: 'edited' } : job(at)));
  writeLines(join(folder, 'deleted.jsonl'), rows - 1, (at) => job(at + 1));
  const [manifest, journal, results] = ['jobs.jsonl', 'journal.jsonl', 'results.jsonl'].map((name) => join(out, name));
  const [header, ...table] = readLines(manifest);
  const [run, ...records] = readLines(journal);
  const ends = new Map(records.filter(({ t }) => t === 'done').map((end) => [end.slot, end]));
  const known = readLines(results);
  const index = (/** @type {string} */ id, /** @type {number} */ at) =>
    Number(id.slice(4)) + Math.floor(at / sent) * sent;
  const slot = (/** @type {string} */ first, /** @type {number} */ at) =>
    at < sent ? first : `${first}-${Math.floor(at / sent) + 1}`;
  writeLines(
    manifest,
    rows,
    (at) => {
      const row = table[at % sent];
      return { ...row, slot: slot(row.slot, at), id: `job-${index(row.id, at)}`, row: index(row.id, at) + 1 };
    },
    { ...header, rows, jobs: rows },
  );
  let off = 0;
  const resultAt = (/** @type {number} */ at) => {
    const line = known[at % sent];
    return { ...line, slot: slot(line.slot, at), id: `job-${index(line.id, at)}` };
  };
  writeLines(results, rows, resultAt);
  writeLines(
    journal,
    rows,
    (at) => {
      const line = resultAt(at);
      const len = Buffer.byteLength(JSON.stringify(line)) + 1;
      off += len;
      return { ...ends.get(known[at % sent].slot), slot: line.slot, off: off - len, len };
    },
    run,
  );
  return folder;
}

/** @param {string | undefined} path @returns {any[]} */
function readLines(path = '') {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

/** @param {string | undefined} path @param {number} count @param {(index: number) => object} lineOf @param {object} [head] */
function writeLines(path = '', count, lineOf, head) {
  const file = openSync(path, 'w');
  let text = head === undefined ? '' : `${JSON.stringify(head)}\n`;
  for (let index = 0; index < count; index++) {
    text += `${JSON.stringify(lineOf(index))}\n`;
    if (text.length < 1_000_000 && index + 1 < count) continue;
    writeSync(file, text);
    text = '';
  }
  closeSync(file);
}
