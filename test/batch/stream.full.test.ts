import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { bareEnv, bin } from '../helpers/spawn.ts';
import { environmentFor, test } from './with-batch.ts';

const jobs = 10_000;

/** Resident memory of a process, in MiB. */
function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

test(`${jobs} jobs that come one by one stay within 30 MiB, and one costs a twentieth of a process`, async ({
  server,
  folder,
}) => {
  const env = bareEnv(folder.cwd, environmentFor(server));
  const child = spawn(process.execPath, [bin, 'batch', '-', '--stream'], { cwd: folder.cwd, env });
  child.stderr.resume();
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (id: string): Promise<void> => {
    child.stdin.write(`{"id":"${id}","prompt":"${id}"}\n`);
    const { value } = await lines.next();
    expect(JSON.parse(value as string)).toMatchObject({ id, ok: true });
  };
  for (let at = 0; at < 100; at++) await ask(`warm-${at}`);
  const before = memoryOf(child.pid as number);
  const started = performance.now();
  for (let at = 0; at < jobs; at++) await ask(`p${at}`);
  const eachMs = (performance.now() - started) / jobs;
  const grown = memoryOf(child.pid as number) - before;
  child.stdin.end();
  expect(await once(child, 'close')).toEqual([0, null]);
  const processMs = await timeOfProcesses(env, folder.cwd);
  process.stderr.write(
    `${grown.toFixed(1)} MiB more, ${eachMs.toFixed(2)} ms a job, ${processMs.toFixed(0)} ms a process\n`,
  );
  expect(grown).toBeLessThan(30);
  expect(eachMs).toBeLessThan(processMs / 20);
}, 300_000);

/** How long one process takes for one job, in ms. */
async function timeOfProcesses(env: Record<string, string>, cwd: string): Promise<number> {
  const times = 10;
  const started = performance.now();
  for (let at = 0; at < times; at++) {
    const child = spawn(process.execPath, [bin, 'text', `one-${at}`], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.resume();
    expect(await once(child, 'close')).toEqual([0, null]);
  }
  return (performance.now() - started) / times;
}
