import { readdirSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { expect } from 'vitest';
import { bareEnv, bin } from '../helpers/spawn.ts';
import { createEvent } from './event.ts';
import { environmentFor, manyJobs, test } from './with-batch.ts';

const line = (id: string) => `${JSON.stringify({ id, prompt: id })}\n`;

test('a reply that comes after stdout was closed is saved for recovery', async ({ server, folder }) => {
  const { happened, happen } = createEvent();
  server.answer = (prompt) => (prompt === 'p2' ? { after: happened } : undefined);
  const env = { ...environmentFor(server), XDG_STATE_HOME: join(folder.cwd, 'state') };
  const child = spawn(process.execPath, [bin, 'batch', '-', '--stream'], {
    cwd: folder.cwd,
    env: bareEnv(folder.cwd, env),
  });
  const ended = once(child, 'close');
  child.stdin.on('error', () => undefined);
  child.stdin.write(line('p1') + line('p2'));
  const stderr = textOf(child.stderr);
  const [first] = (await once(child.stdout, 'data')) as [Buffer];
  expect(first.toString()).toContain('answer to p1');
  await server.received(2);
  child.stdout.destroy();
  happen();
  await ended;
  expect(await stderr).toContain('gateway-cli recover');
  expect(readdirSync(join(folder.cwd, 'state/gateway-cli/recovered'))).toHaveLength(1);
});

test('killed at any time, a worker with a folder pays for no job twice', async ({ server, folder, batch }) => {
  const env = bareEnv(folder.cwd, environmentFor(server));
  const jobs = manyJobs(60) as { id: string }[];
  for (const kill of [7, 19, 40]) {
    const child = spawn(process.execPath, [bin, 'batch', '-', '--stream', '-o', 'out'], { cwd: folder.cwd, env });
    child.stdin.on('error', () => undefined);
    child.stdout.resume();
    child.stderr.resume();
    for (const { id } of jobs) child.stdin.write(line(id));
    await server.received(kill);
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  const { stdout } = await batch(['-', '--stream', '-o', 'out'], { stdin: jobs.map(({ id }) => line(id)).join('') });
  expect([...server.counts].filter(([, times]) => times !== 1)).toEqual([]);
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(jobs.length);
  // What was recorded as sent when it was killed may have gone out.
  const documents = lines.map((text) => JSON.parse(text) as { id: string; ok: boolean });
  const unanswered = documents.filter(({ ok }) => !ok).map(({ id }) => id);
  expect(unanswered.length).toBeLessThanOrEqual(12);
  expect(jobs.filter(({ id }) => !server.counts.has(id) && !unanswered.includes(id))).toEqual([]);
});
