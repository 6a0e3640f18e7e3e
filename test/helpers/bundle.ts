import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'rolldown';

const root = join(import.meta.dirname, '../..');
const bundles = new Map<string, Promise<string>>();

/** Bundles a module of this repository as CommonJS, so that a process of its own can load it: once for all files that ask for it. */
export function bundle(entry: string): Promise<string> {
  const known = bundles.get(entry) ?? makeBundle(entry);
  bundles.set(entry, known);
  return known;
}

async function makeBundle(entry: string): Promise<string> {
  // It stays when a test file is over, unlike scratch folders: until all of them are.
  const dir = mkdtempSync(join(tmpdir(), 'bundle-'));
  await build({
    input: join(root, entry),
    platform: 'node',
    // A door that is asked for one name brings nothing else.
    treeshake: { moduleSideEffects: (id) => !id.startsWith(join(root, 'src/')) },
    logLevel: 'warn',
    checks: { ineffectiveDynamicImport: false },
    // In several files: the process loads what it comes to, as the built program does.
    output: {
      dir,
      entryFileNames: 'bundle.cjs',
      chunkFileNames: '[name]-[hash].cjs',
      format: 'cjs',
      externalLiveBindings: false,
      comments: false,
    },
  });
  return join(dir, 'bundle.cjs');
}
