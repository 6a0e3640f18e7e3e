// Pictures in and out: wall time and peak memory in the same run.
import { mebibyte } from '../server/bodies.js';
import { bareNode, contentUrl, intoFolder, prompt } from './experiment.js';

/** @typedef {import('./experiment.js').Experiment} Experiment */
/** @typedef {import('./experiment.js').Lab} Lab */

const pick = `jq -r '.candidates[].content.parts[].inlineData.data' | base64 -d`;
const tools = ['curl', 'jq', 'base64'];

/** @param {Lab} lab @param {string} pipe */
function shell(lab, pipe) {
  return lab.run(['bash', '-c', `set -o pipefail; ${pipe}`], { memory: true });
}

/** @param {number} count of 20 MiB each @param {number} rounds @returns {Experiment} */
export function pictures(count, rounds) {
  const extras = { scene: `images-${count}`, memory: true };
  return {
    rounds,
    memory: true,
    sides: {
      product: (lab) => draw(lab, count),
      sdk: (lab) =>
        intoFolder(lab, count * 20 * mebibyte, (to) => lab.script('rivals/sdk-images.js', [prompt, to], extras)),
    },
  };
}

/** @param {Lab} lab @param {number} count of 20 MiB each */
function draw(lab, count) {
  const extras = { scene: `images-${count}`, memory: true };
  return intoFolder(lab, count * 20 * mebibyte, (to) => lab.product(['image', 'gen', prompt, '-o', `${to}/`], extras));
}

/** Four pictures, beside the shell pipe that people write: one pass, all pictures into one file. @type {Experiment} */
export const fourPictures = {
  rounds: 5,
  memory: true,
  tools,
  sides: {
    product: (lab) => draw(lab, 4),
    rival: (lab) =>
      intoFolder(lab, 80 * mebibyte, (to) =>
        shell(lab, `curl -sSf -d '{}' ${contentUrl(lab, 'images-4')} | ${pick} > ${to}/all`),
      ),
    bare: (lab) => bareNode(lab, true),
  },
};

/** A 64 MiB picture goes up, a small one comes back. @type {Experiment} */
export const bigEdit = {
  rounds: 5,
  memory: true,
  tools,
  sides: {
    product: (lab) =>
      intoFolder(lab, 4096, (to) =>
        lab.product(['image', 'edit', prompt, '-i', lab.bigPicture(), '-o', `${to}/`], { scene: 'edit', memory: true }),
      ),
    rival: (lab) =>
      intoFolder(lab, 4096, (to) => {
        const body = `{contents:[{role:"user",parts:[{text:"${prompt}"},{inlineData:{mimeType:"image/png",data:.}}]}]}`;
        const send = `curl -sSf -H 'Content-Type: application/json' --data-binary @- ${contentUrl(lab, 'edit')}`;
        return shell(lab, `base64 -w0 ${lab.bigPicture()} | jq -cRs '${body}' | ${send} | ${pick} > ${to}/all`);
      }),
    bare: (lab) => bareNode(lab, true),
  },
};
