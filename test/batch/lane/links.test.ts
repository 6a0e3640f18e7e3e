import { expect } from 'vitest';
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
