// Bundles src/ into dist/: one chunk a command, loaded when it is asked for, and the types of the library door.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { toCommonJs } from './commonjs.js';
import { doorModule } from './door.js';
import { leanAjv } from './lean-ajv.js';
import { leanData } from './lean-data.js';
import { leanUndici, parsers } from './lean-undici.js';
import { licenceTexts } from './licences.js';
import { mergeChunks } from './merge.js';
import { emitTypes } from './types.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const path = (name) => `${root}/${name}`;
const require = createRequire(import.meta.url);

const { outputFiles, metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts', 'src/index.ts'],
  outdir: 'dist',
  write: false,
  metafile: true,
  bundle: true,
  // Names and lines stay until the last step: it looks for those of esbuild's helpers.
  minifySyntax: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  legalComments: 'none',
  chunkNames: 'chunks/[name]-[hash]',
  plugins: [leanAjv, leanData, leanUndici],
  logLevel: 'warning',
});

const programs = await Promise.all(
  (await mergeChunks(outputFiles)).map(async ({ path, text }) => ({ path, text: await toCommonJs(text) })),
);

rmSync(path('dist'), { recursive: true, force: true });
for (const program of programs) {
  mkdirSync(dirname(program.path), { recursive: true });
  writeFileSync(program.path, program.text);
}
writeFileSync(path('dist/package.json'), '{"type":"commonjs"}\n');
writeFileSync(path('dist/index.mjs'), doorModule(metafile.outputs['dist/index.js'].exports));
for (const [name, module] of Object.entries(parsers)) writeFileSync(path(`dist/chunks/${name}`), require(module));
cpSync(path('src/settings/config.schema.json'), path('dist/config.schema.json'));
writeFileSync(path('dist/THIRD-PARTY-LICENSES.txt'), licenceTexts(metafile, root));
// What `--help` and `--version` print without loading the program: its own words, by the way that loads it.
for (const [name, words] of [
  ['help.txt', ['help']],
  ['version.txt', ['--version', '--quiet']],
])
  writeFileSync(path(`dist/${name}`), execFileSync(process.execPath, [path('bin/gateway-cli.js'), ...words]));
emitTypes(root, path('dist/types'));
writeFileSync(path('dist/types/package.json'), '{"type":"module"}\n');
