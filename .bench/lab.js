// Everything a measurement needs: the server, a clean environment, folders that vanish.
import { fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mebibyte, noisePng } from './server/bodies.js';
import { runChild } from './run-child.js';

const here = import.meta.dirname;

/**
 * @typedef {object} RunExtras
 * @property {boolean} [memory] measure the peak, too
 * @property {(chunk: Buffer) => void} [onChunk]
 * @property {string} [scene] what the server shall send
 * @property {NodeJS.ProcessEnv} [variables] more of them
 *
 * @typedef {object} Lab
 * @property {string} bin the product's program
 * @property {(scene: string) => string} url
 * @property {() => string} folder a new folder of this lab
 * @property {(folder: string) => void} drop removes it
 * @property {() => string} bigPicture path of a 64 MiB picture, which is in memory now
 * @property {string[]} nodeFlags for the product's Node only: profiles
 * @property {(args: string[], extras?: RunExtras) => Promise<import('./run-child.js').Run>} product
 * @property {(script: string, args: string[], extras?: RunExtras) => Promise<import('./run-child.js').Run>} script a file of this folder
 * @property {(argv: string[], extras?: RunExtras) => Promise<import('./run-child.js').Run>} run
 * @property {() => void} close
 */

/**
 * @param {string} bin
 * @returns {Promise<Lab>}
 */
export async function openLab(bin) {
  const root = mkdtempSync(join(tmpdir(), 'gateway-cli-bench-'));
  const home = join(root, 'home');
  mkdirSync(home);
  const server = fork(join(here, 'server/server.js'), { env: cleanEnvironment(home) });
  const port = await new Promise((resolve, reject) => {
    server.once('message', resolve).once('exit', () => reject(new Error('the bench server did not start')));
  });
  let folders = 0;
  /** @type {string | undefined} */
  let picture;
  const url = (/** @type {string} */ scene) => `http://127.0.0.1:${port}/${scene}`;

  /** @type {Lab['run']} */
  function run(argv, { memory = false, onChunk, scene = 'small', variables } = {}) {
    const urls = { ...productEnvironment(url(scene)), BENCH_URL: url(scene) };
    const env = { ...cleanEnvironment(home), ...urls, ...variables };
    return runChild(argv, {
      env,
      cwd: root,
      ...(memory && { peakFile: join(root, 'peak') }),
      ...(onChunk && { onChunk }),
    });
  }

  /** @type {Lab} */
  const lab = {
    bin,
    url,
    run,
    nodeFlags: [],
    product: (args, extras) => run([process.execPath, ...lab.nodeFlags, bin, ...args], extras),
    script: (script, args, extras) => run([process.execPath, join(here, script), ...args], extras),
    folder: () => {
      const path = join(root, `folder-${++folders}`);
      mkdirSync(path);
      return path;
    },
    drop: (folder) => rmSync(folder, { recursive: true, force: true }),
    bigPicture: () => {
      if (picture === undefined) {
        picture = join(root, 'big.png');
        writeFileSync(picture, noisePng(64 * mebibyte));
      }
      // Some machines take the memory of a file that nobody read for half a minute: the first reader would wait for the disk.
      readFileSync(picture);
      return picture;
    },
    close: () => {
      server.disconnect();
      rmSync(root, { recursive: true, force: true });
    },
  };
  return lab;
}

/**
 * Nothing of the caller's environment but where programs and temporary files are: NODE_EXTRA_CA_CERTS alone costs every Node
 * process 31 ms.
 * @param {string} home
 * @returns {NodeJS.ProcessEnv}
 */
function cleanEnvironment(home) {
  return { PATH: process.env['PATH'], TMPDIR: tmpdir(), HOME: home, LANG: 'C.UTF-8' };
}

/** @param {string} url */
function productEnvironment(url) {
  return {
    GATEWAY_BASE_URL: url,
    GATEWAY_API_KEY: 'bench-key',
    GATEWAY_MODEL: 'bench-model',
    GATEWAY_IMAGE_MODEL: 'bench-model',
  };
}
