// Batches: many small requests at 32 at once, against a server that takes 20 ms for each; big pictures at 16 at once.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mebibyte, noisePng } from '../server/bodies.js';
import { bareNode, sampleOf } from './experiment.js';
import { writeJobs } from './jobs.js';
import { recordingsIn } from './recordings.js';

/** @typedef {import('./experiment.js').Experiment} Experiment */
/** @typedef {import('./experiment.js').Lab} Lab */
/** @typedef {import('./experiment.js').Run} Run */
/** @typedef {import('./experiment.js').Side} Side */

/** The batch whose start is measured beside it; a longer one is held against this one. */
const idealJobs = 2000;
const extras = { scene: 'batch', memory: true };

/**
 * `start` is a batch of one job, in each round beside the others: a machine is not as quick in one minute as in the next.
 * @param {number} jobs @param {number} rounds @returns {Experiment}
 */
export function batchOf(jobs, rounds) {
  return {
    rounds,
    command: 'batch',
    memory: true,
    sides: {
      product: (lab) => productOf(lab, jobs),
      ...(jobs === idealJobs && {
        start: /** @type {Side} */ (lab) => productOf(lab, 1),
        rival: script('rivals/http-batch.js', jobs),
      }),
      sdk: script('rivals/sdk-batch.js', jobs),
    },
  };
}

/** @param {string} name of a script that reads jobs and writes a line for each @param {number} jobs @returns {Side} */
function script(name, jobs) {
  return (lab) =>
    withJobs(lab, jobs, (file, folder) => lab.script(name, [file, join(folder, 'results.jsonl')], extras));
}

/** @param {Lab} lab @param {number} jobs */
function productOf(lab, jobs) {
  return withJobs(lab, jobs, (file, folder) =>
    lab.product(['batch', file, '-o', folder, '--concurrency', '32'], extras),
  );
}

/** 64 pictures of 20 MiB, each on the disk as it was sent. @type {Experiment} */
export const pictureBatch = {
  rounds: 1,
  command: 'batch',
  memory: true,
  sides: {
    product: (lab) =>
      withJobs(lab, 64, async (file, folder) => {
        const flags = ['--defaults', '{"command":"image gen"}', '--concurrency', '16'];
        const run = await lab.product(['batch', file, '-o', folder, ...flags], { scene: 'images-1', memory: true });
        const images = join(folder, 'images');
        const whole = readdirSync(images).filter((name) => statSync(join(images, name)).size === 20 * mebibyte).length;
        if (whole !== 64) throw new Error(`${whole} whole pictures of 64`);
        return run;
      }),
    bare: (lab) => bareNode(lab, true),
  },
};

/**
 * The results of a service's batch of so many texts, beside as many that are sent live.
 * @param {number} jobs @returns {Experiment}
 */
export function collectedBatch(jobs) {
  const sides = { product: collected(jobs), rival: live(jobs) };
  return { rounds: 1, command: 'batch', memory: true, sides };
}

/** @param {number} jobs @returns {Side} */
function collected(jobs) {
  return (lab) =>
    withJobs(lab, jobs, async (file, folder) => {
      const words = ['batch', file, '-o', folder, '--lane', 'batch', '--format', 'completions'];
      await lab.product([...words, '--no-wait'], { scene: 'service' });
      return lab.product(words, { scene: 'service', memory: true });
    });
}

/** Jobs that are answered from recordings, beside as many that are sent live. @param {number} jobs @returns {Experiment} */
export function replayedBatch(jobs) {
  const replay = (/** @type {Lab} */ lab) => ['--replay', recordingsIn(lab, jobs)];
  return { rounds: 2, command: 'batch', memory: true, sides: { product: live(jobs, replay), rival: live(jobs) } };
}

/** @param {number} jobs @param {(lab: Lab) => string[]} [listFlags] @returns {Side} */
function live(jobs, listFlags = () => []) {
  return (lab) =>
    withJobs(lab, jobs, (file, folder) =>
      lab.product(['batch', file, '-o', folder, '--concurrency', '32', ...listFlags(lab)], { memory: true }),
    );
}

/**
 * A dry run of rows that share a schema, a paper of 8 MiB and a picture, beside one of as many rows without files.
 * @param {number} rows @returns {Experiment}
 */
export function sharedFiles(rows) {
  /** @param {object} files @returns {Side} */
  const dryRun = (files) => async (lab) => {
    const folder = lab.folder();
    try {
      writeFileSync(join(folder, 'schema.json'), '{"type":"object","properties":{"name":{"type":"string"}}}');
      writeFileSync(join(folder, 'paper.pdf'), `%PDF-1.7\n${'x'.repeat(8 * mebibyte)}`);
      writeFileSync(join(folder, 'photo.png'), noisePng(mebibyte));
      const jobs = writeJobs(folder, rows);
      const flags = ['--dry-run', '--defaults', JSON.stringify({ command: 'chat', ...files })];
      return sampleOf(await lab.product(['batch', jobs, '-o', join(folder, 'out'), ...flags], extras));
    } finally {
      lab.drop(folder);
    }
  };
  const files = { schema: 'schema.json', attach: ['paper.pdf'], image: ['photo.png'] };
  return { rounds: 2, command: 'batch', memory: true, sides: { product: dryRun(files), rival: dryRun({}) } };
}

/** @param {Lab} lab @param {number} jobs @param {(file: string, folder: string) => Promise<Run>} run */
async function withJobs(lab, jobs, run) {
  const folder = lab.folder();
  const results = lab.folder();
  try {
    const sample = sampleOf(await run(writeJobs(folder, jobs), results));
    const done = readFileSync(join(results, 'results.jsonl'), 'utf8').trimEnd().split('\n').length;
    if (done !== jobs) throw new Error(`${done} results of ${jobs} jobs`);
    return sample;
  } finally {
    lab.drop(folder);
    lab.drop(results);
  }
}
