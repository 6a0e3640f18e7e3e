// npm run bench: prints one table for each version of Node. Exit 1 where a row falls short.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { experiments } from './experiments/all.js';
import { openLab } from './lab.js';
import { measure } from './measure.js';
import { majors, nodeOf } from './nodes.js';
import { profile } from './profile.js';
import { describe, json, table } from './report.js';
import { rows } from './rows.js';
import { measuresMemory } from './run-child.js';

const folder = import.meta.dirname;
const usage = `Usage: npm run bench -- [--node <20,24,26|this>] [--only <row,…>] [--rounds <n>] [--json] [--bin <file>] [--profile <row>]
Rows: ${rows.map((row) => row.id).join(' ')}
`;

const { values: flags } = parseArgs({
  options: {
    node: { type: 'string', default: majors.join(',') },
    only: { type: 'string' },
    rounds: { type: 'string' },
    json: { type: 'boolean' },
    bin: { type: 'string', default: join(folder, '../bin/gateway-cli.js') },
    profile: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});

/** @param {string | undefined} list */
function chooseRows(list) {
  const ids = list?.split(',') ?? rows.map((row) => row.id);
  const unknown = ids.filter((id) => rows.every((row) => row.id !== id));
  if (unknown.length > 0) throw new Error(`no such row: ${unknown.join(', ')}\n${usage}`);
  return rows.filter((row) => ids.includes(row.id));
}

function installRivals() {
  if (existsSync(join(folder, 'node_modules/@copilotkit/aimock'))) return;
  process.stderr.write('installing the rivals into .bench/node_modules\n');
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 2, 2] });
}

/**
 * Why an experiment cannot be run here, if it cannot.
 * @param {import('./experiments/experiment.js').Experiment} experiment
 * @param {import('./lab.js').Lab} lab
 */
async function obstacle({ command, memory, tools = [] }, lab) {
  if (memory && !measuresMemory) return 'GNU time is not installed';
  const paths = (process.env['PATH'] ?? '').split(':');
  const missing = tools.filter((tool) => !paths.some((path) => existsSync(join(path, tool))));
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  if (command === undefined) return undefined;
  const { stdout } = await lab.product(['--help']);
  return new RegExp(`^ +${command}\\b`, 'm').test(stdout) ? undefined : `the command \`${command}\` does not exist yet`;
}

/** @param {import('./rows.js').Row[]} chosen @param {import('./lab.js').Lab} lab */
async function measureRows(chosen, lab) {
  /** @type {Record<string, import('./experiments/experiment.js').Experiment>} */
  const possible = {};
  /** @type {Map<string, string>} */
  const skipped = new Map();
  for (const name of new Set(chosen.flatMap((row) => row.needs))) {
    const experiment = experiments[name];
    if (!experiment) throw new Error(`no experiment ${name}`);
    const why = await obstacle(experiment, lab);
    if (why === undefined) possible[name] = experiment;
    else skipped.set(name, why);
  }
  const rounds = flags.rounds === undefined ? undefined : Number(flags.rounds);
  /** @type {import('./measure.js').Medians} */
  const medians = {};
  await measure(possible, lab, {
    rounds,
    onTurn: tellProgress,
    onEnded(name, ofExperiment) {
      medians[name] = ofExperiment;
      // A row is told as soon as it is whole: a run that is ended before the table has not been for nothing.
      for (const row of chosen)
        if (row.needs.includes(name) && row.needs.every((need) => need in medians))
          process.stderr.write(describe(judge(row, medians, skipped)));
    },
  });
  return chosen.map((row) => judge(row, medians, skipped));
}

/** A line for every tenth of the way. @param {number} done @param {number} all */
function tellProgress(done, all) {
  const tenths = (/** @type {number} */ turns) => Math.floor((10 * turns) / all);
  if (done === 0 || tenths(done) > tenths(done - 1)) process.stderr.write(`measuring: ${10 * tenths(done)} %\n`);
}

/**
 * @param {import('./rows.js').Row} row
 * @param {import('./measure.js').Medians} medians
 * @param {Map<string, string>} skipped
 * @returns {import('./report.js').Outcome}
 */
function judge(row, medians, skipped) {
  const why = row.needs.map((name) => skipped.get(name)).find((reason) => reason !== undefined);
  if (why !== undefined) return { row, verdict: 'skipped', why };
  const figures = row.read(medians);
  return { row, figures, verdict: figures.value <= row.atMost(figures) ? 'hold' : 'short' };
}

/** @param {import('./lab.js').Lab} lab */
async function main(lab) {
  if (flags.profile !== undefined) {
    for (const row of chooseRows(flags.profile)) {
      const experiment = experiments[row.needs.at(-1) ?? ''];
      if (experiment) process.stdout.write(await profile(experiment, lab));
    }
    return;
  }
  const outcomes = await measureRows(chooseRows(flags.only), lab);
  process.stdout.write(flags.json ? json(outcomes) : table(outcomes));
  if (outcomes.some(({ verdict }) => verdict === 'short')) process.exitCode = 1;
}

/** Runs this bench by each version of Node, one after another. */
function onEach() {
  installRivals();
  for (const version of flags.node.split(',')) {
    const argv = [import.meta.filename, ...process.argv.slice(2), '--node', 'this'];
    const { status } = spawnSync(nodeOf(version), argv, { stdio: 'inherit' });
    if (status !== 0) process.exitCode = 1;
  }
}

async function here() {
  installRivals();
  const lab = await openLab(resolve(flags.bin));
  try {
    await main(lab);
  } finally {
    lab.close();
  }
}

if (flags.help) process.stdout.write(usage);
else if (flags.node === 'this') await here();
else onEach();
