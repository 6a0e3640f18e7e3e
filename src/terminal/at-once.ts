import { readFileSync, writeSync } from 'node:fs';

const [help, version] = ['help.txt', 'version.txt'];
const files: Readonly<Record<string, string>> = {
  '': help,
  '-h': help,
  '--help': help,
  '-V': version,
  '--version': version,
};

/**
 * Prints what never changes, laid beside the bundle by the build, and says whether it did: Node's own start is then all that
 * it costs. Where a file is missing or stdout does not take it, the program does what is right there.
 */
export function answerAtOnce(argv: readonly string[]): boolean {
  const name = files[argv[0] ?? ''];
  if (name === undefined || argv.length > 1 || argv[0] === '') return false;
  try {
    const text = readFileSync(`${__dirname}/${name}`);
    for (let done = 0; done < text.length;) done += writeSync(1, text, done);
    return true;
  } catch {
    return false;
  }
}
