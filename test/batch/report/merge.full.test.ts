import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { bin } from '../../helpers/spawn.ts';
import { manyJobs, test } from '../with-batch.ts';

test('merge fills a mount point', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(4));
  for (const index of [1, 2]) await batch(['jobs.jsonl', '-o', `out-${index}`, '--shard', `${index}/2`]);
  mkdirSync(join(folder.cwd, 'all'));
  const script = 'mount -t tmpfs tmpfs all && node "$0" batch "$@" >&2 && ls all && ls -a . | grep -c part';
  const argv = ['-m', 'sh', '-c', script, bin, 'merge', 'out-1', 'out-2', '-o', 'all'];
  let printed = '';
  try {
    printed = execFileSync('unshare', argv, { cwd: folder.cwd, encoding: 'utf8' });
  } catch (error) {
    // The last grep finds no part, and says so by its exit code.
    printed = (error as { stdout: string }).stdout;
  }
  expect(printed.split('\n')).toEqual(['images', 'journal.jsonl', 'results.jsonl', 'summary.json', '0', '']);
});
