// Bundles src/ into dist/: one chunk a command, loaded when it is asked for, and the declarations of the library.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { toJsonSchema } from '@valibot/to-json-schema';
import { build } from 'rolldown';
import { licenceTexts } from './licences.js';
import { writeTypes } from './types.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;

// Where there is no config file, its checker is not loaded.
const checker =
  /[\\/](settings[\\/](definition|parse)\.ts|commands[\\/]config[\\/]keys\.ts|node_modules[\\/]valibot[\\/])/;
// Where there are no prices, decimal arithmetic is not loaded.
const cost = /[\\/](src[\\/]cost[\\/](cost|meter|budget|spending)\.ts|node_modules[\\/]big\.js[\\/])/;
// Each file that is loaded costs a fifth of a millisecond: what several commands share becomes one file a group.
const groups = [
  {
    name: 'core',
    test: (id) => /[\\/]src[\\/](?!commands[\\/])/.test(id) && !checker.test(id) && !cost.test(id),
    minShareCount: 3,
    priority: 2,
  },
  { name: 'checker', test: checker, priority: 1 },
  { name: 'cost', test: cost, priority: 1 },
  { name: 'commands', test: /[\\/]src[\\/]commands[\\/]/, minShareCount: 3 },
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
// The JSON Schema for editors, from the definition that checks config files; what it cannot express is left out.
const definition = await build({ cwd: root, input: 'src/settings/definition.ts', platform: 'node', write: false });
const { configDefinition } = await import(`data:text/javascript,${encodeURIComponent(definition.output[0].code)}`);
const jsonSchema = toJsonSchema(configDefinition, { typeMode: 'output', ignoreActions: ['check', 'raw_check'] });
writeFileSync(`${dist}/config.schema.json`, `${JSON.stringify(jsonSchema, null, 2)}\n`);
// What `--help` and `--version` print without loading the program: its own words, by the way that loads it.
for (const [name, words] of [
  ['help.txt', ['help']],
  ['version.txt', ['--version', '--quiet']],
])
  writeFileSync(`${dist}/${name}`, execFileSync(process.execPath, [`${root}bin/gateway-cli.js`, ...words]));
writeTypes(root, `${dist}/types`);
