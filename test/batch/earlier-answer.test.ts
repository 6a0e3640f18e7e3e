import { describe, expect } from 'vitest';
import { manyJobs, test } from './with-batch.ts';

describe('the answer of a job that is sent again and gets none', () => {
  test('stays its result, also in another run, and stderr says so', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(3));
    expect((await batch()).code).toBe(0);
    const before = folder.read('out/results.jsonl');
    server.answer = () => ({ status: 400, body: { error: { message: 'no' } } });
    const redone = await batch(['--redo', 'p1']);
    expect(redone).toMatchObject({ code: 13 });
    expect(redone.stderr).toContain('the earlier answer of p1 stays the result, as no other came');
    expect(folder.read('out/results.jsonl')).toBe(before);
    expect(folder.lines('results.aside.jsonl')).toMatchObject([{ id: 'p1', ok: false }]);
    expect((await batch(['status', 'out'])).stdout).toContain('3 jobs: 3 done');
    expect((await batch(['export', 'out'])).stdout).toContain('answer to p1');
    expect(await batch()).toMatchObject({ code: 0 });
    server.answer = () => undefined;
    expect(await batch(['--redo', 'p1'])).toMatchObject({ code: 0 });
    expect(server.counts.get('p1')).toBe(3);
    expect(folder.lines('results.jsonl')).toHaveLength(3);
  });

  test('stays where its job was edited, which goes again with --accept-changes', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(2));
    await batch();
    const before = folder.read('out/results.jsonl');
    folder.jobs({ id: 'p1', prompt: 'q1' }, { id: 'p2', prompt: 'p2' });
    server.answer = () => ({ status: 400, body: { error: { message: 'no' } } });
    expect(await batch(['--accept-changes'])).toMatchObject({ code: 13 });
    expect(folder.read('out/results.jsonl')).toBe(before);
    expect((await batch(['export', 'out'])).stdout).toContain('answer to p1');
    expect(await batch()).toMatchObject({ code: 14 });
    server.answer = () => undefined;
    expect(await batch(['--accept-changes'])).toMatchObject({ code: 0 });
    expect((await batch(['export', 'out'])).stdout).toContain('answer to q1');
  });

  test('stays while it is unknown what became of the newer request, however that ends', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(2));
    await batch();
    const before = folder.read('out/results.jsonl');
    server.answer = () => ({ drop: true });
    expect(await batch(['--redo', 'p1', '--retries', '0'])).toMatchObject({ code: 13 });
    const ends = folder.read('out/journal.jsonl').trimEnd().split('\n');
    folder.write('out/journal.jsonl', `${ends.slice(0, -1).join('\n')}\n`);
    expect((await batch(['status', 'out'])).stdout).toContain('1 unknown');
    expect(await batch(['--retry-unknown', '--retries', '0'])).toMatchObject({ code: 13 });
    expect(folder.read('out/results.jsonl')).toBe(before);
    expect((await batch(['status', 'out'])).stdout).toContain('2 jobs: 2 done');
  });

  test('is still what other jobs used, which are not sent again for it', async ({ server, folder, batch }) => {
    folder.jobs({ id: 'a', prompt: 'a' }, { id: 'b', prompt: 'b {{@a.text}}' });
    await batch();
    server.answer = () => ({ status: 400, body: { error: { message: 'no' } } });
    expect(await batch(['--redo', 'a', '--accept-changes'])).toMatchObject({ code: 13 });
    expect(await batch()).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(3);
  });
});
