import { execFileSync } from 'node:child_process';
import { mkdtempSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { isFull } from '../../helpers/full.ts';
import { manyJobs } from '../with-batch.ts';
import { test } from './with-lane.ts';

const disk = mkdtempSync(join(tmpdir(), 'gateway-cli-small-'));

function mount(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=300k', 'tmpfs', disk], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const canMount = mount();
if (canMount) execFileSync('umount', ['-l', disk]);

test.skipIf(!canMount && !isFull)(
  'a disk without room for the jobs of a batch is exit 12, and nothing is submitted (needs a mountable tmpfs)',
  async ({ open }) => {
    const { batch, folder, server } = await open('content');
    mount();
    try {
      folder.jobs({ id: 'p1', prompt: 'p'.repeat(1_000_000) });
      const ran = await batch(['-o', join(disk, 'out')]);
      expect([ran.code, ran.stderr]).toEqual([12, expect.stringContaining('the disk is full')]);
      expect(ran.stderr).toContain('make room, then run the same command again: it continues where it stopped');
      expect(server.requests).toEqual([]);
    } finally {
      execFileSync('umount', ['-l', disk]);
    }
  },
);

test('a job whose request is too long for a batch is named, and nothing is submitted', async ({ open }) => {
  const { batch, folder, server } = await open('content');
  const path = join(folder.cwd, 'big.png');
  writeFileSync(path, Buffer.from('89504e470d0a1a0a', 'hex'));
  truncateSync(path, 210_000_000);
  folder.jobs(...manyJobs(1).map((job) => ({ ...job, command: 'image edit', image: ['big.png'] })));
  const ran = await batch();
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('jobs.jsonl:1: its request has 280')]);
  expect(server.requests).toEqual([]);
});

test('a list is read in which a batch of another program holds long results', async ({ open }) => {
  const { batch, folder, server } = await open('content');
  const held = { inlinedResponses: { inlinedResponses: [{ response: 'x'.repeat(17_000_000) }] } };
  const other = JSON.stringify({ name: 'batches/other', done: true, response: held });
  server.reshape = (kind, text) =>
    kind === 'list' ? text.replace('"operations":[', () => `"operations":[${other},`) : undefined;
  server.fault = (kind) => (kind === 'create' ? 'drop' : undefined);
  folder.jobs(...manyJobs(1));
  expect((await batch()).code).toBe(0);
});
