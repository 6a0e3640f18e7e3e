import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { manyJobs, test } from '../../batch/with-batch.ts';

describe('lines of results.jsonl that are no results of the batch', () => {
  test('stay where they are, and a torn last one is moved to the aside file: each is told once', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(3));
    await batch();
    const written = folder.read('out/results.jsonl');
    const foreign = `{"slot":"${'0'.repeat(32)}","t":"done","id":"p8","ok":true,"text":"paid"}`;
    const whole = `${written}${foreign}\nnot JSON\n`;
    folder.write('out/results.jsonl', `${whole}{"slot":"torn`);
    folder.jobs(...manyJobs(4));
    const { code, stderr } = await batch();
    expect(code).toBe(0);
    expect(stderr).toContain('2 lines of results.jsonl cannot be read as results of this batch, and are left out');
    expect(stderr).toContain('the last line of results.jsonl is torn; a run keeps it in results.aside.jsonl');
    expect(folder.read('out/results.aside.jsonl')).toBe('{"slot":"torn\n');
    const results = folder.read('out/results.jsonl');
    expect(results.slice(0, whole.length)).toBe(whole);
    expect(results.slice(whole.length)).toMatch(/^\{"slot":"\w+","t":"done","id":"p4",.*\n$/);
    const again = await batch();
    expect([again.code, again.stderr]).toEqual([0, expect.not.stringMatching(/cannot be read|torn/)]);
    expect((await batch(['export', 'out', '--format', 'csv'])).stdout.split('\n')).toHaveLength(4 + 2);
    expect(server.bodies).toHaveLength(4);
  });

  test('are reported before anything is sent', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(1));
    await batch();
    appendFileSync(join(folder.cwd, 'out/results.jsonl'), 'not JSON\n');
    folder.jobs(...manyJobs(2));
    const { stderr } = await batch(['--dry-run']);
    expect(stderr).toContain('1 line of results.jsonl cannot be read');
    expect(server.bodies).toHaveLength(1);
    expect(existsSync(join(folder.cwd, 'out/results.aside.jsonl'))).toBe(false);
  });

  test('are counted in a report on several shards', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(2));
    for (const shard of [1, 2]) {
      await batch(['jobs.jsonl', '-o', `out-${shard}`, '--shard', `${shard}/2`]);
      appendFileSync(join(folder.cwd, `out-${shard}/results.jsonl`), 'not JSON\n');
    }
    const { code, stderr } = await batch(['export', 'out-1', 'out-2', '-o', 'all.csv']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('2 lines of results.jsonl cannot be read')]);
  });
});

test('the torn last line of a journal is moved to the aside file with a warning', async ({ server, folder, batch }) => {
  folder.jobs(...manyJobs(1));
  await batch();
  appendFileSync(join(folder.cwd, 'out/journal.jsonl'), '{"type":"sent","id":"p');
  const { stderr } = await batch();
  expect(stderr).toContain('the last line of journal.jsonl is torn; a run keeps it in journal.aside.jsonl');
  expect(readFileSync(join(folder.cwd, 'out/journal.aside.jsonl'), 'utf8')).toBe('{"type":"sent","id":"p\n');
  expect(server.bodies).toHaveLength(1);
});
