#!/usr/bin/env node
const { existsSync, fstatSync, readFileSync, statSync, writeSync } = require('node:fs');
const { enableCompileCache } = require('node:module');

const dist = `${__dirname}/../dist`;
const [help, version] = ['help.txt', 'version.txt'];
const prebuilt = new Map([
  [undefined, help],
  ['-h', help],
  ['--help', help],
  ['-V', version],
  ['--version', version],
]);

/**
 * Prints what the program would print where that can be told without loading it, and says whether it did: a file of the build for
 * `--help` and `--version`, help in a pipe, and what can be typed at a TAB. Where a file is missing, stdout does not take the text, or
 * a terminal has a width of its own, the program does what is right there.
 */
function printQuickly(argv) {
  try {
    const text = readAnswer(argv);
    if (text === undefined) return false;
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length;) done += writeSome(bytes, done);
    return true;
  } catch {
    return false;
  }
}

function readAnswer(argv) {
  const [word] = argv;
  const name = argv.length < 2 ? prebuilt.get(word) : undefined;
  if (name === version) return readFileSync(`${dist}/${name}`);
  if (word === '__complete') return answerQuickly(argv);
  if (name === undefined && word !== 'help' && !/^(?:-h|--help)$/.test(argv.at(-1) ?? '')) return undefined;
  const { FORCE_COLOR, CLICOLOR_FORCE } = process.env;
  if (FORCE_COLOR || CLICOLOR_FORCE || mayBeTerminal()) return undefined;
  return name === undefined ? answerQuickly(argv) : readFileSync(`${dist}/${name}`);
}

function answerQuickly(argv) {
  return require(`${dist}/quick.js`).answerQuickly(argv, (path) => readFileSync(`${dist}/../${path}`, 'utf8'));
}

/** A pipe that does not block can be full: the rest waits for its reader. */
function writeSome(bytes, from) {
  try {
    return writeSync(1, bytes, from);
  } catch (error) {
    if (error.code !== 'EAGAIN') throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    return 0;
  }
}

function mayBeTerminal() {
  const stats = fstatSync(1);
  return stats.isCharacterDevice() && stats.rdev !== statSync('/dev/null').rdev;
}

function loadProgram() {
  // Node 22.1 and later keep compiled code between runs; NODE_DISABLE_COMPILE_CACHE=1 turns it off.
  enableCompileCache?.();
  if (existsSync(`${dist}/main.js`)) return require(`${dist}/main.js`);
  process.stderr.write('gateway-cli: internal: dist/ is missing; type: npm run build\n');
  process.exitCode = 1;
}

if (!printQuickly(process.argv.slice(2))) loadProgram();
