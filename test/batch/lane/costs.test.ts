import { expect } from 'vitest';
import { run } from '../../helpers/run.ts';
import { manyJobs } from '../with-batch.ts';
import { hurriedClock, type Lane, prices, test } from './with-lane.ts';

/** Jobs that can cost more than 0.0005 and less than 0.0006 each; live it is twice as much. */
const jobs = (count: number) => manyJobs(count).map((job) => ({ ...job, maxTokens: 100 }));

const stopped = 'stopped before a request that could pass --max-cost';

/** Three jobs whose results are unknown. */
async function loseJobs({ batch, folder, server }: Lane): Promise<void> {
  server.endingOf = () => 'missing';
  server.strangers = ['other'];
  folder.jobs(...jobs(3));
  expect((await batch()).code).toBe(13);
}

/** Rewrites the journal. */
function keep({ folder }: Lane, isKept: (record: Record<string, unknown>, at: number) => boolean): void {
  const kept = folder.lines('journal.jsonl').filter(isKept);
  folder.writeLines('out/journal.jsonl', kept);
}

test.for<[string, (lane: Lane) => Promise<void>]>([
  ['no result came', loseJobs],
  [
    'its batch was given up',
    async ({ batch, folder, server }) => {
      server.fault = (kind) => (kind === 'create' ? 'drop' : kind === 'list' ? 'not-found' : undefined);
      folder.jobs(...jobs(3));
      expect((await batch([], { clock: hurriedClock() })).code).toBe(8);
      server.fault = () => undefined;
      server.batches.length = 0;
      expect((await batch(['--retry', 'unknown', '--max-cost', '0.002'])).stderr).toContain(stopped);
    },
  ],
  [
    'its end is not in the journal',
    async (lane) => {
      await loseJobs(lane);
      keep(lane, ({ type, step }) => type !== 'unknown' && step !== 'ended');
    },
  ],
])('a job of unknown cost counts with what it can cost against --max-cost: %s', async ([, lose], { open }) => {
  const lane = await open('messages');
  const { batch, folder, server } = lane;
  await lose(lane);
  folder.jobs(...jobs(4));
  const before = server.batches.length;
  for (const _ of ['first', 'again']) {
    const ran = await batch(['--max-cost', '0.002']);
    expect([ran.code, ran.stderr]).toEqual([13, expect.stringContaining(stopped)]);
  }
  expect(server.batches).toHaveLength(before);
  await batch(['--max-cost', '0.0025']);
  expect(server.batches).toHaveLength(before + 1);
});

test('jobs that a job file does not name any more count with what they can cost', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.endingOf = () => 'missing';
  server.strangers = ['other'];
  folder.jobs(...jobs(4));
  expect((await batch(['--no-wait'])).code).toBe(0);
  folder.jobs(...jobs(4).slice(3));
  await batch();
  folder.jobs(...jobs(4).slice(3), { id: 'more', prompt: 'more', maxTokens: 100 });
  expect((await batch(['--max-cost', '0.0025'])).stderr).toContain(stopped);
  expect(server.batches).toHaveLength(1);
});

test('jobs at the service count with what they can cost against --max-cost in another lane', async ({ open }) => {
  const { batch, folder, server, env } = await open('messages');
  folder.jobs(...jobs(3));
  expect((await batch(['--no-wait'])).code).toBe(0);
  folder.jobs(...jobs(4));
  const argv = ['batch', 'jobs.jsonl', '-o', 'out', '--prices', prices, '--max-cost', '0.0025'];
  expect((await run(argv, { cwd: folder.cwd, env })).stderr).toContain(stopped);
  expect(server.requests).not.toContain('unknown /v1/messages');
});

test('jobs of a batch that was given up count twice against --max-cost: it may have been billed', async ({ open }) => {
  const lane = await open('messages');
  const { batch, folder, server } = lane;
  folder.jobs(...jobs(3));
  expect((await batch(['--no-wait'])).code).toBe(0);
  const creating = folder.lines('journal.jsonl').findIndex(({ step }) => step === 'creating');
  keep(lane, (_, at) => at <= creating);
  server.batches.length = 0;
  expect((await batch(['--retry', 'unknown', '--max-cost', '0.002'])).stderr).toContain(stopped);
  expect((await batch(['--retry', 'unknown', '--max-cost', '0.0035'])).code).toBe(0);
});
