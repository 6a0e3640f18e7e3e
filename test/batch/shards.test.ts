import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { imageReply } from '../helpers/with-server.ts';
import { bootMark } from '../../src/files/process-mark.ts';
import { run } from '../helpers/run.ts';
import { manyJobs, test } from './with-batch.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const shard = (index: number, total: number) => ['jobs.jsonl', '-o', `out-${index}`, '--shard', `${index}/${total}`];

describe('shards', () => {
  test('send every job once, and merge into what one machine would have made', async ({ server, folder, batch }) => {
    server.answer = (prompt) => {
      if (prompt === 'p3') return { status: 400, body: { error: { message: 'no' } } };
      return prompt === 'p5' || prompt === 'p6'
        ? { body: imageReply({ mimeType: 'image/png', data: png }) }
        : undefined;
    };
    const jobs = manyJobs(12).map((job, i) =>
      i === 4 || i === 5 ? { ...job, command: 'image gen', name: 'same' } : job,
    );
    folder.jobs(...jobs);
    for (const index of [1, 2, 3]) await batch(shard(index, 3));
    expect([...server.counts.values()]).toEqual(Array.from({ length: 12 }, () => 1));
    const merged = await batch(['merge', 'out-1', 'out-2', 'out-3', '-o', 'all']);
    expect(merged).toMatchObject({
      code: 0,
      stdout: `${join('all', 'results.jsonl')}\n`,
      stderr: '3 shards, 12 jobs: 11 done, 1 failed\n',
    });
    const results = folder.lines('results.jsonl', 'all');
    expect(results.map(({ id }) => id).toSorted()).toEqual(
      manyJobs(12)
        .map((job) => (job as { id: string }).id)
        .toSorted(),
    );
    const pictures = results.flatMap(({ images }) => images as { path: string }[]);
    expect(pictures.map(({ path }) => path).toSorted()).toEqual(['images/same-2.png', 'images/same.png']);
    for (const { path } of pictures) expect(existsSync(join(folder.cwd, 'all', path))).toBe(true);
    expect(JSON.parse(readFileSync(join(folder.cwd, 'all/summary.json'), 'utf8'))).toMatchObject({
      jobs: 12,
      done: 11,
      failed: 1,
      outdir: 'all',
      failures: [{ id: 'p3' }],
    });
    // It goes on like any other folder.
    server.answer = () => undefined;
    expect((await batch(['jobs.jsonl', '-o', 'all', '--retry-failed'])).code).toBe(0);
    expect(server.counts.get('p3')).toBe(2);
  });

  test.skipIf(bootMark() === undefined).for([
    ['may have gone out when its machine went down', 'another boot', 'unknown'],
    ['was ready again and did not go out', bootMark(), 'failed'],
  ] as const)(
    'a job that %s is in the merged folder what it was',
    async ([, boot, state], { server, folder, batch }) => {
      server.answer = () => ({ status: 400, body: {} });
      folder.jobs(...manyJobs(1));
      await batch(shard(1, 1));
      const [run, ...records] = folder.lines('journal.jsonl', 'out-1');
      const { request } = records.at(-1) as { request: string };
      const results = readFileSync(join(folder.cwd, 'out-1/results.jsonl')).length;
      const lines = [run, ...records, { ...run, boot, results }, { type: 'ready', id: 'p1', request, at: 1 }];
      folder.writeLines('out-1/journal.jsonl', lines);
      expect((await batch(['merge', 'out-1', '-o', 'all'])).stderr).toContain(`1 ${state}`);
      expect((await batch(['status', 'all'])).stdout).toContain(`1 ${state}`);
      expect((await batch(['jobs.jsonl', '-o', 'all'])).stderr).toContain(`1 ${state}`);
      expect(server.bodies).toHaveLength(1);
    },
  );

  test('an answer that the journal of its shard does not have is known after the merge', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(1));
    await batch(shard(1, 1));
    const lines = folder.lines('journal.jsonl', 'out-1').filter(({ type }) => type !== 'done');
    folder.writeLines('out-1/journal.jsonl', lines);
    await batch(['merge', 'out-1', '-o', 'all']);
    expect((await batch(['status', 'all'])).stdout).toContain('1 job: 1 done');
    expect((await batch(['jobs.jsonl', '-o', 'all'])).code).toBe(0);
    expect(server.bodies).toHaveLength(1);
  });

  test('the merge took as long as its longest shard, whatever that was asked to do again later', async ({
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(1));
    const hour = 3_600_000;
    await batch(shard(1, 1));
    const records = folder.lines('journal.jsonl', 'out-1').filter(({ type }) => type !== 'done');
    const lines = records.map((record) => ({ ...record, at: record['type'] === 'run' ? hour : 2 * hour }));
    folder.writeLines('out-1/journal.jsonl', lines);
    // The first finds an answer that is not in the journal, the second finds nothing.
    for (const _ of [1, 2]) expect((await batch(shard(1, 1))).code).toBe(0);
    await batch(['merge', 'out-1', '-o', 'all']);
    expect(folder.lines('summary.json', 'all')[0]).toMatchObject({ done: 1, durationMs: hour });
    expect(JSON.parse((await batch(['status', 'out-1', '--json'])).stdout)).toMatchObject({ durationMs: hour });
  });

  test('a shard without jobs is done, and says why there were none', async ({ folder, batch }) => {
    folder.jobs({ id: 'only', prompt: 'x' });
    const planned = await batch([...shard(1, 3), '--dry-run']);
    const ends = [];
    for (const index of [1, 2, 3]) ends.push(await batch(shard(index, 3)));
    const told = ends.map(({ code, stderr }) => [code, stderr]);
    const none = (index: number) => [0, `no job of jobs.jsonl falls into --shard ${index}/3\n0 done\n`];
    expect(told).toEqual([none(1), [0, '1 done\n'], none(3)]);
    expect(planned.stderr).toBe('no job of jobs.jsonl falls into --shard 1/3\n');
    expect((await batch(['merge', 'out-1', 'out-2', 'out-3', '-o', 'all'])).code).toBe(0);
  });

  test('--shard auto asks the engine', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(12));
    const env = { SLURM_ARRAY_TASK_MIN: '10', SLURM_ARRAY_TASK_COUNT: '2' };
    await batch(['jobs.jsonl', '-o', 'a', '--shard', 'auto'], { env: { ...env, SLURM_ARRAY_TASK_ID: '10' } });
    await batch(['jobs.jsonl', '-o', 'b', '--shard', 'auto/2'], { env: { JOB_COMPLETION_INDEX: '1' } });
    expect([...server.counts.values()]).toEqual(Array.from({ length: 12 }, () => 1));
    expect((await batch(['merge', 'a', 'b', '-o', 'all'])).code).toBe(0);
  });
});

describe('batch merge refuses', () => {
  test('a missing shard, a duplicate, another batch, an unfinished one, and a folder that is not a shard', async ({
    server,
    folder,
    batch,
  }) => {
    const merge = async (...names: string[]) => {
      const { code, stderr } = await batch(['merge', ...names, '-o', 'all']);
      expect(code).toBe(2);
      expect(existsSync(join(folder.cwd, 'all'))).toBe(false);
      return stderr;
    };
    folder.jobs(...manyJobs(10));
    for (const index of [1, 2]) await batch(shard(index, 2));
    expect(await merge('out-1')).toContain('missing: shard 2/2');
    expect(await merge('out-1', 'out-1', 'out-2')).toContain('shard 1/2 is there twice: out-1 and out-1');
    await batch(['jobs.jsonl', '-o', 'plain']);
    expect(await merge('plain')).toContain('plain was not made with --shard');
    expect(await merge('.')).toContain('. holds no batch');
    folder.jobs(...manyJobs(11));
    await batch(['jobs.jsonl', '-o', 'other-2', '--shard', '2/2']);
    expect(await merge('out-1', 'other-2')).toContain('are not shards of the same batch');
    folder.jobs(...manyJobs(10));
    server.answer = () => ({ status: 400, body: {} });
    await batch(['jobs.jsonl', '-o', 'half-2', '--shard', '2/2', '--fail-fast', '--concurrency', '1']);
    expect(await merge('out-1', 'half-2')).toContain('1 job was not sent yet');
  });

  test('a folder that is not empty', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(2));
    await batch(shard(1, 1));
    expect((await batch(['merge', 'out-1', '-o', 'out-1'])).stderr).toContain('the folder is not empty');
  });
});

describe('batch status', () => {
  test('reports the state of a batch', async ({ server, folder, batch }) => {
    server.answer = (prompt) =>
      prompt === 'p2' ? { status: 400, body: { error: { message: 'bad\u001b[31m prompt' } } } : undefined;
    folder.jobs(...manyJobs(3));
    await batch();
    const { code, stdout, stderr } = await batch(['status', 'out']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^3 jobs: 2 done, 1 failed\np2: rejected: /);
    expect(JSON.parse((await batch(['status', 'out', '--json'])).stdout)).toMatchObject({
      schema: 'gateway-cli/batch@1',
      jobs: 3,
      done: 2,
      failed: 1,
      ok: true,
      exitCode: 0,
    });
    const onTerminal = await run(['batch', 'status', 'out'], { cwd: folder.cwd, tty: { stdout: true } });
    expect(onTerminal.stdout).not.toContain('\u001b[31m');
  });

  test('while it runs, says who works on it', async ({ server, folder, batch }) => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    server.answer = () => ({ after: released });
    folder.jobs(...manyJobs(3));
    const running = batch(['--concurrency', '2']);
    await server.received(2);
    const { stdout } = await batch(['status', 'out']);
    expect(stdout).toContain('3 jobs: 0 done, 2 unknown (may have been billed), 1 not sent yet');
    expect(stdout).toContain(`process ${process.pid} on`);
    expect(stdout).not.toContain('its run ended');
    const second = await batch();
    expect(second.code).toBe(14);
    expect(second.stderr).toContain(`process ${process.pid} on`);
    release();
    expect((await running).code).toBe(0);
  });

  test('of a folder that is not a batch is code 2', async ({ folder, batch }) => {
    folder.write('one.png', 'x');
    expect((await batch(['status', 'nowhere'])).stderr).toContain('there is no folder nowhere');
    expect((await batch(['status', '.'])).stderr).toContain('. holds no batch');
    expect((await batch(['status', 'one.png'])).stderr).toContain('usage: one.png is not a folder');
  });
});
