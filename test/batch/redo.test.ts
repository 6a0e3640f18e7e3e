import { describe, expect } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import { deadPid, markOf } from '../helpers/processes.ts';
import type { CountingServer } from './counting-server.ts';
import { type BatchFolder, manyJobs, test } from './with-batch.ts';

const redo = ['--redo', 'p1,p2,p3,p4,p5,p6', '--concurrency', '1'];

/** Ctrl-C while the request of a prompt is answered. */
function interruptAt(prompt: string, server: CountingServer): { signal: AbortSignal } {
  const stop = new AbortController();
  server.answer = (asked) => {
    if (asked.startsWith(prompt)) stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
    return undefined;
  };
  return { signal: stop.signal };
}

/** The folder as if the last run was killed while the request of a job was answered, and `after` were not sent yet. */
function killAt(id: string, after: readonly string[], folder: BatchFolder): void {
  const lines = folder.lines('journal.jsonl');
  const run = lines.findLastIndex(({ type }) => type === 'run');
  const isKept = (line: Record<string, unknown>, at: number): boolean =>
    at < run || (!after.includes(String(line['id'])) && (line['id'] !== id || line['type'] !== 'done'));
  folder.writeLines('out/journal.jsonl', lines.filter(isKept));
  folder.write('out/summary.json', '{}');
}

describe('--redo that ended before its jobs were made again', () => {
  test('by Ctrl-C: it and status say what is left, and the same command makes that alone', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(8));
    await batch();
    const stopped = await batch(redo, interruptAt('p2', server));
    expect(stopped.code).toBe(130);
    const left = '4 of 6 jobs to make again are left as they were: p3, p4, p5, p6\n';
    const next = 'run the same command again, with its --redo: it makes only those again\n';
    expect(stopped.stderr).toContain(`8 done\n${left}${next}`);
    expect((await batch(['status', 'out'])).stdout).toBe(`8 jobs: 8 done\n${left}${next}`);
    expect(await batch()).toMatchObject({ code: 0 });
    expect(await batch(redo, interruptAt('p4', server))).toMatchObject({ code: 130 });
    expect((await batch(['status', 'out'])).stdout).toContain(
      '2 of 6 jobs to make again are left as they were: p5, p6',
    );
    server.answer = () => undefined;
    const made =
      '4 jobs of --redo were made again before, and are not sent again: p1, p2, p3, p4; to make them once more, name them alone\n';
    expect((await batch([...redo, '--dry-run'])).stdout).toContain(`8 jobs checked, 2 to send, 6 sent before\n`);
    const ended = await batch(redo);
    expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining(made)]);
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 2, p3: 2, p4: 2, p5: 2, p6: 2, p7: 1, p8: 1 });
    expect((await batch(['status', 'out'])).stdout).toBe('8 jobs: 8 done\n');
    // Once all are made again, the same words mean all of them.
    expect((await batch(redo)).stderr).toContain('6 are sent again');
  });

  test('by a kill: what may have been billed is sent again only with --retry-unknown', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(6));
    await batch();
    await batch(redo);
    killAt('p4', ['p5', 'p6'], folder);
    expect((await batch(['status', 'out'])).stdout).toContain(
      '3 of 6 jobs to make again are left as they were: p5, p6; maybe billed: p4\nrun the same command again, with its --redo: it makes only those again\nto send what is unknown again, too, which may bill it twice: --retry-unknown\n',
    );
    server.counts.clear();
    const again = await batch(redo);
    expect(again.code).toBe(13);
    expect(again.stderr).toContain('which may bill what is unknown twice: the same command with --retry-unknown');
    expect(again.stderr).not.toContain('results.aside.jsonl');
    expect(Object.fromEntries(server.counts)).toEqual({ p5: 1, p6: 1 });
    expect(await batch([...redo, '--retry-unknown'])).toMatchObject({ code: 0 });
    expect(Object.fromEntries(server.counts)).toEqual({ p4: 1, p5: 1, p6: 1 });
  });

  test('by requests that failed or got no answer: the same command makes the former, and the latter with --retry-unknown', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(6));
    await batch();
    server.counts.clear();
    server.answer = (prompt) => (prompt === 'p1' ? { status: 400 } : prompt === 'p2' ? { drop: true } : undefined);
    const failed = await batch([...redo, '--retries', '0']);
    expect(failed.code).toBe(13);
    expect(failed.stderr).toContain('run the same command again, with its --redo: it makes only those again\n');
    expect(failed.stderr).not.toContain('--retry-failed');
    expect((await batch(['status', 'out'])).stdout).toContain(
      '2 of 6 jobs to make again are left as they were: p1; maybe billed: p2\n',
    );
    server.answer = () => undefined;
    expect(await batch(redo)).toMatchObject({ code: 13 });
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 1, p3: 1, p4: 1, p5: 1, p6: 1 });
    expect((await batch(['status', 'out'])).stdout).toContain(
      '1 of 6 jobs to make again is left as it was: maybe billed: p2',
    );
    expect(await batch([...redo, '--retry-unknown'])).toMatchObject({ code: 0 });
    expect(server.counts.get('p2')).toBe(2);
  });

  test('by a signal or a kill after the last of them: the one says so, and after the other none is made twice', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(6));
    await batch();
    server.counts.clear();
    const stopped = await batch(redo, interruptAt('p6', server));
    expect([stopped.code, stopped.stderr]).toEqual([
      130,
      expect.stringContaining('6 of 6 jobs to make again are made\n'),
    ]);
    folder.write('out/lock.json', JSON.stringify({ ...markOf(await deadPid()), nonce: 'n' }));
    const next = await batch(redo);
    expect([next.code, next.stderr]).toEqual([0, expect.stringContaining('6 jobs of --redo were made again before')]);
    expect([...server.counts.values()]).toEqual([1, 1, 1, 1, 1, 1]);
    expect((await batch(redo)).stderr).toContain('6 are sent again');
  });

  test('by a limit of the run: its exit code says so, but for --limit', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(6));
    await batch();
    server.counts.clear();
    expect(await batch([...redo, '--limit', '2'])).toMatchObject({ code: 0 });
    const spent = await batch([...redo, '--max-tokens-total', '1']);
    expect([spent.code, spent.stderr]).toEqual([13, expect.stringContaining('a greater --max-tokens-total')]);
    expect(spent.stderr).toMatch(/batch-failed: .*: 6 done; \d of 6 jobs to make again are left as they were: /);
    expect(await batch([...redo, '--limit', '2'])).toMatchObject({ code: 0 });
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 1, p3: 1, p4: 1 });
  });

  test('and of which one left the file since: the error names those that are left', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(6));
    await batch();
    await batch([...redo, '--limit', '2']);
    folder.jobs(...manyJobs(6).toSpliced(3, 1));
    const gone = await batch(redo);
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining('to make what is left: --redo p3,p5,p6\n')]);
    expect(await batch(['--redo', 'p3,p5,p6'])).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([2, 2, 2, 1, 2, 2]);
  });

  test('and of which one was edited since: it is not said to be left', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(6));
    await batch();
    await batch([...redo, '--limit', '2']);
    folder.jobs({ id: 'p1', prompt: 'p1 now' }, ...manyJobs(6).slice(1));
    expect((await batch([...redo, '--accept-changes'])).stderr).toContain(
      '1 job of --redo was made again before, and is not sent again: p2; to make it once more, name it alone\n',
    );
    expect(server.counts.get('p1 now')).toBe(1);
  });

  test('while others were never sent: the same command without it sends those', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(2));
    await batch();
    folder.jobs(...manyJobs(4));
    const stopped = await batch(['--redo', 'p1', '--concurrency', '1'], interruptAt('p1', server));
    const next = 'run the same command again, without --redo: it continues where it stopped\n';
    expect(stopped.stderr).toContain(`2 done, 2 not sent yet\n${next}`);
    expect((await batch(['status', 'out'])).stdout).toContain(next);
  });
});

test('--redo in a shard says nothing of the jobs of other shards', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(6));
  const shard = ['--shard', '1/4'];
  expect((await batch(shard)).stderr).toMatch(/^[1-5] done\n/);
  const again = await batch([...redo, ...shard]);
  expect([again.code, again.stderr]).toEqual([0, expect.not.stringContaining('to make again')]);
  expect((await batch(['status', 'out'])).stdout).not.toContain('to make again');
});

describe('--redo of jobs that use results of others', () => {
  const trip = [
    { id: 'outline', prompt: 'Plan' },
    { id: 'letter', prompt: 'Letter {{@outline.text}}' },
    { id: 'poem', prompt: 'Poem {{@outline.text}}' },
  ];
  const all = ['--redo', 'outline,letter,poem'];

  test('ended by Ctrl-C after the first of them: the same command makes only the others', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...trip);
    await batch();
    const stopped = await batch(all, interruptAt('Plan', server));
    expect(stopped.stderr).toContain('3 done\n2 of 3 jobs to make again are left as they were: letter, poem\n');
    expect(await batch(all)).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([2, 2, 2]);
    await batch(['--redo', 'outline', '--accept-changes'], interruptAt('Plan', server));
    expect((await batch(['status', 'out'])).stdout).toContain('2 of 3 jobs to make again are left as they were');
    expect(await batch(['--redo', 'outline', '--accept-changes'])).toMatchObject({ code: 0 });
    await batch(['--redo', 'outline', '--accept-changes'], interruptAt('Plan', server));
    const stale = await batch(['--accept-changes', '--concurrency', '1'], interruptAt('Letter', server));
    expect(stale.stderr).toContain('3 done\n1 of 2 jobs to make again is left as it was: poem\n');
    server.answer = () => undefined;
    expect(await batch(['--accept-changes'])).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([4, 4, 4]);
  });

  test('killed while the first of them was in flight: what that made is not replaced', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...trip);
    await batch();
    await batch(all);
    killAt('outline', ['letter', 'poem'], folder);
    server.counts.clear();
    for (const flags of [[], ['--accept-changes'], all]) {
      const ran = await batch(flags);
      expect([ran.code, ran.stderr]).toEqual([13, expect.stringContaining('2 done, 1 unknown (may have been billed)')]);
    }
    expect(server.counts.size).toBe(0);
    const refused = await batch(['--retry-unknown']);
    expect([refused.code, refused.stderr]).toEqual([14, expect.stringContaining('--accept-changes')]);
    expect(await batch([...all, '--retry-unknown'])).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([1, 1, 1]);
  });

  test('whose first one fails: the same command makes all again', async ({ server, folder, batch }) => {
    folder.jobs(...trip);
    await batch();
    server.answer = () => ({ status: 400 });
    const failed = await batch(all);
    expect([failed.code, failed.stderr]).toEqual([13, expect.stringContaining('2 done, 1 failed\n')]);
    const left = '3 of 3 jobs to make again are left as they were: outline, letter, poem\n';
    const next = 'run the same command again, with its --redo: it makes only those again\n';
    expect(failed.stderr).toContain(left);
    expect(failed.stderr).toContain(next);
    expect((await batch(['status', 'out'])).stdout).toBe(`3 jobs: 3 done\n${left}${next}`);
    server.answer = () => undefined;
    expect(await batch(all)).toMatchObject({ code: 0 });
    expect(await batch()).toMatchObject({ code: 0 });
  });

  test('whose first one gets no answer: the others wait for it, until --retry-unknown', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...trip);
    await batch();
    server.counts.clear();
    server.answer = () => ({ drop: true });
    await batch([...all, '--retries', '0']);
    server.answer = () => undefined;
    const again = await batch(all);
    expect(again.code).toBe(13);
    expect(again.stderr).toContain('2 jobs wait for the result of outline (unknown)\n');
    expect(again.stderr).toContain('--retry-unknown');
    expect(server.counts.size).toBe(1);
    expect(await batch([...all, '--retry-unknown'])).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([2, 1, 1]);
  });

  test('and a limit that leaves what uses them: the same command sends only that', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...trip);
    await batch();
    const limited = ['--redo', 'outline', '--accept-changes', '--limit', '1'];
    await batch(limited);
    expect((await batch(['status', 'out'])).stdout).toContain(
      '2 of 3 jobs to make again are left as they were: letter, poem\n',
    );
    await batch(limited);
    await batch(limited);
    expect([...server.counts.values()]).toEqual([2, 2, 2]);
    expect((await batch(['status', 'out'])).stdout).toBe('3 jobs: 3 done\n');
  });

  test('and one between them that is left: what is named is made of its answer', async ({ server, folder, batch }) => {
    folder.jobs(
      { id: 'outline', prompt: 'Plan' },
      { id: 'letter', prompt: 'Letter {{@outline.text}}' },
      { id: 'poem', prompt: 'Poem {{@letter.text}}' },
      { id: 'new', prompt: 'New {{@letter.text}}' },
    );
    await batch(['--limit', '3']);
    const some = ['--redo', 'outline,poem', '--concurrency', '1'];
    const stopped = await batch(some, interruptAt('Plan', server));
    expect(stopped.stderr).toContain('1 of 2 jobs to make again is left as it was: poem\n');
    server.answer = () => undefined;
    const ended = await batch(some);
    expect(ended.stderr).not.toContain('to make again');
    // Nobody named it: it is not made of what may be replaced.
    expect(ended.stderr).toContain('1 job waits for the result of letter (edited: --accept-changes)\n');
    expect([...server.counts.values()]).toEqual([2, 1, 2]);
    const limited = [...some, '--limit', '1'];
    await batch(limited);
    await batch(limited);
    expect([...server.counts.values()]).toEqual([3, 1, 3]);
  });
});
