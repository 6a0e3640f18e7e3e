import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ownMark } from '../../../src/library/files/process-mark.ts';
import { run } from '../../helpers/run.ts';
import { manyJobs } from '../with-batch.ts';
import { hurriedClock, test } from './with-lane.ts';

test('a look at the service takes as long as --timeout allows', { timeout: 10_000 }, async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.fault = (kind, count) => (kind === 'poll' && count === 1 ? 'hold' : undefined);
  folder.jobs(...manyJobs(2));
  const ran = await batch(['--timeout', '3s']);
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('no reply within 3 s; polling goes on')]);
});

test('a batch that is found while the run waits, and then not at once by its id, is named', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.pollsToEnd = 1000;
  server.fault = (kind) => (kind === 'create' ? 'drop' : undefined);
  folder.jobs(...manyJobs(2));
  await batch(['--no-wait'], { clock: hurriedClock() });
  server.pollsToEnd = (server.batches[0]?.polls ?? 0) + 3;
  server.fault = (kind, count) => (kind === 'poll' && count === 1 ? 'not-found' : undefined);
  const ran = await batch([], { clock: hurriedClock() });
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('msgbatch_1 is not found at the service')]);
});

test.for([
  ['poll', 'msgbatch_1 is'],
  ['results', 'the results of msgbatch_1 are'],
] as const)('jobs whose %s stays away with 404 become unknown', async ([missing, what], { open }) => {
  const { batch, folder, server } = await open('messages');
  server.fault = (kind) => (kind === missing ? 'not-found' : undefined);
  folder.jobs(...manyJobs(2));
  const ran = await batch([], { clock: hurriedClock(1_000_000) });
  expect(ran.code).toBe(13);
  expect(ran.stderr).toContain(`${what} not found at the service; polling goes on`);
  expect(ran.stderr).toContain('0 done, 2 unknown (may have been billed)');
  expect(ran.stderr).toContain('--retry unknown');
  server.fault = () => undefined;
  expect((await batch()).code).toBe(13);
  expect(server.batches).toHaveLength(1);
  expect((await batch(['--retry', 'unknown'])).code).toBe(0);
});

test('with --retry unknown a batch that is not found is given up after a minute, as the first look says', async ({
  open,
}) => {
  const { batch, folder, env, server } = await open('messages');
  server.pollsToEnd = 1000;
  folder.jobs(...manyJobs(2));
  expect((await batch(['--no-wait'])).code).toBe(0);
  server.fault = (kind) => (kind === 'poll' || kind === 'cancel' ? 'not-found' : undefined);
  const cancelled = await run(['batch', 'cancel', 'out'], { cwd: folder.cwd, env });
  const ran = await batch(['--retry', 'unknown'], { clock: hurriedClock(20_000) });
  for (const { stderr } of [cancelled, ran]) expect(stderr).toContain('with --retry unknown after 1 min');
  expect(ran).toMatchObject({ code: 13, stderr: expect.stringContaining('0 done, 2 unknown (may have been billed)') });
  expect(server.requests.filter((line) => line.startsWith('poll')).length).toBeLessThan(6);
  expect(server.batches).toHaveLength(1);
});

test('a wait ends also where a batch is not found and cannot be looked at by turns', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.fault = (kind, count) => (kind !== 'poll' ? undefined : count % 2 === 0 ? 'not-found' : 'busy');
  folder.jobs(...manyJobs(2));
  const ran = await batch(['--retries', '0'], { clock: hurriedClock(2_000_000) });
  expect([ran.code, ran.stderr]).toEqual([6, expect.stringContaining('2 jobs go on at the service')]);
  server.fault = () => undefined;
  expect((await batch()).code).toBe(0);
});

test('results that the service fails to send end the run, and the next one collects them', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.fault = (kind) => (kind === 'results' ? 'busy' : undefined);
  folder.jobs(...manyJobs(2));
  const ran = await batch(['--retries', '0'], { clock: hurriedClock(2_000_000) });
  expect([ran.code, ran.stderr]).toEqual([6, expect.stringContaining('2 jobs go on at the service')]);
  server.fault = () => undefined;
  expect((await batch()).code).toBe(0);
});

test('with --no-wait a batch that is not found fails the run, after the other batches were collected', async ({
  open,
}) => {
  const { batch, folder, server } = await open('messages');
  server.pollsToEnd = 1000;
  folder.jobs(...manyJobs(2).map((job, at) => ({ ...job, model: `m${at}` })));
  expect((await batch(['--no-wait'])).code).toBe(0);
  server.pollsToEnd = 1;
  server.fault = (kind, count) => (kind === 'poll' && count === 3 ? 'not-found' : undefined);
  const ran = await batch(['--no-wait']);
  expect([ran.code, ran.stderr]).toEqual([4, expect.stringContaining('the key with which it was submitted')]);
  expect(folder.lines('summary.json')).toMatchObject([{ done: 1, submitted: 1 }]);
  expect((await batch()).code).toBe(0);
});

test.for([
  ['poll', 'drop', 8],
  ['poll', 'garble', 9],
  ['poll', 'cut', 11],
  ['create', 'undone', 8],
] as const)(
  '%s with %s pays for no job twice: the same command can be run again',
  async ([asked, fault, code], { open }) => {
    const { batch, folder, server } = await open('messages');
    server.fault = (kind) => (kind !== asked ? undefined : fault === 'undone' ? 'drop' : fault);
    server.reshape = (kind) => (fault === 'undone' && kind === 'list' ? '{"data":[]}' : undefined);
    folder.jobs(...manyJobs(2));
    const ran = await batch(['--no-wait', '--retries', '0'], { clock: hurriedClock() });
    expect(ran.code).toBe(code);
    expect(ran.stderr).toMatch(
      / {2}to (?:go on, without a second batch|look for it later): gateway-cli batch again out\n/,
    );
  },
);

test('a run whose folder was taken over asks for no further results', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  folder.jobs(...manyJobs(4).map((job, at) => ({ ...job, model: `m${at % 2}` })));
  server.pollsToEnd = 1;
  server.reshape = (kind) => {
    const path = join(folder.cwd, 'out/lock.json');
    if (kind !== 'results') return undefined;
    writeFileSync(`${path}.new`, `${JSON.stringify({ ...ownMark(), pid: 7, namespace: '7', nonce: 'n' })}\n`);
    renameSync(`${path}.new`, path);
    return undefined;
  };
  const { code, stderr } = await batch();
  expect([code, stderr]).toEqual([14, expect.stringContaining('took this folder over')]);
  expect(server.requests.filter((request) => request.startsWith('results'))).toHaveLength(1);
});
