import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { manyJobs, test } from '../batch/with-batch.ts';

describe('unreadable lines of results.jsonl', () => {
  test('are moved to the aside file with a warning, and the other results stay', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(3));
    await batch();
    const path = join(folder.cwd, 'out/results.jsonl');
    const lines = readFileSync(path, 'utf8').split('\n');
    // As written by a redaction that took `true` for a secret.
    const damaged = lines[1]?.replace('"ok":true', '"ok":(redacted)') as string;
    writeFileSync(path, [lines[0], damaged, lines[2], '{"id":"p9","torn'].join('\n'));
    folder.jobs(...manyJobs(4));
    const { code, stderr } = await batch();
    expect(code).toBe(0);
    expect(stderr).toContain('2 lines of results.jsonl cannot be read; a run keeps them in results.aside.jsonl');
    expect(stderr).toContain('1 job is done, but has no line in results.jsonl');
    expect(folder.lines('results.jsonl').map(({ id }) => id)).toHaveLength(3);
    const aside = readFileSync(join(folder.cwd, 'out/results.aside.jsonl'), 'utf8');
    expect(aside.split('\n').toSorted()).toEqual(['', damaged, '{"id":"p9","torn'].toSorted());
    expect(server.bodies).toHaveLength(4);
    expect((await batch()).stderr).not.toContain('cannot be read');
    expect(readFileSync(join(folder.cwd, 'out/results.aside.jsonl'), 'utf8')).toBe(aside);
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

  test('are kept together with results of unknown jobs', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(1));
    await batch();
    const unknown = '{"id":"(redacted)-2","request":"00000000000000aa","ok":true,"text":"paid"}';
    appendFileSync(join(folder.cwd, 'out/results.jsonl'), `${unknown}\n`);
    const { stderr } = await batch();
    expect(stderr).toContain('1 line of results.jsonl is of no job of this batch');
    expect(readFileSync(join(folder.cwd, 'out/results.aside.jsonl'), 'utf8')).toBe(`${unknown}\n`);
    expect(folder.lines('results.jsonl')).toHaveLength(1);
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
