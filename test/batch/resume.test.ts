import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textReply } from '../helpers/with-server.ts';
import { manyJobs, test } from './with-batch.ts';

const counts = (server: { counts: Map<string, number> }) => Object.fromEntries([...server.counts].toSorted());

describe('the same command again', () => {
  test('sends nothing that is done', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(3));
    await batch();
    const again = await batch(['--json']);
    expect(again.code).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({ jobs: 3, done: 3, skipped: 3, usage: { totalTokens: 15 } });
    expect(again.stderr).toContain('3 done; 0 are sent now');
    expect(counts(server)).toEqual({ p1: 1, p2: 1, p3: 1 });
  });

  test('sends a job whose folder of pictures was found to be none before it was sent, without a word about a bill', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...['p1', 'p2'].map((prompt) => ({ id: prompt, command: 'image gen', prompt })));
    const images = join(folder.cwd, 'out/images');
    server.answer = (prompt) => {
      if (prompt === 'p1') renameSync(images, `${images}-elsewhere`);
      if (prompt === 'p1') writeFileSync(images, '');
      return { body: textReply('no picture') };
    };
    const first = await batch(['--concurrency', '1']);
    expect(first).toMatchObject({ code: 12 });
    expect(counts(server)).toEqual({ p1: 1 });
    const again = await batch(['status', 'out', '--json']);
    expect(JSON.parse(again.stdout)).toMatchObject({ unknown: 0 });
  });

  test('the same command again sends the jobs that were added', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(2));
    await batch();
    folder.jobs(...manyJobs(4));
    expect((await batch()).code).toBe(0);
    expect(counts(server)).toEqual({ p1: 1, p2: 1, p3: 1, p4: 1 });
    expect(folder.lines('results.jsonl')).toHaveLength(4);
  });

  test('the same command again says which jobs were removed', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(3));
    await batch();
    folder.jobs(...manyJobs(2));
    const again = await batch(['--json']);
    expect(again.stderr).toContain('1 answer that no job asks for now: gateway-cli batch export ');
    expect(JSON.parse(again.stdout)).toMatchObject({ jobs: 2, done: 2 });
  });

  test('stops where a job was edited, and --accept-changes sends just that', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(3));
    await batch();
    folder.jobs({ id: 'p1', prompt: 'p1' }, { id: 'p2', prompt: 'edited' }, { id: 'p3', prompt: 'p3' });
    const stopped = await batch();
    expect(stopped).toMatchObject({ code: 14, stdout: '' });
    expect(stopped.stderr).toContain('1 job was edited since an earlier run sent it: p2');
    expect((await batch(['--accept-changes'])).code).toBe(0);
    expect(counts(server)).toEqual({ edited: 1, p1: 1, p2: 1, p3: 1 });
    // Both answers are there, and going back is free.
    expect(
      folder
        .lines('results.jsonl')
        .map(({ prompt }) => prompt)
        .toSorted(),
    ).toEqual(['edited', 'p1', 'p2', 'p3']);
    expect((await batch()).code).toBe(0);
    folder.jobs(...manyJobs(3));
    expect((await batch()).code).toBe(0);
    expect(counts(server)).toEqual({ edited: 1, p1: 1, p2: 1, p3: 1 });
  });

  test('sees the edit of a file that a job names', async ({ folder, batch }) => {
    folder.write('p.txt', 'before');
    folder.jobs({ promptFile: 'p.txt' });
    await batch();
    folder.write('p.txt', 'after');
    expect((await batch()).code).toBe(14);
  });

  test('does not mind the order of keys or of lines', async ({ folder, batch }) => {
    folder.jobs({ id: 'a', prompt: 'x', temperature: 1 }, { id: 'b', prompt: 'y' });
    await batch();
    folder.jobs({ id: 'b', prompt: 'y' }, { temperature: 1, prompt: 'x', id: 'a' });
    expect((await batch()).code).toBe(0);
  });

  test.for([
    [
      'another gateway',
      { GATEWAY_BASE_URL: 'http://127.0.0.1:9' },
      '2 jobs were edited since an earlier run sent them: p1, p2 (in address)',
    ],
    [
      'another model',
      { GATEWAY_MODEL: 'other' },
      '2 jobs were edited since an earlier run sent them: p1, p2 (in model)',
    ],
  ] as const)('stops for %s', async ([, env, message], { folder, batch }) => {
    folder.jobs(...manyJobs(2));
    await batch();
    const { code, stderr } = await batch([], { env });
    expect(stderr).toContain(message);
    expect(code).toBe(14);
  });

  test('fills the disk with no second line of a job', async ({ server, folder, batch }) => {
    server.answer = (_, count) => (count === 1 ? { status: 400, body: { error: { message: 'no' } } } : undefined);
    folder.jobs(...manyJobs(2));
    expect((await batch()).code).toBe(13);
    expect((await batch(['--retry', 'failed'])).code).toBe(0);
    expect(folder.lines('results.jsonl').map(({ ok }) => ok)).toEqual([true, true]);
  });
});

describe('failures', () => {
  test('are reported, and code 13; they wait for --retry failed', async ({ server, folder, batch }) => {
    server.answer = (prompt, count) =>
      prompt === 'p2' && count === 1 ? { status: 400, body: { error: { message: 'bad prompt' } } } : undefined;
    folder.jobs(...manyJobs(3));
    const first = await batch(['--json']);
    expect(first.code).toBe(13);
    expect(JSON.parse(first.stdout)).toMatchObject({
      ok: false,
      exitCode: 13,
      done: 2,
      failed: 1,
      failures: [{ id: 'p2', error: { class: 'rejected' } }],
    });
    expect(first.stderr).toContain('batch-failed: 2 done, 1 failed');
    const second = await batch(['--json']);
    expect(JSON.parse(second.stdout)).toMatchObject({
      exitCode: 13,
      failed: 1,
      failures: [{ id: 'p2', error: { class: 'rejected' } }],
    });
    expect(counts(server)).toEqual({ p1: 1, p2: 1, p3: 1 });
    expect((await batch(['--retry', 'failed'])).code).toBe(0);
    expect(counts(server)).toEqual({ p1: 1, p2: 2, p3: 1 });
  });

  test('are in the results with their error', async ({ server, folder, batch }) => {
    server.answer = () => ({ body: { promptFeedback: { blockReason: 'SAFETY' } } });
    folder.jobs({ id: 'x', prompt: 'p' });
    await batch();
    expect(folder.lines('results.jsonl')).toMatchObject([
      { id: 'x', ok: false, exitCode: 10, model: 'm', error: { class: 'no-result', billed: 'yes' } },
    ]);
  });

  test('a request that got no answer is unknown, and is not sent again by --retry failed', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = (prompt, count) => (prompt === 'p1' && count === 1 ? { drop: true } : undefined);
    folder.jobs(...manyJobs(2));
    const first = await batch(['--json']);
    expect(JSON.parse(first.stdout)).toMatchObject({ done: 1, failed: 0, unknown: 1, exitCode: 13 });
    expect((await batch(['--retry', 'failed'])).code).toBe(13);
    expect(counts(server)).toEqual({ p1: 1, p2: 1 });
    expect((await batch(['--retry', 'unknown'])).code).toBe(0);
    expect(counts(server)).toEqual({ p1: 2, p2: 1 });
  });

  test('--max-failures 1 takes no further job, and the next run goes on', async ({ server, folder, batch }) => {
    server.answer = (prompt) => (prompt === 'p3' ? { status: 400, body: {} } : undefined);
    folder.jobs(...manyJobs(20));
    const { code, stderr } = await batch(['--max-failures', '1', '--concurrency', '1']);
    expect(code).toBe(13);
    expect(stderr).toContain('stopped by --max-failures 1: 2 done, 1 failed, 17 not sent yet');
    expect(server.bodies).toHaveLength(3);
    await batch();
    expect(server.bodies).toHaveLength(20);
  });
});
