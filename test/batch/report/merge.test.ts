import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { openMergeTarget } from '../../../src/batch/report/merge.ts';
import type { Context } from '../../../src/cli/context.ts';
import { imageReply } from '../../helpers/with-server.ts';
import { type BatchFolder, manyJobs, test } from '../with-batch.ts';

const context = { signal: new AbortController().signal } as Context;
const part = `.gateway-cli-${'0a'.repeat(12)}.part`;

/** Everything built that a merge has, one picture with it. */
async function built(folder: BatchFolder, path = join(folder.cwd, 'all')) {
  const target = await openMergeTarget({ path, exists: existsSync(path) }, context);
  const building = await target.begin();
  for (const name of ['results.jsonl', 'journal.jsonl', 'summary.json', 'images/ours.png'])
    writeFileSync(join(building, name), 'ours');
  return target;
}

describe('the target of a merge', () => {
  test.for(['journal.jsonl', 'results.jsonl', 'summary.json', 'images/theirs.png'])(
    'keeps %s, which others put there meanwhile, and nothing of the merge',
    async (name, { folder }) => {
      mkdirSync(join(folder.cwd, 'all'));
      const target = await built(folder);
      if (name.startsWith('images')) mkdirSync(join(folder.cwd, 'all/images'));
      folder.write(`all/${name}`, 'theirs');
      await expect(target.publish()).rejects.toMatchObject({ class: 'usage' });
      await target.close();
      expect(readFileSync(join(folder.cwd, 'all', name), 'utf8')).toBe('theirs');
      expect(folder.ls('all')).toEqual([name.split('/')[0]]);
    },
  );

  test('keeps a file of another name beside the merge', async ({ folder }) => {
    const target = await built(folder);
    folder.write('all/notes.txt', 'theirs');
    await target.publish();
    await target.close();
    expect(folder.ls('all')).toEqual(['images', 'journal.jsonl', 'notes.txt', 'results.jsonl', 'summary.json']);
  });

  test('is removed if it was made for a merge that failed, unless others use it', async ({ folder }) => {
    const target = await built(folder);
    await target.close();
    expect(existsSync(join(folder.cwd, 'all'))).toBe(false);
    const second = await built(folder);
    folder.write('all/notes.txt', 'theirs');
    await second.close();
    expect(folder.ls('all')).toEqual(['notes.txt']);
  });
});

describe('batch merge', () => {
  async function runShards(folder: BatchFolder, batch: (argv: string[]) => Promise<unknown>): Promise<string[]> {
    folder.jobs(...manyJobs(4));
    for (const index of [1, 2]) await batch(['jobs.jsonl', '-o', `out-${index}`, '--shard', `${index}/2`]);
    return ['merge', 'out-1', 'out-2', '-o'];
  }

  test('fills an empty folder, which keeps its mode', async ({ folder, batch }) => {
    const merge = await runShards(folder, batch);
    mkdirSync(join(folder.cwd, 'real'), { mode: 0o750 });
    symlinkSync('real', join(folder.cwd, 'all'));
    const before = statSync(join(folder.cwd, 'real'));
    expect((await batch([...merge, 'all'])).code).toBe(0);
    const after = statSync(join(folder.cwd, 'real'));
    expect([after.ino, after.mode]).toEqual([before.ino, before.mode]);
    expect(folder.lines('results.jsonl', 'all')).toHaveLength(4);
  });

  test('clears what a killed merge left in its folder', async ({ folder, batch }) => {
    const merge = await runShards(folder, batch);
    mkdirSync(join(folder.cwd, 'all', part, 'images'), { recursive: true });
    expect((await batch([...merge, 'all'])).code).toBe(0);
    expect(folder.ls('all')).toEqual(['images', 'journal.jsonl', 'results.jsonl', 'summary.json']);
    expect(folder.ls('.')).toEqual(['all', 'jobs.jsonl', 'out-1', 'out-2']);
  });

  test('gives hundreds of pictures of one name a number each, without trying every taken one', async ({
    server,
    folder,
    batch,
  }) => {
    const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data }) });
    folder.jobs(...manyJobs(60).map((job) => ({ ...job, command: 'image gen', name: 'same' })));
    for (const index of [1, 2]) await batch(['jobs.jsonl', '-o', `out-${index}`, '--shard', `${index}/2`]);
    expect((await batch(['merge', 'out-1', 'out-2', '-o', 'all'])).code).toBe(0);
    expect(folder.ls('all/images')).toHaveLength(60);
    const paths = folder.lines('results.jsonl', 'all').map(({ images }) => (images as { path: string }[])[0]?.path);
    expect(new Set(paths).size).toBe(60);
  });
});
