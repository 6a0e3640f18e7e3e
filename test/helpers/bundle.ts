import { join } from 'node:path';
import { build } from 'rolldown';
import { scratchFolder } from './scratch.ts';

const root = join(import.meta.dirname, '../..');

/** Bundles a module of this repository as CommonJS, so that a process of its own can load it; resolves with the file in `folder`. */
export async function bundle(entry: string, folder = scratchFolder()): Promise<string> {
  const file = join(folder, 'bundle.cjs');
  await build({
    input: join(root, entry),
    platform: 'node',
    logLevel: 'warn',
    output: { file, format: 'cjs', codeSplitting: false, externalLiveBindings: false, comments: false },
  });
  return file;
}
