import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  cpSync,
  createReadStream,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { type ScriptedServer, startScriptedServer } from '../helpers/scripted-server.ts';
import { shell } from '../helpers/spawn.ts';
import { eventStream, imageReply, messageEvents, textReply } from '../helpers/with-server.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const root = join(import.meta.dirname, '../..');
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

interface Loaded {
  /** Names of chunks. */
  names: string[];
  /** How many files of the bundle. */
  files: number;
  /** Names of Node's own modules. */
  modules: string[];
}

/** Which files of dist a run loads; `program` is what Node runs. */
async function loadedBy(
  words: string,
  server: ScriptedServer,
  { program = '$BIN', more = {} }: { program?: string; more?: Record<string, string> } = {},
): Promise<Loaded> {
  const hook = join(scratchFolder(), 'hook.cjs');
  writeFileSync(
    hook,
    `process.on('exit', () => require('node:fs').writeFileSync(__dirname + '/loaded', [...Object.keys(require.cache), ...process.moduleLoadList].join('\\n')))`,
  );
  const env = {
    GATEWAY_BASE_URL: server.url,
    GATEWAY_API_KEY: 'k-123456',
    GATEWAY_MODEL: 'm',
    GATEWAY_IMAGE_MODEL: 'm',
    ...more,
  };
  const ran = await shell(`node -r ${hook} ${program} ${words}`, { env });
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
  const paths = readFileSync(join(hook, '../loaded'), 'utf8').split('\n');
  const files = paths.filter((path) => path.startsWith(join(root, 'dist')));
  const names = files.flatMap((path) => /\/([\w-]+)-[\w-]{8}\.js$/.exec(path)?.[1] ?? []);
  const modules = paths.flatMap((path) => /^NativeModule ([\w/]+)$/.exec(path)?.[1] ?? []);
  return { names, files: files.length, modules };
}

const always = ['client', 'env-paths', 'rolldown-runtime', 'text', 'transport'];

/** What is loaded is paid for at every start: the file that many commands share takes 10 ms, HTTP/2 and crypto take 7. */
test.each([
  ['text hi', [], textReply('ok')],
  ['chat hi', ['chat', 'format'], eventStream(...messageEvents('ok'))],
  ['image gen hi', ['esm', 'image', 'images', 'library'], imageReply({ mimeType: 'image/png', data: dot })],
])('%s loads what it needs, and nothing that other commands share', async (words, own, body) => {
  const server = await startScriptedServer();
  server.reply({ body });
  const { names, modules } = await loadedBy(words, server);
  await server.close();
  expect(names.toSorted()).toEqual([...always, ...own].toSorted());
  expect(modules).toContain('net');
  expect(modules).not.toContain('http2');
  expect(modules).not.toContain('child_process');
  expect(modules.includes('crypto')).toBe(own.includes('library'));
});

test.each(['help exit-codes', 'help batch', 'image gen --help', '__complete zsh -- text --m'])(
  '%s in a pipe loads one small file of the bundle, and not the program',
  async (words) => {
    const server = await startScriptedServer();
    const { files, names } = await loadedBy(words, server);
    await server.close();
    expect({ files, names }).toEqual({ files: 1, names: [] });
  },
);

test('a topic that is laid out loads what lays it out, and not the command that has its name', async () => {
  const server = await startScriptedServer();
  const { names } = await loadedBy('help batch', server, { more: { FORCE_COLOR: '1' } });
  await server.close();
  expect(names.toSorted()).toEqual(['client', 'columns', 'help', 'rolldown-runtime', 'text']);
});

test('a TAB for a model loads the program and what completes, and nothing that sends', async () => {
  const server = await startScriptedServer();
  const { names } = await loadedBy('__complete zsh -- text -m ""', server);
  await server.close();
  expect(names.toSorted()).toEqual(['client', 'complete', 'env-paths', 'rolldown-runtime', 'text']);
});

test.each(['batch --help --verbose', 'sessions list'])('%s loads no gateway', async (words) => {
  const server = await startScriptedServer();
  const { names } = await loadedBy(words, server);
  await server.close();
  expect(names).toContain('shared');
  expect(names).not.toContain('gateway');
});

test('the library loads nothing of the commands', async () => {
  const server = await startScriptedServer();
  const library = await loadedBy('', server, { program: `-e 'require("${root}/dist/index.js")'` });
  await server.close();
  expect(library.names.toSorted()).toEqual(['client', 'library', 'rolldown-runtime']);
});

test('a batch loads nothing that measures columns, which takes 35 ms, and no threads without a schema', async () => {
  const server = await startScriptedServer();
  const prompts = join(scratchFolder(), 'prompts.txt');
  writeFileSync(prompts, 'hi\n');
  const { names, modules } = await loadedBy(`batch --prompts ${prompts} -o ${prompts}-out --dry-run`, server);
  await server.close();
  expect(names).toContain('batch');
  expect(names).not.toContain('columns');
  expect(modules).not.toContain('worker_threads');
});

test.each(['--version', '--help'])('%s loads nothing of the bundle', async (words) => {
  const server = await startScriptedServer();
  const { files } = await loadedBy(words, server);
  await server.close();
  expect(files).toBe(0);
});

test.each([
  ['--help', '-h', 'help'],
  ['', '-h', 'help'],
  ['--version', '-V', '--version --quiet'],
])('%j prints at once what the program prints', async (words, short, slow) => {
  const [long, brief, program] = await Promise.all([words, short, slow].map((flag) => shell(`$BIN ${flag}`)));
  expect(long).toMatchObject({ code: 0, stdout: expect.stringMatching(/\S\n$/) as string, stderr: '' });
  expect([brief?.stdout, program?.stdout]).toEqual([long?.stdout, long?.stdout]);
});

test.each(['--help', '--version', 'help batch'])('%s prints the same where its file is cut or gone', async (words) => {
  const copy = scratchFolder();
  for (const part of ['bin', 'dist', 'src/help']) cpSync(join(root, part), join(copy, part), { recursive: true });
  for (const name of ['help.txt', 'version.txt']) rmSync(join(copy, 'dist', name));
  writeFileSync(join(copy, 'dist/commands.json'), '{');
  const [whole, bare] = await Promise.all([shell(`$BIN ${words}`), shell(`${copy}/bin/gateway-cli.js ${words}`)]);
  rmSync(copy, { recursive: true });
  expect(bare).toMatchObject({ code: 0, stdout: whole.stdout, stderr: '' });
});

test('the library loads a format again that it could not load before: a limit of open files is reached for a moment', async () => {
  const script = `
    const { Module } = require('node:module');
    const load = Module._load;
    const failures = [new Error('EMFILE')];
    Module._load = (name, ...more) => {
      if (name.includes('/format-') && failures.length > 0) throw failures.pop();
      return load(name, ...more);
    };
    const { createClient } = require('${root}/dist/index.js');
    const client = createClient({ baseUrl: 'http://127.0.0.1:9', format: 'messages' });
    const path = () => client.prepare({ model: 'm', prompt: 'hi' }).then(({ post }) => post.path, ({ message }) => message);
    path().then(async (first) => console.log(first, await path()));`;
  expect(await shell(`node -e "$SCRIPT"`, { env: { SCRIPT: script } })).toMatchObject({
    stdout: 'EMFILE /v1/messages\n',
  });
});

test('a topic is Markdown in a pipe, and laid out where colours are asked for or a terminal shows it', async () => {
  const page = readFileSync(join(root, 'src/help/exit-codes.md'), 'utf8');
  const [pipe, slow, coloured] = await Promise.all([
    shell('$BIN help exit-codes'),
    shell('$BIN help exit-codes --quiet'),
    shell('$BIN help exit-codes', { env: { FORCE_COLOR: '1' } }),
  ]);
  for (const ran of [pipe, slow]) expect(ran).toMatchObject({ code: 0, stdout: page, stderr: '' });
  expect(coloured.stdout).toContain('\u001B[1mExit codes');
  expect(coloured.stdout).not.toContain('|---|');
});

test.skipIf(process.platform === 'win32')(
  'a text waits for the reader of a pipe that is full and does not block',
  async () => {
    const folder = scratchFolder();
    const fifo = join(folder, 'pipe');
    execFileSync('mkfifo', [fifo]);
    const hook = join(folder, 'hook.cjs');
    writeFileSync(
      hook,
      `const fs = require('node:fs'), write = fs.writeSync;
    fs.writeSync = (...words) => { try { return write(...words); } catch (error) { write(2, error.code); throw error; } };`,
    );
    const pipe = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    const filling = Buffer.alloc(4096, '.');
    let filled = 0;
    while (isWritten(pipe, filling)) filled += filling.length;
    // Node makes the first three of a child's files block; a shell leaves them as they are.
    const command = `exec node -r ${hook} ${root}/bin/gateway-cli.js help exit-codes >&3`;
    const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'ignore', 'pipe', pipe] });
    const [said] = (await once(child.stderr as Readable, 'data')) as [Buffer];
    expect(String(said)).toMatch(/^EAGAIN/);
    const ended = once(child, 'close');
    const read = createReadStream(fifo);
    let text = '';
    read.on('data', (part) => (text += String(part)));
    expect((await ended)[0]).toBe(0);
    closeSync(pipe);
    await once(read, 'end');
    expect(text.slice(filled)).toBe(readFileSync(join(root, 'src/help/exit-codes.md'), 'utf8'));
  },
);

function isWritten(pipe: number, bytes: Buffer): boolean {
  try {
    return writeSync(pipe, bytes) === bytes.length;
  } catch {
    return false;
  }
}

test('a command that prints at once ends with 141 if its stdout is closed', async () => {
  const ran = await shell('mkfifo gone; exec 3<>gone 4>gone 3<&-; $BIN --help >&4');
  expect(ran).toMatchObject({ code: 141, stderr: '' });
});

test.skipIf(!existsSync('/dev/full'))('what prints at once ends by 12 on a full disk', async () => {
  const ran = await shell('$BIN --version > /dev/full');
  expect(ran).toMatchObject({ code: 12, stderr: expect.stringContaining('the disk is full') as string });
});
