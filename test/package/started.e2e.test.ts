import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, createReadStream, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shell } from '../helpers/spawn.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const root = join(import.meta.dirname, '../..');

test.each([
  ['--help', '-h', 'help'],
  ['', '-h', 'help'],
  ['--version', '-V', '--version --quiet'],
])('%j prints the same under each of its names', async (words, short, slow) => {
  const [long, brief, program] = await Promise.all([words, short, slow].map((flag) => shell(`$BIN ${flag}`)));
  expect(long).toMatchObject({ code: 0, stdout: expect.stringMatching(/\S\n$/) as string, stderr: '' });
  expect([brief?.stdout, program?.stdout]).toEqual([long?.stdout, long?.stdout]);
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
    const { createClient } = require('${root}/dist/cjs/index.js');
    const client = createClient({ baseUrl: 'http://127.0.0.1:9', format: 'messages' });
    const path = () => client.prepare({ model: 'm', prompt: 'hi' }).then(({ post }) => post.path, ({ message }) => message);
    path().then(async (first) => console.log(first, await path()));`;
  expect(await shell(`node -e "$SCRIPT"`, { env: { SCRIPT: script } })).toMatchObject({
    stdout: 'EMFILE /v1/messages\n',
  });
});

test('a topic is Markdown in a pipe, and laid out where colours are asked for or a terminal shows it', async () => {
  const page = readFileSync(join(root, 'src/cli/help/topics/exit-codes.md'), 'utf8');
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
    const pipe = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    const filling = Buffer.alloc(4096, '.');
    let filled = 0;
    while (isWritten(pipe, filling)) filled += filling.length;
    // Node makes the first three of a child's files block; a shell leaves them as they are.
    const command = `exec node ${root}/bin/gateway-cli.js help exit-codes >&3`;
    const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'ignore', 'inherit', pipe] });
    const ended = once(child, 'close');
    const read = createReadStream(fifo);
    let text = '';
    read.on('data', (part) => (text += String(part)));
    expect((await ended)[0]).toBe(0);
    closeSync(pipe);
    await once(read, 'end');
    expect(text.slice(filled)).toBe(readFileSync(join(root, 'src/cli/help/topics/exit-codes.md'), 'utf8'));
  },
);

function isWritten(pipe: number, bytes: Buffer): boolean {
  try {
    return writeSync(pipe, bytes) === bytes.length;
  } catch {
    return false;
  }
}

test('a command that only prints ends with 141 if its stdout is closed', async () => {
  const ran = await shell('mkfifo gone; exec 3<>gone 4>gone 3<&-; $BIN --help >&4');
  expect(ran).toMatchObject({ code: 141, stderr: '' });
});

test.skipIf(!existsSync('/dev/full'))('what only prints ends by 12 on a full disk', async () => {
  const ran = await shell('$BIN --version > /dev/full');
  expect(ran).toMatchObject({ code: 12, stderr: expect.stringContaining('the disk is full') as string });
});
