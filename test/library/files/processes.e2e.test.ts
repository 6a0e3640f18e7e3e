import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { isRunning, ownMark, type ProcessMark } from '../../../src/library/files/process-mark.ts';
import { bundle } from '../../helpers/bundle.ts';
import { canUnshare, markOf, unshare } from '../../helpers/processes.ts';

const isLinux = existsSync('/proc/self/stat');

test('this process counts as running, and so does a process of another user', () => {
  expect(isRunning(ownMark())).toBe(true);
  expect(isRunning(markOf(1))).toBe(true);
});

test('a process that ended is not running', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  expect(isRunning(markOf(child.pid as number))).toBe(false);
});

test('a process of another machine cannot be checked', () => {
  expect(isRunning({ ...ownMark(), host: 'elsewhere' })).toBeUndefined();
});

test.skipIf(!canUnshare)('a process of another PID namespace cannot be checked', async () => {
  const [command, ...argv] = unshare;
  const script = `const { isRunning, ownMark } = await import(process.argv[1]);
    const outer = JSON.parse(process.argv[2]);
    console.log(JSON.stringify({ own: ownMark(), ownRuns: isRunning(ownMark()), outerRuns: isRunning(outer) ?? null }));`;
  const path = await bundle('src/library/files/process-mark.ts');
  const node = [process.execPath, '--input-type=module', '-e', script, path, JSON.stringify(ownMark())];
  const inner = JSON.parse(execFileSync(command, [...argv, ...node], { encoding: 'utf8' })) as { own: ProcessMark };
  expect(inner).toMatchObject({ own: { host: ownMark().host, pid: 1 }, ownRuns: true, outerRuns: null });
  expect(isRunning(inner.own)).toBeUndefined();
});

test.skipIf(!isLinux)('a mark without a PID namespace cannot be checked', () => {
  expect(isRunning({ ...ownMark(), namespace: undefined })).toBeUndefined();
});

test.skipIf(!isLinux)('a process whose number was reused is not running', () => {
  expect(isRunning({ ...ownMark(), started: 'another boot/1' })).toBe(false);
});

test.skipIf(!isLinux)('a zombie is not running', async () => {
  // The inner `cat` ends with the fourth stream; the outer one replaces the shell and never waits for it.
  const child = spawn('sh', ['-c', 'cat <&3 & echo $!; exec cat'], { stdio: ['pipe', 'pipe', 'inherit', 'pipe'] });
  const [stdin, stdout, , held] = child.stdio as unknown as [Writable, Readable, null, Writable];
  try {
    const pid = Number(await nextText(stdout));
    stdin.write('the shell was replaced\n');
    await nextText(stdout);
    expect(isRunning(markOf(pid))).toBe(true);
    held.end();
    await expect.poll(() => isRunning(markOf(pid)), { timeout: 50_000 }).toBe(false);
    expect(process.kill(pid, 0)).toBe(true);
  } finally {
    child.kill('SIGKILL');
  }
});

async function nextText(stream: Readable): Promise<string> {
  const [chunk] = (await once(stream, 'data')) as [Buffer];
  return chunk.toString();
}
