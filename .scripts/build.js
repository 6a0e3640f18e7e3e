// Bundles src/ into dist/: the program and the library as CommonJS, the library once more as ES modules, then what is made of them.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { toJsonSchema } from '@valibot/to-json-schema';
import { build } from 'rolldown';
import { esmExternalRequirePlugin } from 'rolldown/plugins';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { licenceTexts } from './licences.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;
rmSync(dist, { recursive: true, force: true });

// No module of ours does anything when it is read: an index that is asked for one name brings nothing else.
const shared = { cwd: root, platform: 'node', treeshake: { moduleSideEffects: (id) => !id.startsWith(`${root}src/`) } };
const written = { chunkFileNames: '[name]-[hash].js', minify: true, comments: false };

// Node starts a CommonJS program sooner.
const { output } = await build({
  ...shared,
  input: { main: 'src/main.ts', index: 'src/index.ts', testing: 'src/gateway/testing/index.ts' },
  output: { ...written, dir: `${dist}/cjs`, format: 'cjs' },
});
// The thread that checks schemas is one file: in a single executable it has no folder to load others from. The library loads more
// late, which this thread never does: it is left out.
const {
  output: [thread],
} = await build({
  ...shared,
  write: false,
  input: { 'schema-worker': 'src/cli/input/schema-worker.ts' },
  output: { ...written, dir: `${dist}/cjs`, format: 'cjs' },
});
writeFileSync(`${dist}/cjs/schema-worker.js`, thread.code);
writeFileSync(`${dist}/cjs/package.json`, '{"type":"commonjs"}\n');
writeFileSync(`${dist}/THIRD-PARTY-LICENSES.txt`, licenceTexts([...output, thread]));

// The library for programs that are bundled: what `require` loads would not start in them if they become ES modules.
await build({
  ...shared,
  input: { index: 'src/index.ts' },
  // undici asks for node:sqlite, which Node 20 does not have, and goes on without.
  plugins: [esmExternalRequirePlugin({ external: [/^(?:node:(?!sqlite)|path$)/] })],
  output: { ...written, dir: `${dist}/esm`, format: 'esm', polyfillRequire: false },
});
writeFileSync(`${dist}/esm/package.json`, '{"type":"module"}\n');
// Nobody bundles a gateway for tests: as a module it is the one that `require` loads.
writeFileSync(`${dist}/esm/testing.js`, "export { startGateway, useGateway } from '../cjs/testing.js';\n");

// The declarations of what users import. What is wrong in them is for `npm run types` to say.
// TypeScript 7 writes one for each module, and rollup joins them.
const declared = `${dist}/.declared`;
const tsc = [`${root}node_modules/native-typescript/bin/tsc`, '-p', root, '--noEmit', 'false', '--noCheck'];
const flags = [
  '--declaration',
  '--emitDeclarationOnly',
  '--stripInternal',
  '--rootDir',
  `${root}src`,
  '--outDir',
  declared,
];
execFileSync(process.execPath, [...tsc, ...flags], { stdio: 'inherit' });
const declarations = await rollup({
  input: { index: `${declared}/index.d.ts`, testing: `${declared}/gateway/testing/index.d.ts` },
  external: /^node:/,
  plugins: [dts({ tsconfig: `${root}tsconfig.json` })],
});
await declarations.write({ dir: `${dist}/cjs`, entryFileNames: '[name].d.ts', chunkFileNames: 'shared.d.ts' });
rmSync(declared, { recursive: true });
// An ES module has types of its own.
for (const name of ['index', 'testing'])
  writeFileSync(`${dist}/esm/${name}.d.ts`, `export * from '../cjs/${name}.js';\n`);

// What the source says of itself: JSON Schemas, of what JSON Schema can express of the definitions, and the man page.
const made = `${dist}/.made`;
await build({
  ...shared,
  input: {
    config: 'src/cli/settings/definition.ts',
    result: 'src/cli/output/result-definition.ts',
    job: 'src/cli/commands/batch/jobs/job-schema.ts',
    man: 'src/cli/man/page.ts',
  },
  output: { dir: made, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
});
const load = (name) => import(`../dist/.made/${name}.mjs`);
const toSchema = (definition) =>
  toJsonSchema(definition, { typeMode: 'output', ignoreActions: ['check', 'raw_check'] });
const schemas = {
  config: toSchema((await load('config')).configDefinition),
  result: toSchema((await load('result')).resultDefinition),
  job: (await load('job')).makeJobSchema(),
};
for (const [name, schema] of Object.entries(schemas))
  writeFileSync(`${dist}/${name}.schema.json`, `${JSON.stringify(schema)}\n`);
mkdirSync(`${dist}/man`);
writeFileSync(`${dist}/man/gateway-cli.1`, await (await load('man')).manPage());
rmSync(made, { recursive: true });
