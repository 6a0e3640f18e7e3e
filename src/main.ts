import { fstatSync, readFileSync, statSync, writeSync } from 'node:fs';

const [help, version] = ['help.txt', 'version.txt'];
const files: Readonly<Record<string, string>> = {
  '': help,
  '-h': help,
  '--help': help,
  '-V': version,
  '--version': version,
};

/**
 * Prints the help or the version that the build wrote beside the bundle, and says whether it did: Node's own start is then
 * all that it costs. Where a file is missing, stdout does not take it, or a terminal has a width of its own, the program
 * does what is right there.
 */
function printPrebuilt(argv: readonly string[]): boolean {
  const name = files[argv[0] ?? ''];
  if (name === undefined || argv.length > 1 || argv[0] === '') return false;
  try {
    if (name === help && mayBeTerminal()) return false;
    const text = readFileSync(`${__dirname}/${name}`);
    for (let done = 0; done < text.length;) done += writeSync(1, text, done);
    return true;
  } catch {
    return false;
  }
}

function mayBeTerminal(): boolean {
  const stats = fstatSync(1);
  return stats.isCharacterDevice() && stats.rdev !== statSync('/dev/null').rdev;
}

if (!printPrebuilt(process.argv.slice(2))) void import('./program.ts');
