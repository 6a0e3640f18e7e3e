import { join } from 'node:path';
import { build } from 'esbuild';
import { scratchFolder } from './scratch.ts';

const root = join(import.meta.dirname, '../..');

/** Bundles a module of this repository, so that a process of its own can load it; resolves with the file. */
export async function bundle(entry: string): Promise<string> {
  const outfile = join(scratchFolder(), 'bundle.mjs');
  // CommonJS packages inside the bundle ask for Node's own modules by require.
  const banner =
    "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";
  await build({
    entryPoints: [join(root, entry)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: { js: banner },
    logLevel: 'error',
  });
  return outfile;
}
