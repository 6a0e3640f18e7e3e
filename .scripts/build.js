// Bundles src/ into dist/: one chunk a command, loaded when it is asked for, and the declarations of the library.
import { execFileSync } from 'node:child_process';
import { builtinModules } from 'node:module';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { toJsonSchema } from '@valibot/to-json-schema';
import { build } from 'rolldown';
import { parseAst } from 'rolldown/parseAst';
import { esmExternalRequirePlugin } from 'rolldown/plugins';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { licenceTexts } from './licences.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;

const own = (paths) => new RegExp(`[\\\\/]src[\\\\/](?:${paths.replaceAll('/', '[\\\\/]')})\\.ts$`);
// Each file costs 0.2 ms and runs whole: what several share is one file a group, with what it imports. Some wait for a config
// file, or for columns to measure (10 ms of string-width). The first group that fits takes a module, however it is imported.
const groups = [
  {
    name: 'client',
    test: own(
      'client/(?:client|read-reply)|formats/(?:(?:content/)?format|sources|search-tool|told-cost)|vendors/search|images/aspect|files/(?:file-reason|open-once)|shell-word|advice',
    ),
  },
  { name: 'library', test: own('client/.*') },
  { name: 'text', test: own('cli/(?:shipped|run(?:/costs|/send-all)?)|commands/text/text') },
  { name: 'transport', test: own('transport/connection') },
  { name: 'checker', test: own('settings/parse|commands/config/keys') },
  { name: 'columns', test: own('terminal/(?:break-lines|markdown|live-markdown|live-text|frame|wrap|table-columns)') },
  { name: 'images', test: own('cli/output/save-images') },
  { name: 'media', test: own('images/(?:svg|wav)') },
  // Else the bitmaps of previews would be in the gateway's file, and each command would load all of that.
  { name: 'preview', test: own('(?:cli/output|images)/preview|images/pixels/bitmap') },
  { name: 'gateway', test: own('gateway/.*') },
  { name: 'shared', test: own('(?!commands|batch|chat|recordings|recovery).*'), minShareCount: 3 },
  { name: 'chat', test: own('commands/chat/chat') },
  { name: 'late', test: own('(?:cli/(?!output/code|help/packed)|transport/).*') },
  { name: 'rare', test: own('.*'), minShareCount: 3 },
];

// We speak HTTP/1.1: without undici's client of HTTP/2, and Node's, each program starts 5 ms sooner on Node 20. No body of ours is a
// form of the web. undici has its parser twice: if the one for SIMD cannot be loaded, it takes the one that every machine runs. SIMD only
// reads heads faster, by microseconds.
const unused = { 'dispatcher/client-h2': 'HTTP/2', 'web/fetch/body': 'a form', 'llhttp/llhttp_simd-wasm': 'SIMD' };
const withoutUnused = {
  name: 'without-unused',
  load(id) {
    const [, path = ''] = /[\\/]undici[\\/]lib[\\/](.+)\.js$/.exec(id) ?? [];
    const what = unused[path.replaceAll('\\', '/')];
    return what && `module.exports = () => { throw new Error('${what} is not used'); };`;
  },
};

// commander loads what starts programs, for commands that are files of their own: we have none, and each start would wait a millisecond.
const withoutSubprograms = {
  name: 'without-subprograms',
  resolveId: (id, importer) =>
    id === 'node:child_process' && /[\\/]commander[\\/]/.test(importer ?? '') ? '\0no-subprograms' : undefined,
  load: (id) => (id === '\0no-subprograms' ? 'module.exports = {};' : undefined),
};

// The SDK of MCP loads ajv to check what users type into forms of a client, which our server never asks for.
const withoutFormChecks = {
  name: 'without-form-checks',
  resolveId: (id, importer) =>
    /^ajv(?:-formats)?$/.test(id) && /[\\/]@modelcontextprotocol[\\/]/.test(importer ?? '') ? '\0no-ajv' : undefined,
  load: (id) => (id === '\0no-ajv' ? 'export default function () {}' : undefined),
};

// Of 90 spinners, ora shows ours and the one of terminals without Unicode.
const withTwoSpinners = {
  name: 'with-two-spinners',
  load(id) {
    if (!/[\\/]cli-spinners[\\/]spinners\.json$/.test(id)) return undefined;
    const { dots, line } = JSON.parse(readFileSync(id, 'utf8'));
    return JSON.stringify({ dots, line });
  },
};

// Of the registered types, mime-types looks only at those that have an extension.
const withExtensions = withTypes(({ source, extensions }) => ({ source, extensions }));
// The library asks for the extension of a type alone.
const withFirstExtensions = withTypes(({ extensions: [first] }) => ({ extensions: [first] }));

function withTypes(shorten) {
  return {
    name: 'with-types',
    load(id) {
      if (!/[\\/]mime-db[\\/]db\.json$/.test(id)) return undefined;
      const types = Object.entries(JSON.parse(readFileSync(id, 'utf8'))).filter(([, type]) => type.extensions);
      return JSON.stringify(Object.fromEntries(types.map(([name, type]) => [name, shorten(type)])));
    },
  };
}

// V8 of Node 20 gives each object of `{ ...a, b, c }` a hidden class of its own: 5 µs and 1.6 kB where others take a tenth, some
// sixty times a job of a batch. With a spread of nothing before it, which means the same, ours take the way of `{ b, c, ...a }`.
const withSharedClasses = {
  name: 'with-shared-classes',
  transform(code, id) {
    // Most files have none: they are not parsed.
    if (!own('.*').test(id) || id.includes('node_modules') || !/\{\s*\.\.\./.test(code)) return undefined;
    const places = listLeadingSpreads(parseAst(code, { lang: 'ts' }));
    const starts = [0, ...places.toSorted((a, b) => a - b)];
    return starts.map((start, at) => code.slice(start, starts[at + 1])).join(unknownNothing);
  },
  // The minifier would leave out a spread that it knows to be of nothing.
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle)) chunk.code = chunk.code?.replaceAll(unknownNothing, '...null,');
  },
};

const unknownNothing = '...globalThis.nothing,';

/** Where objects begin with a spread that is not all of them. */
function listLeadingSpreads(node) {
  if (typeof node !== 'object' || node === null) return [];
  const below = Object.values(node).flatMap(listLeadingSpreads);
  const [first, ...others] = node.type === 'ObjectExpression' ? node.properties : [];
  return first?.type === 'SpreadElement' && others.length > 0 ? [...below, first.start] : below;
}

// Rolldown exports to other files by getters, which are called at each use: a request to the gateway called 57 of them. Values do,
// for no export is assigned again, of ours by a rule of the linter.
const withPlainExports = {
  name: 'with-plain-exports',
  renderChunk: (code) =>
    code.replaceAll(
      /Object\.defineProperty\(exports, (".+"), \{\s+enumerable: true,\s+get: function \(\) \{\s+return (.+);\s+\}\s+\}\)/g,
      'exports[$1] = $2',
    ),
};

const { output } = await build({
  cwd: root,
  input: {
    main: 'src/main.ts',
    index: 'src/index.ts',
    testing: 'src/testing/index.ts',
  },
  platform: 'node',
  plugins: [
    withoutUnused,
    withoutSubprograms,
    withoutFormChecks,
    withTwoSpinners,
    withExtensions,
    withSharedClasses,
    withPlainExports,
  ],
  checks: { ineffectiveDynamicImport: false },
  // No module of ours but the program does anything by being loaded, and none of zod, which comes with every language.
  treeshake: {
    moduleSideEffects: (id) => !/[\\/]src[\\/](?!main\.ts)|[\\/]node_modules[\\/]zod[\\/]/.test(id),
  },
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
// The thread that checks schemas is a bundle of its own: what it shared with the program would make each command load ajv.
const { output: worker } = await build({
  cwd: root,
  input: 'src/cli/input/schema-worker.ts',
  platform: 'node',
  output: { file: `${dist}/schema-worker.js`, format: 'cjs', minify: true, comments: false },
});
// So is what answers without the program: help in a pipe, and a TAB.
await build({
  cwd: root,
  input: 'src/quick.ts',
  platform: 'node',
  treeshake: { moduleSideEffects: false },
  output: { file: `${dist}/quick.js`, format: 'cjs', minify: true, comments: false },
});
// Others, such as node:sqlite, are asked for by parts of packages that never run here.
const onEveryNode = builtinModules.filter((name) => !name.startsWith('node:'));
// The library once more for programs that are bundled to ES modules: what `require` loads would not start in them.
await build({
  cwd: root,
  input: { index: 'src/index.ts' },
  platform: 'node',
  checks: { ineffectiveDynamicImport: false },
  treeshake: { moduleSideEffects: (id) => !/[\\/]src[\\/]/.test(id) },
  // As imports: `require` of Node's modules would need `import.meta`, which a bundle to CommonJS does not have.
  plugins: [
    withoutUnused,
    withFirstExtensions,
    esmExternalRequirePlugin({ external: onEveryNode.flatMap((name) => [name, `node:${name}`]) }),
  ],
  output: {
    dir: `${dist}/esm`,
    chunkFileNames: 'chunks/[name]-[hash].js',
    // All of ours is one file but what a program may not need: the connection, and the formats.
    codeSplitting: {
      groups: [{ name: 'library', test: own(String.raw`(?!transport/connection|formats/\w+/|client/model-choice).*`) }],
    },
    polyfillRequire: false,
    minify: true,
    comments: false,
  },
});
writeFileSync(`${dist}/esm/package.json`, '{"type":"module"}\n');
// Nobody bundles a gateway for tests: as a module it is the one that `require` loads.
writeFileSync(`${dist}/esm/testing.js`, "export { startGateway, useGateway } from '../testing.js';\n");
// An ES module has types of its own: those beside `dist/index.js` are CommonJS's.
writeFileSync(`${dist}/esm/index.d.ts`, "export * from '../types/index.js';\n");
writeFileSync(`${dist}/esm/testing.d.ts`, "export * from '../types/testing/index.js';\n");
writeFileSync(`${dist}/THIRD-PARTY-LICENSES.txt`, licenceTexts([...output, ...worker]));
// What is made of the source: JSON Schemas, of what JSON Schema can express of the definitions, and the man page.
const maker = `${dist}/.maker`;
await build({
  cwd: root,
  input: [
    'src/settings/definition.ts',
    'src/cli/output/result-definition.ts',
    'src/commands/batch/jobs/job-schema.ts',
    'src/man/page.ts',
    'src/cli/help/packed.ts',
  ],
  platform: 'node',
  external: (id, importer, isResolved) => importer !== undefined && !isResolved && !id.startsWith('.'),
  output: { dir: maker, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
});
const makers = ['definition', 'result-definition', 'job-schema', 'page', 'packed'];
const made = makers.map((name) => import(pathToFileURL(`${maker}/${name}.mjs`)));
const { configDefinition, resultDefinition, makeJobSchema, manPage, describeProgram, packFacts } = Object.assign(
  {},
  ...(await Promise.all(made)),
);
for (const [name, definition] of Object.entries({ config: configDefinition, result: resultDefinition })) {
  const schema = toJsonSchema(definition, { typeMode: 'output', ignoreActions: ['check', 'raw_check'] });
  writeFileSync(`${dist}/${name}.schema.json`, `${JSON.stringify(schema)}\n`);
}
writeFileSync(`${dist}/job.schema.json`, `${JSON.stringify(makeJobSchema())}\n`);
mkdirSync(`${dist}/man`);
writeFileSync(`${dist}/man/gateway-cli.1`, await manPage());
writeFileSync(`${dist}/commands.json`, packFacts(await describeProgram()));
rmSync(maker, { recursive: true });
// What `--help` and `--version` print without any module: what the program prints.
const ask = (...words) => execFileSync(process.execPath, [`${root}bin/gateway-cli.js`, ...words]);
writeFileSync(`${dist}/help.txt`, ask('help'));
writeFileSync(`${dist}/version.txt`, ask('--version', '--quiet'));
// The declarations of what users import, and of what these refer to. What is wrong in them is for `npm run types` to say.
// TypeScript 7 writes one for each module, in a tenth of the time that 5.9 would take.
const declared = `${dist}/.declared`;
const compilerOptions = {
  noEmit: false,
  declaration: true,
  emitDeclarationOnly: true,
  noCheck: true,
  stripInternal: true,
};
mkdirSync(declared);
const project = {
  extends: '../../tsconfig.json',
  compilerOptions: { ...compilerOptions, rootDir: '../../src', outDir: '.' },
  include: [],
  files: ['../../src/index.ts', '../../src/testing/index.ts'],
};
writeFileSync(`${declared}/tsconfig.json`, JSON.stringify(project));
execFileSync(process.execPath, [`${root}node_modules/native-typescript/bin/tsc`, '-p', declared], { stdio: 'inherit' });
const declarations = await rollup({
  input: { index: `${declared}/index.d.ts`, 'testing/index': `${declared}/testing/index.d.ts` },
  external: /^node:/,
  plugins: [dts({ tsconfig: `${root}tsconfig.json` })],
});
await declarations.write({ dir: `${dist}/types`, entryFileNames: '[name].d.ts', chunkFileNames: 'shared.d.ts' });
rmSync(declared, { recursive: true });
