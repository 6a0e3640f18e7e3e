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
 * Prints the help or the version that the build wrote, and says whether it did: Node's own start is then all that it costs.
 * Where a file is missing, stdout does not take it, or a terminal has a width of its own, the program does what is right there.
 */
function printPrebuilt([word, ...rest]) {
  const name = prebuilt.get(word);
  if (name === undefined || rest.length > 0) return false;
  try {
    if (name === help && mayBeTerminal()) return false;
    const text = readFileSync(`${dist}/${name}`);
    for (let done = 0; done < text.length;) done += writeSync(1, text, done);
    return true;
  } catch {
    return false;
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

if (!printPrebuilt(process.argv.slice(2))) loadProgram();
