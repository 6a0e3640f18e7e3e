import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { isRunning, ownMark } from '../../src/terminal/processes.ts';

const host = hostname();
const onLinux = test.skipIf(!existsSync('/proc/self/stat'));

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

onLinux('a number that was given away stands for nobody', () => {
  expect(isRunning({ ...ownMark(), started: 'another boot/1' })).toBe(false);
});

onLinux(
  'one that is dead and not yet buried does not run',
  async () => {
    // The inner `cat` ends with the fourth stream; the outer one takes the shell's place and never asks for it.
    const child = spawn('sh', ['-c', 'cat <&3 & echo $!; exec cat'], { stdio: ['pipe', 'pipe', 'inherit', 'pipe'] });
    try {
      const pid = Number(await nextText(child.stdout));
      child.stdin.write('the shell has gone\n');
      await nextText(child.stdout);
      expect(isRunning({ host, pid })).toBe(true);
      (child.stdio[3] as Writable).end();
      await expect.poll(() => isRunning({ host, pid }), { timeout: 20_000 }).toBe(false);
      expect(process.kill(pid, 0)).toBe(true);
    } finally {
      child.kill('SIGKILL');
    }
  },
  30_000,
);

async function nextText(stream: NodeJS.ReadableStream): Promise<string> {
  const [chunk] = (await once(stream, 'data')) as [Buffer];
  return chunk.toString();
}
