import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { bundle } from '../../helpers/bundle.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const bin = join(import.meta.dirname, '../../../bin/gateway-cli.js');

let ended = '';
beforeAll(async () => {
  ended = await bundle('src/cli/terminal/process-io.ts');
});

/** A process that does that work, and ends with it under way. */
function ending(work: string): ChildProcessByStdio<null, Readable, Readable> {
  const script = `process.exitCode = 7;\n${work}\nrequire(${JSON.stringify(ended)}).endProcess(process);`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

test('what the system closes keeps no process: servers, connections and timers', async () => {
  const child = ending(`
    const net = require('node:net');
    const server = net.createServer().listen(0, '127.0.0.1', () => net.connect(server.address().port, '127.0.0.1'));
    setTimeout(() => undefined, 1e9);`);
  expect(await once(child, 'exit')).toEqual([7, null]);
});

test('output that a slow reader has not taken is not cut off', async () => {
  const child = ending(`
    process.stderr.write('x'.repeat(1e6));
    setImmediate(() => setImmediate(() => process.stdout.write('over')));`);
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  let length = 0;
  child.stderr.on('data', (chunk: Buffer) => (length += chunk.length));
  expect(await once(child, 'close')).toEqual([7, null]);
  expect(length).toBe(1e6);
});

test('a file that is being written is whole', async () => {
  const child = ending(`
    const { promises, readFileSync } = require('node:fs');
    const path = require('node:path').join(require('node:os').tmpdir(), 'end-' + process.pid);
    promises.writeFile(path, 'x'.repeat(1e7)).then(() => {
      process.stdout.write(String(readFileSync(path).length));
      return promises.rm(path);
    });`);
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  expect(await once(child, 'close')).toEqual([7, null]);
  expect(text).toBe('10000000');
});

test('nothing that is merely open keeps the program from ending', async () => {
  const held = `require('node:net').createServer().listen(0, '127.0.0.1')`;
  const folder = scratchFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'held.cjs'), held);
  const argv = ['--require', join(folder, 'held.cjs'), bin, 'completion', 'bash'];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect(await once(child, 'exit')).toEqual([0, null]);
});
