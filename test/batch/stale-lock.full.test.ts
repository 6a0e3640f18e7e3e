import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect } from 'vitest';
import { canFakeTime, canUnshare, offBy, unshare } from '../helpers/processes.ts';
import type { CountingServer } from './counting-server.ts';
import { type Child, childProgram } from './start-child.ts';
import { type BatchFolder, manyJobs, test } from './with-batch.ts';

const jobCount = 40;
const staleMs = 1500;
const inContainer = [...unshare];
let start: Awaited<ReturnType<typeof childProgram>>;

beforeAll(async () => {
  start = await childProgram();
});

/** A run in a container whose first four requests are out, and wait for `answer`. */
async function startHolder(folder: BatchFolder, server: CountingServer, before: readonly string[] = inContainer) {
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  server.answer = (_, count) => (server.bodies.length <= 4 && count === 1 ? { after: answered } : undefined);
  folder.jobs(...manyJobs(jobCount));
  const holder = start(folder, server, { before, argv: ['none', '1', `${staleMs}`] });
  await server.received(4);
  return { holder, answer };
}

/** Runs the same batch, again as long as another one has the folder; the last of them. */
async function runUntilFree(folder: BatchFolder, server: CountingServer): Promise<Child> {
  for (;;) {
    const child = start(folder, server, { argv: ['none', '1', `${staleMs}`] });
    if ((await child.ended) !== 14) return child;
    expect(child.stderr()).toContain('works in this folder');
  }
}

function expectPaidOnce({ counts }: CountingServer): void {
  expect([...counts].filter(([, count]) => count !== 1)).toEqual([]);
  expect(counts.size).toBe(jobCount);
}

const renewedAt = (folder: BatchFolder): number => statSync(join(folder.cwd, 'out/lock.json')).mtimeMs;

describe.skipIf(!canUnshare)('a run in another PID namespace (needs unshare and root)', () => {
  test('keeps the folder as long as it lives, and gives it up after a minute without a sign of life', async ({
    server,
    folder,
    batch,
  }) => {
    const { holder, answer } = await startHolder(folder, server);
    const second = await batch();
    expect(second.code).toBe(14);
    expect(second.stderr).toMatch(/process 1 on \S+ works in this folder/);
    expect(second.stderr).toMatch(/this command takes over after (5\d|60) s/);
    answer();
    expect(await holder.ended).toBe(0);
    expectPaidOnce(server);
    expect((await batch()).code).toBe(0);
  });

  test('that was killed is followed when its lock is stale', async ({ server, folder }) => {
    const { holder } = await startHolder(folder, server);
    holder.kill();
    await holder.ended;
    const next = await runUntilFree(folder, server);
    expect(next.stderr()).toContain('which gave no sign of life for a minute');
    expect(next.stderr()).toContain(`${jobCount - 4} done, 4 unknown (may have been billed)`);
    expectPaidOnce(server);
  });

  test('that was stopped for longer than its lock is good for sends nothing more, keeps what it paid for and ends with 14', async ({
    server,
    folder,
  }) => {
    const { holder, answer } = await startHolder(folder, server);
    holder.kill('SIGSTOP');
    const next = await runUntilFree(folder, server);
    expect(next.stderr()).toContain(`${jobCount - 4} done, 4 unknown (may have been billed)`);
    const written = ['journal.jsonl', 'results.jsonl', 'summary.json'].map((name) => join(folder.cwd, 'out', name));
    const before = written.map((path) => readFileSync(path, 'utf8'));
    answer();
    holder.kill('SIGCONT');
    expect(await holder.ended).toBe(14);
    expectPaidOnce(server);
    expect(written.map((path) => readFileSync(path, 'utf8'))).toEqual(before);
    const recovered = join(folder.cwd, 'state/gateway-cli/recovered');
    const kept = readdirSync(recovered).map((name) => readFileSync(join(recovered, name), 'utf8'));
    const answers = kept.map((text) => /answer to p\d+/.exec(text)?.[0]);
    expect(answers.toSorted()).toEqual(['p1', 'p2', 'p3', 'p4'].map((id) => `answer to ${id}`));
  });

  test.skipIf(!canFakeTime).for(['-5m', '+5m'])(
    'whose clock is off by %s keeps the folder (needs faketime)',
    async (offset, { server, folder }) => {
      const { holder, answer } = await startHolder(folder, server, [...inContainer, ...offBy(offset)]);
      const began = renewedAt(folder);
      // Longer than a lock is good for, by the file system's clock.
      for (let tries = 0; tries < 3 || renewedAt(folder) - began < 2 * staleMs; tries++) {
        const second = start(folder, server, { argv: ['none', '1', `${staleMs}`] });
        expect([await second.ended, second.stderr()]).toEqual([14, expect.stringContaining('works in this folder')]);
      }
      answer();
      expect(await holder.ended).toBe(0);
      expectPaidOnce(server);
    },
  );
});
