// Conversations that were kept: a few large ones, and many small ones.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bareNode, sampleOf } from './experiment.js';

/** @typedef {import('./experiment.js').Experiment} Experiment */
/** @typedef {import('./experiment.js').Lab} Lab */
/** @typedef {import('./experiment.js').Side} Side */

const answer = JSON.stringify({ role: 'assistant', content: 'a dot' });

/** @type {WeakMap<Lab, Map<number, string>>} */
const folders = new WeakMap();

/** Twenty sessions of 20 MB, every second one with pictures. @type {Experiment} */
export const largeSessions = {
  rounds: 2,
  command: 'sessions',
  memory: true,
  sides: { product: list(20, writeLarge), bare: (lab) => bareNode(lab, true) },
};

/** So many sessions of one turn: the list of them, and a TAB where one is named. @param {number} count @returns {Experiment} */
export function smallSessions(count) {
  return {
    rounds: 5,
    command: 'sessions',
    memory: true,
    sides: {
      product: list(count, writeSmall),
      tab: asked(['__complete', 'bash', 'gateway-cli chat --session s'], count, writeSmall),
    },
  };
}

/** @param {number} count @param {(path: string, number: number) => void} write @returns {Side} */
function list(count, write) {
  return asked(['sessions', 'list'], count, write);
}

/**
 * What prints a line for each session; their folder is made once.
 * @param {string[]} words @param {number} count @param {(path: string, number: number) => void} write @returns {Side}
 */
function asked(words, count, write) {
  return async (lab) => {
    const known = folders.get(lab) ?? new Map();
    folders.set(lab, known);
    const state = known.get(count) ?? lab.folder();
    const folder = join(state, 'gateway-cli/sessions');
    if (!known.has(count)) {
      mkdirSync(folder, { recursive: true });
      for (let number = 0; number < count; number++) write(join(folder, `s${number}.jsonl`), number);
      known.set(count, state);
    }
    const run = await lab.product(words, { memory: true, variables: { XDG_STATE_HOME: state } });
    const named = run.stdout.split('\n').filter((line) => /^s\d/.test(line)).length;
    if (named !== count) throw new Error(`${named} sessions of ${count}: ${run.stdout.slice(0, 200)}`);
    return sampleOf(run);
  };
}

/** @param {string} path */
function writeSmall(path) {
  writeFileSync(path, `${JSON.stringify({ role: 'user', content: 'see' })}\n${answer}\n`);
}

/** @param {string} path @param {number} number */
function writeLarge(path, number) {
  const picture = {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0K'.repeat(500_000) },
  };
  const content = number % 2 === 0 ? 'some words and more '.repeat(250) : [{ type: 'text', text: 'see' }, picture];
  const turn = `${JSON.stringify({ role: 'user', content })}\n${answer}\n`;
  writeFileSync(path, turn.repeat(Math.ceil(20_000_000 / turn.length)));
}
