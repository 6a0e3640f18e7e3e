import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { imageReply, textReply } from '../helpers/with-server.ts';
import { bootMark } from '../../src/library/files/process-mark.ts';
import { run } from '../helpers/run.ts';
import { manyJobs, test } from './with-batch.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const shard = (index: number, total: number) => ['jobs.jsonl', '-o', `out-${index}`, '--shard', `${index}/${total}`];

describe('shards', () => {
  test('send every job once, and are reported together as one machine would have it', async ({
    server,
    folder,
    batch,
  }) => {
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
    const names = ['out-1', 'out-2', 'out-3'];
    for (const index of [1, 2, 3]) await batch(shard(index, 3));
    expect([...server.counts.values()]).toEqual(Array.from({ length: 12 }, () => 1));
    const status = await batch(['status', ...names]);
    expect(status.stdout).toMatch(/^12 jobs: 11 done, 1 failed\nout-1: \d+ done/);
    expect(status.stdout).toContain('p3: rejected: ');
    const document = JSON.parse((await batch(['status', ...names, '--json'])).stdout) as {
      folders: { jobs: number }[];
    };
    expect(document).toMatchObject({ jobs: 12, done: 11, failed: 1, failures: [{ id: 'p3' }], ok: true, exitCode: 0 });
    expect(document).not.toHaveProperty('outdir');
    expect(document.folders.map((one) => one.jobs).reduce((sum, count) => sum + count, 0)).toBe(12);
    const { stdout } = await batch(['export', ...names, '--format', 'jsonl']);
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; images: string[] });
    // In the order of the job file, whatever shard a job is in.
    expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 12 }, (_, i) => `p${i + 1}`));
    for (const { id, images } of rows.filter((row) => row.images.length > 0)) {
      expect(['p5', 'p6']).toContain(id);
      for (const path of images)
        expect([path.startsWith('out-'), existsSync(join(folder.cwd, path))]).toEqual([true, true]);
    }
    expect((await batch(['gallery', ...names, '-o', 'all.html'])).stdout).toBe('all.html\n');
    const page = folder.read('all.html');
    const shown = [...page.matchAll(/<img[^>]* src="([^"]+)"/g)].map((found) => found[1] ?? '');
    expect(shown).toHaveLength(2);
    for (const path of shown) expect(existsSync(join(folder.cwd, path))).toBe(true);
  });

  test('redo says which shard has a row that it is not to make', async ({ server, folder, batch }) => {
    // The address of the server parts them, too.
    folder.jobs(...manyJobs(40));
    for (const index of [1, 2]) await batch(shard(index, 2));
    const ownOf = (index: number): string[] =>
      folder
        .lines('jobs.jsonl', `out-${index}`)
        .slice(1)
        .flatMap(({ id, other }) => (other === undefined ? [String(id)] : []));
    const [[own = ''], [other = '']] = [ownOf(1), ownOf(2)];
    const next = `in the folder of 2/2: gateway-cli batch redo <outdir> --shard 2/2 ${other}\n`;
    const refused = await batch(['redo', 'out-1', `${other},${other.slice(1)}`]);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining(`shard 1/2 does not have ${other} of 2/2\n  ${next}`),
    ]);
    expect(server.bodies).toHaveLength(40);
    const both = await batch(['redo', 'out-1', `${own},${other}`]);
    expect([both.code, both.stderr]).toEqual([
      0,
      expect.stringContaining(`shard 1/2 does not have ${other} of 2/2; ${next}`),
    ]);
    expect(await batch(next.replace('<outdir>', 'out-2').trim().split(' ').slice(7))).toMatchObject({ code: 0 });
    expect(server.counts.get(own)).toBe(2);
    expect(server.counts.get(other)).toBe(2);
    await batch(['jobs.jsonl', '-o', 'all']);
    const here = await batch(['redo', 'all', other, '--shard', '1/2']);
    expect(here.stderr).toContain(`gateway-cli batch redo all --shard 2/2 ${other}\n`);
  });

  test('jobs that no shard has sent are in the report of all, in their place', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(30));
    for (const index of [1, 2]) await batch([...shard(index, 2), '--limit', '2']);
    const all = ['export', 'out-1', 'out-2', '--format', 'jsonl'];
    const { stdout } = await batch(all);
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; state: string });
    expect(rows.map(({ id }) => id)).toEqual(manyJobs(30).map((job) => (job as { id: string }).id));
    expect(rows.filter(({ state }) => state === 'pending')).toHaveLength(26);
    expect((await batch(['status', 'out-1', 'out-2'])).stdout).toContain('30 jobs: 4 done, 26 not sent yet');
  });

  test.skipIf(bootMark() === undefined).for([
    ['may have gone out when its machine went down', 'another boot', 'unknown'],
    ['was ready again and did not go out', bootMark(), 'failed'],
  ] as const)(
    'a job that %s is in the status of its shard what it was',
    async ([, boot, state], { server, folder, batch }) => {
      server.answer = () => ({ status: 400, body: {} });
      folder.jobs(...manyJobs(1));
      await batch(shard(1, 1));
      const [run, ...records] = folder.lines('journal.jsonl', 'out-1');
      const { slot } = records.at(-1) as { slot: string };
      const { results: _, ...begun } = run as Record<string, unknown>;
      const lines = [run, ...records, { ...begun, boot }, { t: 'ready', slots: [slot], at: 1 }];
      folder.writeLines('out-1/journal.jsonl', lines);
      expect((await batch(['status', 'out-1'])).stdout).toContain(`1 ${state}`);
      expect((await batch(shard(1, 1))).stderr).toContain(`1 ${state}`);
      expect(server.bodies).toHaveLength(1);
    },
  );

  test('a shard took as long as its run, whatever it was asked to do again later', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(1));
    const hour = 3_600_000;
    await batch(shard(1, 1));
    const records = folder.lines('journal.jsonl', 'out-1').filter(({ t }) => t !== 'done');
    const lines = records.map((record) => ({ ...record, at: record['t'] === 'run' ? hour : 2 * hour }));
    folder.writeLines('out-1/journal.jsonl', lines);
    // The first finds an answer that is not in the journal, the second finds nothing.
    for (const _ of [1, 2]) expect((await batch(shard(1, 1))).code).toBe(0);
    expect(JSON.parse((await batch(['status', 'out-1', '--json'])).stdout)).toMatchObject({
      done: 1,
      durationMs: hour,
    });
  });

  test('a job that failed was not edited when what it uses is made again', async ({ server, folder, batch }) => {
    server.answer = (prompt) =>
      prompt.startsWith('cut')
        ? {
            body: textReply('', {
              candidates: [{ content: { parts: [{ text: 'half' }] }, finishReason: 'MAX_TOKENS' }],
            }),
          }
        : { status: 400, body: {} };
    // Jobs that hang together are in one shard, whichever of them has a key of another one.
    folder.jobs(
      ...Array.from({ length: 8 }, (_, at) => [
        { id: `p${at}`, prompt: `cut ${at}` },
        { id: `c${at}`, prompt: `{{@p${at}.text}} ${at}` },
      ]).flat(),
    );
    expect((await batch(shard(1, 2))).code).toBe(13);
    const again = await batch(['retry', 'out-1', 'incomplete,failed']);
    expect([again.code, again.stderr]).toEqual([13, expect.not.stringContaining('edited')]);
  });

  test('batch choose says which shard has a row that is not in its own', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(6));
    for (const index of [1, 2]) await batch(shard(index, 2));
    const chosen = [];
    for (const { id } of manyJobs(6) as { id: string }[])
      for (const name of ['out-1', 'out-2']) chosen.push(await batch(['choose', name, `${id}=1`]));
    const refused = chosen.filter(({ code }) => code === 2);
    expect([chosen.length, refused.length]).toEqual([12, 6]);
    for (const { stderr } of refused)
      expect(stderr).toMatch(
        /row (p\d) is of shard (?:1\/2, and out-2 of shard 2|2\/2, and out-1 of shard 1)\/2\n {2}name the folder of that shard: gateway-cli batch choose <outdir> \1=1\n/,
      );
  });

  test('a shard without jobs is done, and says why there were none', async ({ folder, batch }) => {
    folder.jobs({ id: 'only', prompt: 'x' });
    const planned = await batch([...shard(1, 3), '--dry-run']);
    const ends = [];
    for (const index of [1, 2, 3]) ends.push(await batch(shard(index, 3)));
    const told = ends.map(({ code, stderr }) => [code, stderr]);
    const none = (index: number) => [0, `no job of jobs.jsonl falls into --shard ${index}/3\n0 done\n`];
    const owner = told.findIndex(([, stderr]) => stderr === '1 done\n');
    expect(told).toEqual([1, 2, 3].map((index, at) => (at === owner ? [0, '1 done\n'] : none(index))));
    expect(planned.stderr).toBe(owner === 0 ? '' : 'no job of jobs.jsonl falls into --shard 1/3\n');
    const { code, stdout } = await batch(['status', 'out-1', 'out-2', 'out-3']);
    expect([code, stdout.split('\n')[0]]).toEqual([0, '1 job: 1 done']);
  });

  test('--shard auto asks the engine', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(12));
    const env = { SLURM_ARRAY_TASK_MIN: '10', SLURM_ARRAY_TASK_COUNT: '2' };
    await batch(['jobs.jsonl', '-o', 'a', '--shard', 'auto'], { env: { ...env, SLURM_ARRAY_TASK_ID: '10' } });
    await batch(['jobs.jsonl', '-o', 'b', '--shard', 'auto/2'], { env: { JOB_COMPLETION_INDEX: '1' } });
    expect([...server.counts.values()]).toEqual(Array.from({ length: 12 }, () => 1));
    expect((await batch(['status', 'a', 'b'])).stdout).toContain('12 jobs: 12 done');
  });
});

describe('reports on several folders', () => {
  test('folders are joined as they are: another table is told, and what is no batch is refused', async ({
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(10));
    for (const index of [1, 2]) await batch(shard(index, 2));
    folder.jobs(...manyJobs(11));
    await batch(['jobs.jsonl', '-o', 'other']);
    const told = 'other has another table than out-1, whose rows are reported';
    for (const report of [['status'], ['export'], ['gallery', '-o', 'all.html']]) {
      expect((await batch([...report, 'out-1', 'other'])).stderr).toContain(told);
      expect(await batch([...report, 'out-1', '.'])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('. holds no batch'),
      });
    }
    expect((await batch(['status', 'out-1', 'out-2'])).stdout).toContain('10 jobs: 10 done\n');
  });

  test('a folder that has another table gives no row a foreign answer', async ({ folder, batch }) => {
    const jobs = manyJobs(10);
    folder.jobs(...jobs);
    for (const index of [1, 2]) await batch(shard(index, 2));
    // The first shard reads the table that moved; the second one has not been run since.
    folder.jobs(...jobs.toReversed());
    await batch(shard(1, 2));
    const { stdout } = await batch(['export', 'out-1', 'out-2', '--format', 'jsonl']);
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; prompt: string; state: string });
    const expected = Array.from({ length: 10 }, (_, i) => ({ id: `p${10 - i}`, prompt: `p${10 - i}`, state: 'done' }));
    expect(rows).toMatchObject(expected);
    expect((await batch(['status', 'out-1', 'out-2'])).stdout).toContain('10 jobs: 10 done\n');
  });

  test.for([
    ['one', []],
    ['other numbers of', ['--shard', '1/1']],
  ] as const)(
    'rows of other shards are asked for where %s shards take their place',
    async ([, flags], { server, folder, batch }) => {
      folder.jobs(...manyJobs(40));
      for (const index of [1, 2]) await batch(shard(index, 2));
      const whole = ['jobs.jsonl', '-o', 'out-1', ...flags];
      const asked = await batch(whole);
      expect([asked.code, asked.stderr]).toEqual([
        14,
        expect.stringMatching(/\d+ jobs were in another shard until now, and may be paid there: /),
      ]);
      expect(server.bodies).toHaveLength(40);
      expect(await batch([...whole, '--accept-changes'])).toMatchObject({ code: 0 });
      expect(server.bodies.length).toBeGreaterThan(40);
      expect(await batch(whole)).toMatchObject({ code: 0 });
    },
  );

  test('a row that a link takes to another shard is not done by its answer in the one before', async ({
    folder,
    batch,
  }) => {
    const names = ['out-1', 'out-2'];
    const jobs = manyJobs(40);
    folder.jobs(...jobs);
    for (const index of [1, 2]) await batch(shard(index, 2));
    const used = names.map((name) => folder.lines('jobs.jsonl', name).find(({ id, other }) => id && !other)?.['id']);
    folder.jobs(...jobs, { id: 'both', prompt: used.map((id) => `{{@${id}.text}}`).join() });
    // The table is read, and nothing is sent.
    await batch(['retry', 'out-1']);
    expect((await batch(['status', ...names])).stdout).toMatch(/^41 jobs: 39 done, 2 not sent yet/);
    await batch(['retry', 'out-2']);
    for (const order of [names, names.toReversed()]) {
      const told = /^41 jobs: 39 done, 2 not sent yet \(1 edited, 1 waits for results of other jobs\)\n/;
      expect((await batch(['status', ...order])).stdout).toMatch(told);
      const { stdout } = await batch(['export', ...order, '--format', 'jsonl']);
      expect(stdout.match(/"state":"pending"/g)).toHaveLength(2);
    }
  });

  test('answers of folders that were copied of one are reported once', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(6));
    await batch(['jobs.jsonl', '-o', 'out']);
    await batch(['redo', 'out', 'p1']);
    for (const index of [1, 2]) {
      cpSync(join(folder.cwd, 'out'), join(folder.cwd, `out-${index}`), { recursive: true });
      await batch(shard(index, 2));
    }
    const { stdout } = await batch(['export', 'out-1', 'out-2', '--all', '--format', 'jsonl']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(7);
    expect(JSON.parse((await batch(['status', 'out-1', 'out-2', '--json'])).stdout)).toMatchObject({ earlier: 1 });
    expect((await batch(['status', 'out-1', 'out-2'])).stdout).not.toContain('no job asks for');
  });

  test('a shard that is not among the folders is told', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(10));
    for (const index of [1, 3]) await batch(shard(index, 3));
    const { code, stderr } = await batch(['status', 'out-1', 'out-3']);
    expect([code, stderr]).toEqual([0, 'gateway-cli: warning: not among the folders: shard 2/3\n']);
  });
});

test('batch status of shards has the next command of each of them', async ({ server, folder, batch }) => {
  folder.jobs(...manyJobs(12));
  await batch(shard(1, 2));
  await batch([...shard(2, 2), '--limit', '1']);
  // An answer is refused when it is made again: what the last run of its shard says is not all.
  const [{ id = '' } = {}] = folder.lines('results.jsonl', 'out-2') as { id?: string }[];
  server.answer = () => ({ status: 400, body: { error: { message: 'no' } } });
  await batch(['redo', 'out-2', id, '--limit', '1']);
  const { stdout } = await batch(['status', 'out-1', 'out-2']);
  expect(stdout).toMatch(/^12 jobs: \d+ done \(1 to make again\), \d+ not sent yet\n/);
  expect(stdout).toContain(`1 to make again: gateway-cli batch redo out-2 ${id}\n`);
  expect(stdout).toMatch(/\d+ not sent yet: gateway-cli batch again out-2\n/);
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
    expect((await batch(['status', 'one.png'])).stderr).toContain('usage: there is no folder one.png');
  });
});
