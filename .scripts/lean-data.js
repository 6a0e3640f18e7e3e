// The tables that two packages bring along, reduced to the rows that are used: 180 kB of the bundle otherwise.
import { readFile } from 'node:fs/promises';

/** Makers' own types that somebody may attach; the other six hundred are of programs that no model knows. */
const known =
  /^application\/vnd\.(openxmlformats|oasis|ms-|apple|google|adobe|android|rar|sqlite|visio|tcpdump|mozilla)/;

/** mime-types looks up extensions only: types without one, and what it says beside, are left out. */
function extensionsOnly(types) {
  const kept = Object.entries(types).filter(
    ([type, { extensions }]) => extensions !== undefined && (!type.startsWith('application/vnd.') || known.test(type)),
  );
  return Object.fromEntries(kept.map(([type, { source, extensions }]) => [type, { source, extensions }]));
}

/** ora's own two: for terminals with and without Unicode. */
function oraSpinners({ dots, line }) {
  if (!dots || !line) throw new Error('cli-spinners no longer holds dots and line');
  return { dots, line };
}

/** An esbuild plugin. */
export const leanData = {
  name: 'lean-data',
  setup(build) {
    const reduce = (filter, change) =>
      build.onLoad({ filter }, async ({ path }) => ({
        contents: JSON.stringify(change(JSON.parse(await readFile(path, 'utf8')))),
        loader: 'json',
      }));
    reduce(/[\\/]mime-db[\\/]db\.json$/, extensionsOnly);
    reduce(/[\\/]cli-spinners[\\/]spinners\.json$/, oraSpinners);
  },
};
