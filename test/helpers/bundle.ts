import { build } from 'rolldown';

/** Makes one CommonJS program of a file of sources and all that it imports, for a process of its own. */
export async function bundleProgram(entry: string, file: string): Promise<void> {
  await build({
    input: entry,
    platform: 'node',
    logLevel: 'warn',
    output: { file, format: 'cjs', codeSplitting: false, externalLiveBindings: false, comments: false },
  });
}
