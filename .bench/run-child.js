// Runs one program and measures it from outside.
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';

/** GNU time reads the peak from the kernel when the child ends and adds a millisecond: it does not disturb what it measures. */
const gnuTime = '/usr/bin/time';
/** GNU time tells processor time in steps of 10 ms, which is as much as a TAB costs; bash tells it in one of a millisecond. */
const bashTime = 'TIMEFORMAT="%3U %3S"; { time "$@" 2>&3; } 3>&2 2>>"$0"';

/** Whether peaks can be measured on this machine. */
export const measuresMemory = existsSync(gnuTime);

/**
 * @typedef {object} RunOptions
 * @property {NodeJS.ProcessEnv} env the whole environment of the child
 * @property {string} cwd
 * @property {string} [peakFile] where to let GNU time write; without it no memory is measured
 * @property {(chunk: Buffer) => void} [onChunk] sees what stands on stdout at the moment it comes
 *
 * @typedef {object} Run
 * @property {number} wallMs from spawning to the end of its output
 * @property {number} firstMs from spawning to the first byte on stdout
 * @property {number} peakMiB greatest resident memory of the program, or of the greatest one of a pipe
 * @property {number} cpuMs processor time, where memory is measured
 * @property {string} stdout
 */

/**
 * Throws where the program fails: a failure would look like a fast success.
 * @param {string[]} argv
 * @param {RunOptions} options
 * @returns {Promise<Run>}
 */
export async function runChild(argv, { env, cwd, peakFile, onChunk }) {
  const [command = '', ...args] =
    peakFile === undefined ? argv : ['bash', '-c', bashTime, peakFile, gnuTime, '-f', '%M', '-o', peakFile, ...argv];
  const pipe = openPipe(cwd);
  const start = performance.now();
  const child = spawn(command, args, { env, cwd, stdio: ['ignore', pipe.writeEnd, 'pipe'] });
  closeSync(pipe.writeEnd);
  let firstMs = Number.NaN;
  /** @type {Buffer[]} */
  const out = [];
  /** @type {Buffer[]} */
  const err = [];
  pipe.reader.on('data', (/** @type {Buffer} */ chunk) => {
    if (out.length === 0) firstMs = performance.now() - start;
    onChunk?.(chunk);
    out.push(chunk);
  });
  child.stderr?.on('data', (chunk) => err.push(chunk));
  const [code] = await Promise.all([
    new Promise((resolve, reject) => child.on('error', reject).on('close', resolve)),
    new Promise((resolve, reject) => pipe.reader.on('error', reject).on('end', () => resolve(undefined))),
  ]);
  const wallMs = performance.now() - start;
  if (code !== 0)
    throw new Error(`exit ${code} of ${argv.join(' ').slice(0, 300)}\n${Buffer.concat(err).toString().slice(0, 2000)}`);
  return {
    wallMs,
    firstMs,
    ...(peakFile === undefined ? { peakMiB: Number.NaN, cpuMs: Number.NaN } : readUsage(peakFile)),
    stdout: Buffer.concat(out).toString(),
  };
}

/** @param {string} file */
function readUsage(file) {
  const [peak = NaN, user = NaN, system = NaN] = readFileSync(file, 'utf8').trim().split(/\s/).slice(-3).map(Number);
  return { peakMiB: peak / 1024, cpuMs: (user + system) * 1000 };
}

/**
 * A pipe as a shell makes it. Node would give the child a pair of sockets.
 * @param {string} folder
 */
function openPipe(folder) {
  const path = join(folder, 'stdout');
  execFileSync('mkfifo', [path]);
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeEnd = openSync(path, constants.O_WRONLY);
  unlinkSync(path);
  return { reader: new Socket({ fd: readEnd, readable: true, writable: false }), writeEnd };
}
