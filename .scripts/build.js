// Bundles src/ into dist/: one chunk a command, loaded when it is asked for, and the declarations of the library.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { toJsonSchema } from '@valibot/to-json-schema';
import { build } from 'rolldown';
import { licenceTexts } from './licences.js';
import { writeTypes } from './types.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;

// Where there is no config file, its checker is not loaded.
const checker =
  /[\\/](settings[\\/](definition|parse)\.ts|commands[\\/]config[\\/]keys\.ts|node_modules[\\/]valibot[\\/])/;
// A file runs all of its modules when it is loaded: what measures columns (string-width) takes 10 ms.
const columns = /[\\/]src[\\/]terminal[\\/](column-width|markdown|live-lines)\b/;
// Where there are no prices, decimal arithmetic is not loaded.
const cost = /[\\/](src[\\/]cost[\\/](cost|meter|budget|spending)\.ts|node_modules[\\/]big\.js[\\/])/;
const rare = /[\\/]src[\\/](commands|batch|chat|recordings|recovery)[\\/]/;
// Each file that is loaded costs a fifth of a millisecond: what several commands share becomes one file a group.
const groups = [
  {
    name: 'core',
    test: (id) => /[\\/]src[\\/]/.test(id) && ![rare, columns, cost, checker].some((other) => other.test(id)),
    minShareCount: 3,
    priority: 2,
  },
  { name: 'checker', test: checker, priority: 1 },
  { name: 'columns', test: columns, priority: 1 },
  { name: 'cost', test: cost, priority: 1 },
  { name: 'rare', test: rare, minShareCount: 3 },
];

const { output } = await build({
  cwd: root,
  input: {
    main: 'src/main.ts',
    index: 'src/index.ts',
    'thumbnail-worker': 'src/commands/batch/thumbnail-worker.ts',
  },
  platform: 'node',
  // No module of ours but the program does anything by being loaded.
  treeshake: { moduleSideEffects: (id) => !/[\\/]src[\\/](?!main\.ts|program\.ts|.*-worker\.ts)/.test(id) },
  output: {
    dir: dist,
    cleanDir: true,
    // Node starts a CommonJS program 4 ms sooner.
    format: 'cjs',
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: { groups },
    externalLiveBindings: false,
    minify: true,
    comments: false,
  },
});

writeFileSync(`${dist}/package.json`, '{"type":"commonjs"}\n');
writeFileSync(`${dist}/THIRD-PARTY-LICENSES.txt`, licenceTexts(output));
// What is made of the source: JSON Schemas, of what JSON Schema can express of the definitions, and man pages.
const maker = `${dist}/.maker`;
await build({
  cwd: root,
  input: ['src/settings/definition.ts', 'src/cli/output/result-definition.ts', 'src/man/pages.ts'],
  platform: 'node',
  external: (id, importer, isResolved) => importer !== undefined && !isResolved && !id.startsWith('.'),
  output: { dir: maker, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
});
const made = ['definition', 'result-definition', 'pages'].map((name) => import(pathToFileURL(`${maker}/${name}.mjs`)));
const { configDefinition, resultDefinition, manPages } = Object.assign({}, ...(await Promise.all(made)));
for (const [name, definition] of Object.entries({ config: configDefinition, result: resultDefinition })) {
  const schema = toJsonSchema(definition, { typeMode: 'output', ignoreActions: ['check', 'raw_check'] });
  writeFileSync(`${dist}/${name}.schema.json`, `${JSON.stringify(schema, null, 2)}\n`);
}
const pages = await manPages((topic) => readFileSync(`${root}src/help/${topic}.md`, 'utf8'));
mkdirSync(`${dist}/man`);
for (const [file, text] of pages) writeFileSync(`${dist}/man/${file}`, text);
rmSync(maker, { recursive: true });
// What `--help` and `--version` print without loading the program: its own words, by the way that loads it.
for (const [name, words] of [
  ['help.txt', ['help']],
  ['version.txt', ['--version', '--quiet']],
])
  writeFileSync(`${dist}/${name}`, execFileSync(process.execPath, [`${root}bin/gateway-cli.js`, ...words]));
writeTypes(root, `${dist}/types`);
