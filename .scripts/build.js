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

// A file runs all of its modules when it is loaded: these wait for a config file, for columns to measure (10 ms of
// string-width) and for prices.
const late = {
  checker: /[\\/](settings[\\/](definition|parse)\.ts|commands[\\/]config[\\/]keys\.ts|node_modules[\\/]valibot[\\/])/,
  columns: /[\\/]src[\\/]terminal[\\/](column-width|markdown|live-lines)\b/,
  cost: /[\\/](src[\\/]cost[\\/](cost|meter|budget|spending)\.ts|node_modules[\\/]big\.js[\\/])/,
};
const rare = /[\\/]src[\\/](commands|batch|chat|recordings|recovery)[\\/]/;
const isCore = (id) => /[\\/]src[\\/]/.test(id) && ![rare, ...Object.values(late)].some((other) => other.test(id));
// Each file that is loaded costs a fifth of a millisecond: what several commands share becomes one file a group.
const groups = [
  { name: 'core', test: isCore, minShareCount: 3, priority: 2 },
  ...Object.entries(late).map(([name, test]) => ({ name, test, priority: 1 })),
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
const ask = (...words) => execFileSync(process.execPath, [`${root}bin/gateway-cli.js`, ...words]);
writeFileSync(`${dist}/help.txt`, ask('help'));
writeFileSync(`${dist}/version.txt`, ask('--version', '--quiet'));
writeTypes(root, `${dist}/types`);
