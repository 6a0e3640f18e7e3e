import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { serve } from '../faults/program.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { shell } from '../helpers/spawn.ts';
import { textReply } from '../helpers/with-server.ts';

const use = (load: string): string => `${load}
  const client = createClient({ baseUrl: process.env.URL });
  client.generate({ model: 'm', prompt: 'x' }).then(({ text }) => console.log(text)).finally(() => client.close());`;
const imported = use("import { createClient } from 'gateway-cli';");

/** A folder in which the package is installed. */
function place(): string {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'node_modules'));
  symlinkSync(join(import.meta.dirname, '../..'), join(cwd, 'node_modules/gateway-cli'));
  return cwd;
}

async function run(file: string, cwd: string): Promise<object> {
  const server = await serve();
  server.reply({ body: textReply('hello') });
  return shell(`${process.execPath} ${file}`, { cwd, env: { URL: server.url } });
}

test.for([
  ['import', 'a.mjs', imported],
  ['require', 'a.cjs', use("const { createClient } = require('gateway-cli');")],
] as const)('the library works by %s', async ([, name, text]) => {
  const cwd = place();
  writeFileSync(join(cwd, name), text);
  expect(await run(name, cwd)).toMatchObject({ stdout: 'hello\n', stderr: '' });
});

test('the imported library loads the connection and the table of media types when it needs them, not at once', () => {
  const esm = join(import.meta.dirname, '../../dist/esm');
  const loaded = new Set(['index.js']);
  for (const file of loaded) {
    const code = readFileSync(join(esm, file), 'utf8');
    for (const [, imported = ''] of code.matchAll(/\b(?:from|import)\s*"\.\/([^"]+)"/g)) loaded.add(imported);
  }
  const names = [...loaded].map((file) => file.replace(/-[\w-]{8}\.js$/, ''));
  const later = ['connection', 'mime-types'];
  expect(names).not.toEqual(expect.arrayContaining([expect.stringMatching(later.join('|'))]));
  expect(readdirSync(esm).filter((file) => later.some((name) => file.startsWith(`${name}-`)))).toHaveLength(2);
});

test.for(['esm', 'cjs'] as const)('a program that has it bundled as %s starts', async (format) => {
  const cwd = place();
  writeFileSync(join(cwd, 'a.mjs'), imported);
  const outfile = join(cwd, format === 'esm' ? 'b.mjs' : 'b.cjs');
  await build({
    entryPoints: [join(cwd, 'a.mjs')],
    bundle: true,
    platform: 'node',
    format,
    outfile,
    logLevel: 'error',
  });
  expect(await run(outfile, cwd)).toMatchObject({ stdout: 'hello\n', stderr: '' });
});

test('an error of the package that was required is known to the guards of the one that was imported', async () => {
  const cwd = place();
  const text = `import { createRequire } from 'node:module';
    import { GatewayError, isGatewayError, isResponseError } from 'gateway-cli';
    const { createClient } = createRequire(import.meta.url)('gateway-cli');
    const client = createClient({ baseUrl: process.env.URL, retries: 0 });
    const error = await client.generate({ model: 'm', prompt: 'x' }).catch((thrown) => thrown);
    console.log([error instanceof GatewayError, isGatewayError(error), isGatewayError(error, 'auth'), isGatewayError(error, 'quota')].join());
    console.log([isResponseError(error), isGatewayError(new Error('x')), isGatewayError(undefined)].join());
    await client.close();`;
  writeFileSync(join(cwd, 'a.mjs'), text);
  const server = await serve();
  server.reply({ status: 401, body: '{}' });
  const ran = await shell(`${process.execPath} a.mjs`, { cwd, env: { URL: server.url } });
  expect(ran).toMatchObject({ stdout: 'false,true,true,false\nfalse,false,false\n', stderr: '' });
});
