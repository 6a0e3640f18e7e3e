import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { isRunning, ownMark } from '../../src/lock/processes.ts';

const host = hostname();
const isLinux = existsSync('/proc/self/stat');

test('this process runs, and so does one of another user', () => {
  expect(isRunning(ownMark())).toBe(true);
  expect(isRunning({ host, pid: 1 })).toBe(true);
});

test('one whose number is free again does not run', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  expect(isRunning({ host, pid: child.pid as number })).toBe(false);
});

test('of another machine nothing is known', () => {
  expect(isRunning({ ...ownMark(), host: 'elsewhere' })).toBeUndefined();
});

test.skipIf(!isLinux)('a number that was given away stands for nobody', () => {
  expect(isRunning({ ...ownMark(), started: 'another boot/1' })).toBe(false);
});

test.skipIf(!isLinux)('one that is dead and not yet buried does not run', async () => {
  // The inner `cat` ends with the fourth stream; the outer one takes the shell's place and never asks for it.
  const child = spawn('sh', ['-c', 'cat <&3 & echo $!; exec cat'], { stdio: ['pipe', 'pipe', 'inherit', 'pipe'] });
  const [stdin, stdout, , held] = child.stdio as unknown as [Writable, Readable, null, Writable];
  try {
    const pid = Number(await nextText(stdout));
    stdin.write('the shell has gone\n');
    await nextText(stdout);
    expect(isRunning({ host, pid })).toBe(true);
    held.end();
    await expect.poll(() => isRunning({ host, pid }), { timeout: 50_000 }).toBe(false);
    expect(process.kill(pid, 0)).toBe(true);
  } finally {
    child.kill('SIGKILL');
  }
});

async function nextText(stream: Readable): Promise<string> {
  const [chunk] = (await once(stream, 'data')) as [Buffer];
  return chunk.toString();
}
