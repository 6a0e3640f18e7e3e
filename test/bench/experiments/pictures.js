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
  const scene = `images-${count}`;
  const bytes = count * 20 * mebibyte;
  return {
    rounds,
    memory: true,
    sides: {
      product: (lab) =>
        intoFolder(lab, bytes, (to) => lab.product(['image', 'gen', prompt, '-o', `${to}/`], { scene, memory: true })),
      sdk: (lab) =>
        intoFolder(lab, bytes, (to) => lab.script('rivals/sdk-images.js', [prompt, to], { scene, memory: true })),
    },
  };
}

/** Four pictures, beside the shell pipe that people write: one pass, all pictures into one file. @type {Experiment} */
export const fourPictures = {
  ...pictures(4, 5),
  tools,
  sides: {
    ...pictures(4, 5).sides,
    rival: (lab) =>
      intoFolder(lab, 80 * mebibyte, (to) =>
        shell(lab, `curl -sSf -d '{}' ${contentUrl(lab, 'images-4')} | ${pick} > ${to}/all`),
      ),
    floor: (lab) =>
      intoFolder(lab, 80 * mebibyte, (to) =>
        lab.script('floors/http-images.js', [prompt, to], { scene: 'images-4', memory: true }),
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
    floor: (lab) =>
      intoFolder(lab, 4096, (to) =>
        lab.script('floors/http-edit.js', [prompt, lab.bigPicture(), to], { scene: 'edit', memory: true }),
      ),
    bare: (lab) => bareNode(lab, true),
  },
};
