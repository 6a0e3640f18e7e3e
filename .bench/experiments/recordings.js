// Requests that a folder of recordings answers, or has none for, in one process: what each costs as the folder grows.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { smallReply } from '../server/bodies.js';

/** @typedef {import('./experiment.js').Experiment} Experiment */
/** @typedef {import('./experiment.js').Lab} Lab */
/** @typedef {import('./experiment.js').Side} Side */

const path = '/v1beta/models/bench-model:generateContent';
const rest = [
  { status: 200, headers: { 'content-type': 'application/json' } },
  { text: String(smallReply) },
  { ended: 'end' },
];

/** @type {Map<string, string>} */
const folders = new Map();

/** A folder of so many recordings: what the jobs of as many ask. @param {Lab} lab @param {number} count */
export function recordingsIn(lab, count) {
  const name = `${lab.url('')} ${count}`;
  const folder = folders.get(name) ?? lab.folder();
  if (folders.has(name)) return folder;
  folders.set(name, folder);
  for (let at = 0; at < count; at++) {
    const body = `{"contents":[{"parts":[{"text":"number ${at}"}],"role":"user"}]}`;
    const request = `{"body":${body},"method":"POST","path":"${path}"}`;
    const key = createHash('sha256').update(request).digest('hex').slice(0, 32);
    const lines = [`{"recording":1,"scope":"bench","at":1,"request":${request}}`];
    const text = [...lines, ...rest.map((line) => JSON.stringify(line))].join('\n');
    const own = join(folder, `generateContent-bench-model-${key}`);
    mkdirSync(own);
    writeFileSync(join(own, '1.jsonl'), `${text}\n`);
  }
  return folder;
}

/** @param {number} count @returns {Experiment} */
export function recorded(count) {
  /** @type {(kind: 'found' | 'missed') => Side} */
  const asked = (kind) => async (lab) => {
    const testing = join(lab.bin, '../../dist/cjs/testing.js');
    const run = await lab.script('asked.js', [testing, recordingsIn(lab, count), kind]);
    return { wallMs: Number(run.stdout) };
  };
  return { rounds: 3, sides: { product: asked('missed'), found: asked('found') } };
}
