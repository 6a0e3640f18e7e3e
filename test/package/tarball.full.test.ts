import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publint } from 'publint';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shellWord } from '../../src/library/shell-word.ts';
import { isFull } from '../helpers/full.ts';
import { topicTexts } from '../helpers/readme.ts';
import { installFromRegistry } from '../helpers/registry.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { startScriptedServer } from '../helpers/scripted-server.ts';
import { shell } from '../helpers/spawn.ts';
import { canaryKey, textReply } from '../helpers/with-server.ts';
import { type Installed, packAndInstall } from './installed.ts';

const root = join(import.meta.dirname, '../..');
const tsc = join(root, 'node_modules/typescript/bin/tsc');
let installed: Installed;

beforeAll(() => {
  installed = packAndInstall();
}, 300_000);
afterAll(() => installed.remove());

test('the tarball holds these files and no other', () => {
  const kinds = [...installed.files.keys()].map((path) =>
    path
      .replace(/^dist\/(cjs|esm)\/[\w-]+-[\w-]{8}\.js$/, 'dist/$1/*.js')
      .replace(/^dist\/man\/[\w-]+\.[17]$/, 'dist/man/*')
      .replace(/^src\/cli\/help\/topics\/[\w-]+\.md$/, 'src/cli/help/topics/*.md')
      .replace(/^src\/cli\/help\/topics\/recipes\/[\w-]+\.\w+$/, 'src/cli/help/topics/recipes/*'),
  );
  expect([...new Set(kinds)].toSorted()).toEqual([
    '.agents/skills/gateway-cli/SKILL.md',
    'LICENSE',
    'README.md',
    'bin/gateway-cli.js',
    'bin/package.json',
    'dist/THIRD-PARTY-LICENSES.txt',
    'dist/cjs/*.js',
    'dist/cjs/index.d.ts',
    'dist/cjs/index.js',
    'dist/cjs/main.js',
    'dist/cjs/package.json',
    'dist/cjs/schema-worker.js',
    'dist/cjs/testing.d.ts',
    'dist/cjs/testing.js',
    'dist/config.schema.json',
    'dist/esm/*.js',
    'dist/esm/index.d.ts',
    'dist/esm/index.js',
    'dist/esm/package.json',
    'dist/esm/testing.d.ts',
    'dist/esm/testing.js',
    'dist/job.schema.json',
    'dist/man/*',
    'dist/result.schema.json',
    'package.json',
    'src/cli/help/topics/*.md',
    'src/cli/help/topics/recipes/*',
  ]);
});

test('is at most 1.5 MB, and one package when it is installed', () => {
  expect(installed.packed).toBeLessThanOrEqual(1_500_000);
  const names = readdirSync(join(installed.cwd, 'node_modules')).filter((name) => !name.startsWith('.'));
  expect(names).toEqual(['gateway-cli']);
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>;
  expect(manifest['dependencies']).toBeUndefined();
});

test('npm installs it without a word of warning: it has no scripts', async () => {
  const manifest = readFileSync(join(installed.cwd, 'node_modules/gateway-cli/package.json'), 'utf8');
  expect(JSON.parse(manifest)).not.toMatchObject({ scripts: expect.anything() as object });
  const ways = ['--global --prefix g', ''].map(
    (flags) => `npm install --offline --no-audit --no-fund ${flags} "$TARBALL"`,
  );
  const env = { TARBALL: installed.tarball, npm_config_update_notifier: 'false' };
  const ran = await shell(`echo {} > package.json && ${ways.join(' && ')}`, { env });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
}, 60_000);

test('the ES modules of the package have types of ES modules, and its CommonJS build has types of CommonJS', () => {
  const text = `import { createClient } from 'gateway-cli';
    import { startGateway } from 'gateway-cli/testing';
    export const use = [createClient, startGateway];`;
  for (const name of ['uses.mts', 'uses.cts']) writeFileSync(join(installed.cwd, name), text);
  const flags = '--strict --noEmit --module node16 --target es2023 --lib es2023,dom --traceResolution';
  const argv = [tsc, ...flags.split(' '), 'uses.mts', 'uses.cts'];
  const said = execFileSync(process.execPath, argv, { cwd: installed.cwd, encoding: 'utf8' });
  const found = [...said.matchAll(/'(gateway-cli\S*)' was successfully resolved to '\S+\/gateway-cli\/(\S+)'/g)];
  expect(new Set(found.map(([, name, file]) => `${name} ${file}`))).toEqual(
    new Set([
      'gateway-cli dist/esm/index.d.ts',
      'gateway-cli dist/cjs/index.d.ts',
      'gateway-cli/testing dist/esm/testing.d.ts',
      'gateway-cli/testing dist/cjs/testing.d.ts',
    ]),
  );
}, 60_000);

test('publint finds nothing to say about the package', async () => {
  const bytes = readFileSync(installed.tarball);
  const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { messages } = await publint({ pack: { tarball }, strict: true });
  expect(messages).toEqual([]);
});

test.skipIf(!isFull)('the types fit what is loaded, in ES modules and in CommonJS', { timeout: 300_000 }, async () => {
  const cwd = scratchFolder();
  await installFromRegistry(cwd, '@arethetypeswrong/cli@0.18.5');
  // Node 10 and its way to look for types are long gone.
  const check = `node_modules/.bin/attw ${shellWord(installed.tarball)} --profile node16 --format ascii --no-emoji`;
  expect(await shell(check, { cwd })).toMatchObject({ code: 0 });
});

test('the tarball carries the licence of every package whose code is in it', () => {
  const text = readFileSync(join(installed.cwd, 'node_modules/gateway-cli/dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  const parts = text.split(`\n${'-'.repeat(80)}\n\n`).slice(1);
  const names = parts.map((part) => part.split(' ')[0]);
  expect(names).toEqual(
    expect.arrayContaining(['commander', 'undici', 'mime-db', 'ora', 'ajv', 'fast-png', 'jpeg-js']),
  );
  for (const part of parts) expect(part).toMatch(/permission|redistribution/i);
});

test('the package runs from the folder that it was installed in', async () => {
  const ran = await shell(
    'npx --no-install gateway-cli image gen --offline "a lighthouse" --size 512 && npx --no-install gateway-cli config path && npx --no-install gateway-cli --version',
    { cwd: installed.cwd, env: { GATEWAY_CONFIG: '/none.json', npm_config_update_notifier: 'false' } },
  );
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^image-1\.png\n\/none\.json\n\d/) as string });
});

test('the library opens by its names, and answers', async () => {
  const server = await startScriptedServer();
  server.always({ body: textReply('Hello') });
  const use = `const client = createClient({ baseUrl: process.env.URL, apiKey: process.env.KEY });
    const { text } = await client.generate({ model: 'm', prompt: 'hi' });
    console.log(text, ResponseError.prototype instanceof GatewayError, GatewayError.name);
    await client.close();`;
  const names = '{ createClient, GatewayError, ResponseError }';
  writeFileSync(join(installed.cwd, 'use.mjs'), `import ${names} from 'gateway-cli';\n${use}`);
  const ran = await shell('node use.mjs', { cwd: installed.cwd, env: { URL: server.url, KEY: canaryKey } });
  await server.close();
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello true GatewayError\n', stderr: '' });
});

test("the topic's library example runs under serve, as it says", async () => {
  const example = /```js\n([\s\S]+?)```/.exec(topicTexts.get('library') ?? '')?.[1] ?? '';
  writeFileSync(join(installed.cwd, 'example.mjs'), example);
  const ran = await shell('npx --no-install gateway-cli serve --quiet -- node example.mjs', { cwd: installed.cwd });
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^image\/png 1360 \d+\n.*offline/s) as string });
});

test('its types compile in a project without Node types, library checks on, and refuse what is wrong', () => {
  copyFileSync(join(root, 'test/types/library.ts'), join(installed.cwd, 'library.ts'));
  for (const module of ['nodenext', 'esnext']) {
    const resolution = module === 'esnext' ? 'bundler' : 'nodenext';
    const flags = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--target', 'es2023', '--lib', 'es2023,dom'];
    const argv = [...flags, '--module', module, '--moduleResolution', resolution, 'library.ts'];
    let said = '';
    try {
      execFileSync(process.execPath, [tsc, ...argv], { cwd: installed.cwd, encoding: 'utf8' });
    } catch (error) {
      said = (error as { stdout: string }).stdout;
    }
    expect(said).toBe('');
  }
}, 300_000);

test('its types refer to no package at all', () => {
  const types = [...installed.files.keys()].filter((path) => path.endsWith('.d.ts'));
  for (const path of types) {
    const text = readFileSync(join(installed.cwd, 'node_modules/gateway-cli', path), 'utf8');
    const named = [...text.matchAll(/(?:from |import\()['"]([^'"]+)['"]|<reference types="([^"]+)"/g)];
    expect(named.map(([, from, reference]) => from ?? reference).filter((name) => !name?.startsWith('.'))).toEqual([]);
    expect(text).not.toMatch(/\bNodeJS\.|\bBuffer\b/);
  }
});
