import { expect } from 'vitest';
import { run } from '../../helpers/run.ts';
import { test } from './with-lane.ts';

test('jobs that use results of others go in a batch of their own, after those', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.pollsToEnd = 2;
  folder.jobs(
    { id: 'c', prompt: 'Write {{@o.text}}' },
    { id: 'o', prompt: 'Plan' },
    { id: 'd', prompt: 'Other {{@o.text}}' },
  );
  const first = await batch(['--no-wait']);
  expect(first.code).toBe(0);
  expect(first.stderr).toContain('0 done, 1 at the service, 2 not sent yet (2 wait for results of other jobs)\n');
  expect(first.stderr).toContain('2 jobs wait for the result of o (at the service)\n');
  expect(await batch()).toMatchObject({ code: 0 });
  expect(server.batches.map(({ entries }) => entries.length)).toEqual([2, 1]);
  expect(server.counts).toEqual(
    new Map([
      ['Plan', 1],
      ['Write answer to Plan', 1],
      ['Other answer to Plan', 1],
    ]),
  );
  expect(await batch()).toMatchObject({ code: 0 });
  expect(server.batches).toHaveLength(2);
});

test('a redo that does not wait succeeds while one of its jobs waits for another one at the service', async ({
  open,
}) => {
  const { batch, folder, server, env } = await open('messages');
  const cli = (...argv: string[]) => run(['batch', ...argv], { cwd: folder.cwd, env });
  folder.jobs({ id: 'o', prompt: 'Plan' }, { id: 'c', prompt: 'Write {{@o.text}}' });
  expect(await batch()).toMatchObject({ code: 0 });
  server.pollsToEnd = 2;
  const redo = await cli('redo', 'out', 'o,c', '--no-wait');
  expect([redo.code, redo.stderr]).toEqual([
    0,
    expect.stringContaining('1 at the service, 1 not sent yet (1 waits for results of other jobs)\n'),
  ]);
  // While its new answer is not there, it shows the earlier one.
  const states: unknown[] = [];
  for (server.pollsToEnd = 3; states.at(-1) !== 'done'; await cli('again', 'out', '--no-wait')) {
    const [, row = ''] = (await cli('export', 'out', '--format', 'jsonl')).stdout.split('\n');
    expect(row).toContain('"text":"answer to Write answer to Plan"');
    states.push((JSON.parse(row) as Record<string, unknown>)['state']);
  }
  expect(states.length).toBeGreaterThan(3);
  expect([...new Set(states)]).toEqual(['pending', 'submitted', 'done']);
  expect((await cli('status', 'out')).stdout).toMatch(/^2 jobs: 2 done\n/);
  expect([...server.counts.values()]).toEqual([2, 2]);
});

test('jobs that got other ids while the service has them are collected, and not sent again', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.pollsToEnd = 2;
  folder.jobs({ id: 'o', prompt: 'Plan' }, { id: 'c', prompt: 'Write {{@o.text}}' });
  expect(await batch(['--no-wait'])).toMatchObject({ code: 0 });
  folder.jobs({ id: 'plan', prompt: 'Plan' }, { id: 'c', prompt: 'Write {{@plan.text}}' });
  expect((await batch(['--no-wait'])).stderr).toContain('1 done, 1 at the service\n');
  folder.jobs({ id: 'p', prompt: 'Plan' }, { id: 'd', prompt: 'Write {{@p.text}}' });
  expect(await batch()).toMatchObject({ code: 0 });
  expect((await batch()).stderr).toContain('2 done; 0 are sent now');
  expect(Object.fromEntries(server.counts)).toEqual({ Plan: 1, 'Write answer to Plan': 1 });
  expect(
    folder
      .lines('results.jsonl')
      .map(({ id, text }) => `${String(id)}: ${String(text)}`)
      .toSorted(),
  ).toEqual(['d: answer to Write answer to Plan', 'plan: answer to Plan']);
});

test.for([false, true])(
  'a job that --retry unknown sent, and that the service still has, is the newer one for those that use it, accepted: %s',
  async (isAccepted, { open }) => {
    const { batch, folder, server, env } = await open('messages');
    const cli = (...argv: string[]) => run(['batch', ...argv], { cwd: folder.cwd, env });
    folder.jobs({ id: 'o', prompt: 'Plan' }, { id: 'p', prompt: 'Other' }, { id: 'c', prompt: 'Write {{@o.text}}' });
    expect(await batch()).toMatchObject({ code: 0 });
    server.endingOf = (prompt) => (prompt === 'Plan' ? 'missing' : { text: 'fine' });
    expect(await cli('redo', 'out', 'o,p')).toMatchObject({ code: 13 });
    server.endingOf = () => ({ text: 'newer' });
    server.pollsToEnd = 3;
    await cli('retry', 'out', 'unknown', '--no-wait', ...(isAccepted ? ['--accept-changes'] : []));
    expect(await cli('again', 'out')).toMatchObject({ code: 0 });
    const told = isAccepted ? '3 jobs: 3 done\n' : '3 jobs: 3 done (1 outdated)\n';
    expect((await cli('status', 'out')).stdout).toContain(told);
    // A job that was not accepted is not paid for.
    expect(await cli('again', 'out')).toMatchObject({ code: 0 });
    expect(server.counts.get('Write newer')).toBe(isAccepted ? 1 : undefined);
  },
);

test('status says how to collect what no job waits for', async ({ open }) => {
  const { batch, folder, server, env } = await open('messages');
  const cli = (...argv: string[]) => run(['batch', ...argv], { cwd: folder.cwd, env });
  server.pollsToEnd = 2;
  folder.jobs({ id: 'x', prompt: 'one' });
  await batch(['--no-wait']);
  server.pollsToEnd = 3;
  folder.jobs({ id: 'y', prompt: 'one' });
  await cli('again', 'out', '-m', 'other', '--lane', 'live', '--accept-changes');
  const next = 'gateway-cli batch again out --lane batch';
  expect((await cli('status', 'out')).stdout).toContain(`at the service for no job: ${next}\n`);
  await cli(...next.split(' ').slice(2));
  expect((await cli('status', 'out')).stdout).toContain('1 answer that no job asks for now');
});

test('status says that the command which collects sends failed rows again', async ({ open }) => {
  const { batch, folder, server, env } = await open('messages');
  const cli = (...argv: string[]) => run(['batch', ...argv], { cwd: folder.cwd, env });
  const job = (id: string) => ({ id, prompt: id });
  server.endingOf = (prompt) => (prompt === 'p1' ? { error: 'bad field' } : { text: 'fine' });
  folder.jobs(job('p1'), job('p3'));
  expect(await batch()).toMatchObject({ code: 13 });
  server.pollsToEnd = 3;
  folder.jobs(job('p1'), job('p2'), job('p3'));
  await batch(['--no-wait']);
  folder.jobs(job('p1'), job('p2'), { id: 'p3', prompt: 'edited' });
  expect(await cli('again', 'out')).toMatchObject({ code: 14 });
  const next = 'gateway-cli batch retry out --lane batch';
  const { stdout } = await cli('status', 'out');
  await cli(...next.split(' ').slice(2));
  expect(Object.fromEntries(server.counts)).toMatchObject({ p1: 2 });
  expect(stdout).toContain(`1 at the service: ${next}  # what failed is sent again\n`);
});
