import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect } from 'vitest';
import { bootMark } from '../../src/library/files/process-mark.ts';
import type { CountingServer } from './counting-server.ts';
import { childProgram } from './start-child.ts';
import { type BatchFolder, createFolder, manyJobs, test } from './with-batch.ts';
import { isFull } from '../helpers/full.ts';

const jobCount = 12;
let start: Awaited<ReturnType<typeof childProgram>>;

beforeAll(async () => {
  start = await childProgram();
});

/** What the journal says after the last run, by id. */
function states(folder: BatchFolder): Map<string, string> {
  return new Map(folder.events().map(({ id, type }) => [id, type]));
}

/** The promise: every job is done or reported as perhaps billed, and no job that is done was sent twice. */
function expectPaidOnce(server: CountingServer, folder: BatchFolder, summary: Record<string, unknown>): void {
  const ended = states(folder);
  expect(summary).toMatchObject({ jobs: jobCount, failed: 0, pending: 0 });
  const done = [...ended].filter(([, state]) => state === 'done').map(([id]) => id);
  expect(done.length).toBe(summary['done']);
  expect(done.length + (summary['unknown'] as number)).toBe(jobCount);
  for (const id of done) expect([id, server.counts.get(id)]).toEqual([id, 1]);
  for (const count of server.counts.values()) expect(count).toBe(1);
  const results = folder.lines('results.jsonl').map(({ id }) => id);
  expect(results.toSorted()).toEqual(done.toSorted());
}

const steps = [
  'taken',
  'ready-written',
  'ready-synced',
  'sent-written',
  'answered',
  'result-written',
  'result-synced',
  'ended-written',
  'ended-synced',
];

describe('kill -9 at every step of the journal', () => {
  test.for(
    steps.flatMap(
      (step) =>
        [
          [step, '1'],
          [step, '6'],
        ] as const,
    ),
  )(
    '%s, time %s: the next run pays for nothing twice',
    { timeout: 180_000 },
    async ([step, nth], { server, folder, batch }) => {
      folder.jobs(...manyJobs(jobCount));
      expect(await start(folder, server, { argv: [step, nth] }).ended).toBe('SIGKILL');
      const { stdout } = await batch(['--json']);
      const summary = JSON.parse(stdout) as Record<string, unknown>;
      expectPaidOnce(server, folder, summary);
      // Only those under way at that moment can be unknown.
      expect(summary['unknown']).toBeLessThanOrEqual(4);
      const again = await batch(['--json', '--retry', 'unknown']);
      expect(JSON.parse(again.stdout)).toMatchObject({ done: jobCount, unknown: 0, exitCode: 0 });
    },
  );
});

describe('kill -9 at random moments', () => {
  const rounds = isFull ? 50 : 8;
  test(`${rounds} times, and each time the next run goes on`, async ({ server }) => {
    for (let round = 0; round < rounds; round++) {
      const folder = createFolder();
      folder.jobs(...manyJobs(jobCount));
      server.counts.clear();
      const before = server.bodies.length;
      // The moment is given by the server: somewhere between two of its requests, or while it answers one.
      const at = 1 + (round % jobCount);
      const child = start(folder, server);
      await server.received(before + at);
      for (let i = 0; i < round % 7; i++) await new Promise((resolve) => setImmediate(resolve));
      child.kill();
      await child.ended;
      // A second process of the same kind goes on, and its word is the journal.
      const next = start(folder, server);
      await next.ended;
      const ended = [...states(folder).values()];
      const unknown = ended.filter((state) => state === 'sent').length;
      const done = ended.filter((state) => state === 'done').length;
      expectPaidOnce(server, folder, { jobs: jobCount, failed: 0, pending: 0, done, unknown });
    }
  }, 900_000);
});

test('when the time after a signal is over, jobs in flight end and may have been billed; the others count as new', async ({
  server,
  folder,
  batch,
}) => {
  server.answer = () => ({ after: new Promise(() => undefined) });
  folder.jobs(...manyJobs(jobCount));
  const child = start(folder, server);
  await server.received(4);
  child.kill('SIGTERM');
  await child.ended;
  const ended = [...states(folder).values()];
  expect(ended.filter((state) => state === 'unknown')).toHaveLength(4);
  // Without a mark of the boot there is no record that the others were ready.
  expect(new Set(ended)).toEqual(new Set(bootMark() === undefined ? ['unknown'] : ['unknown', 'unsent']));
  const summary = JSON.parse(readFileSync(join(folder.cwd, 'out/summary.json'), 'utf8')) as unknown;
  expect(summary).toMatchObject({ exitCode: 143, done: 0, failed: 0, unknown: 4, pending: jobCount - 4 });
  server.answer = () => undefined;
  expect((await batch()).stderr).toContain('8 done, 4 unknown (may have been billed)');
  expect(Math.max(...server.counts.values())).toBe(1);
});

test('a run that was killed leaves a lock that the next one takes over; a living one keeps it', async ({
  server,
  folder,
  batch,
}) => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  server.answer = () => ({ after: released });
  folder.jobs(...manyJobs(jobCount));
  const first = start(folder, server);
  await server.received(4);
  const second = await batch();
  expect(second.code).toBe(14);
  expect(second.stderr).toContain('works in this folder');
  expect(server.bodies).toHaveLength(4);
  first.kill();
  expect(await first.ended).toBe('SIGKILL');
  release();
  const third = await batch();
  expect(third.stderr).toMatch(/took over from process \d+ on .*, which is dead/);
  expect(third.stderr).toContain('8 done, 4 unknown (may have been billed)');
  expect(Math.max(...server.counts.values())).toBe(1);
});
