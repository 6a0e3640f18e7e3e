import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkProgram, runTool } from '../../src/chat/tool-run.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const cwd = scratchFolder();
const node = (script: string): { name: string; argv: string[] } => ({
  name: 'f',
  argv: [process.execPath, '-e', script],
});
const place = { cwd, env: process.env, service: 'gateway' as const, signal: new AbortController().signal };
const echo = "process.stdin.on('data', (d) => process.stdout.write(d))";

test('passes the input as JSON on stdin, and returns stdout as the result', async () => {
  const input = { city: 'Pa"ris\n', '; rm -rf /': ['$(x)'] };
  expect(await runTool(node(echo), input, place)).toEqual({ content: JSON.stringify(input), isError: false });
});

test('another exit status than 0 is an error with stderr', async () => {
  const failing = node("console.log('half'); console.error('no such city'); process.exitCode = 3");
  expect(await runTool(failing, {}, place)).toEqual({ content: 'exit status 3\nno such city\nhalf', isError: true });
});

test('the end by a signal is an error too', async () => {
  const outcome = await runTool(node("process.kill(process.pid, 'SIGKILL')"), {}, place);
  expect(outcome).toEqual({ content: 'ended by SIGKILL', isError: true });
});

test('a command that does not read a large input still returns its result', async () => {
  const outcome = await runTool(node("console.log('done')"), { text: 'x'.repeat(4_000_000) }, place);
  expect(outcome).toEqual({ content: 'done\n', isError: false });
});

test('more than 1 MiB of output is an error, not a request that is too large', async () => {
  const endless = node("const go = () => process.stdout.write('x'.repeat(65536), go); go()");
  expect(await runTool(endless, {}, place)).toEqual({
    content: 'the output is larger than 1048576 bytes',
    isError: true,
  });
});

test.each(['gemini', 'openai'] as const)('the key of %s is not in the environment of a tool', async (service) => {
  const env = { ...process.env, GATEWAY_API_KEY: '1', OPENAI_API_KEY: '2', GEMINI_API_KEY: '3', GOOGLE_API_KEY: '4' };
  const shown = node("console.log(Object.keys(process.env).filter((name) => name.endsWith('_API_KEY')).sort().join())");
  const kept = { gemini: 'OPENAI_API_KEY\n', openai: 'GEMINI_API_KEY,GOOGLE_API_KEY\n' }[service];
  expect((await runTool(shown, {}, { ...place, env, service })).content).toBe(kept);
});

test('an abort kills the command and rejects with its reason', async () => {
  const abort = new AbortController();
  const running = runTool(
    node("setInterval(() => {}, 1000); console.log('up')"),
    {},
    { ...place, signal: abort.signal },
  );
  abort.abort(new Error('enough'));
  await expect(running).rejects.toThrow('enough');
});

test('a missing program is an error before anything is sent', async () => {
  const env = { PATH: cwd };
  await expect(checkProgram({ name: 'f', argv: ['no-such'] }, { cwd, env })).rejects.toMatchObject({ class: 'usage' });
  await expect(checkProgram({ name: 'f', argv: ['./no-such'] }, { cwd, env })).rejects.toMatchObject({
    class: 'usage',
  });
  writeFileSync(join(cwd, 'there'), '#!/bin/sh\n');
  await expect(checkProgram({ name: 'f', argv: ['./there'] }, { cwd, env })).rejects.toMatchObject({
    details: { hint: expect.stringContaining('chmod +x') },
  });
  chmodSync(join(cwd, 'there'), 0o755);
  await checkProgram({ name: 'f', argv: ['./there'] }, { cwd, env });
  await checkProgram({ name: 'f', argv: ['there'] }, { cwd, env });
});

test('a program that was removed is an error of the call', async () => {
  const outcome = await runTool({ name: 'f', argv: [join(cwd, 'gone')] }, {}, place);
  expect(outcome).toMatchObject({ content: expect.stringContaining('there is no such command'), isError: true });
});

test.skipIf(process.platform !== 'linux')('a program without a descriptor left is an error of the call', async () => {
  const limit = 'prlimit --pid=$PPID --nofile';
  const limiter = spawn('sh', ['-c', `was=$(ulimit -Sn); ${limit}=3: && echo low && read go; ${limit}=$was:`]);
  await once(limiter.stdout, 'data');
  const outcome = await runTool(node(''), {}, place).catch((error: unknown) => error);
  limiter.stdin.end('go\n');
  await once(limiter, 'close');
  expect(outcome).toEqual({ content: 'the command cannot run: too many files are open', isError: true });
});
