// The page of a batch: 150 pictures of 1 MiB, beside it or in it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sampleOf } from './experiment.js';
import { writeJobs } from './jobs.js';

/** @typedef {import('./experiment.js').Experiment} Experiment */
/** @typedef {import('./experiment.js').Lab} Lab */

const pictures = 150;
/** @type {WeakMap<Lab, string>} */
const batches = new WeakMap();

/** @type {import('./experiment.js').Experiment} */
export const gallery = {
  rounds: 3,
  command: 'batch',
  sides: {
    product: async (lab) => {
      const folder = await batchFolder(lab);
      const run = await lab.product(['batch', 'gallery', folder]);
      const shown = readFileSync(join(folder, 'index.html'), 'utf8').split('<img src="./images/').length - 1;
      if (shown !== pictures) throw new Error(`${shown} pictures of ${pictures} are in the page`);
      return sampleOf(run);
    },
  },
};

/** The folder of a batch that has drawn them all; made once. @param {Lab} lab */
async function batchFolder(lab) {
  const folder = batches.get(lab) ?? lab.folder();
  batches.set(lab, folder);
  if (existsSync(join(folder, 'results.jsonl'))) return folder;
  const flags = ['--defaults', '{"command":"image gen"}', '--concurrency', '16'];
  await lab.product(['batch', writeJobs(lab.folder(), pictures), '-o', folder, ...flags], { scene: 'gallery' });
  return folder;
}
