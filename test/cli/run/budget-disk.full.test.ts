import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { isFull } from '../../helpers/full.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test } from '../../helpers/with-server.ts';

const flags = ['--budget', './disk/team.jsonl:1', '--prices', '{"m":{"input":"1","output":"10"}}'];

/** A small disk in a new folder, if this user can mount one; to be unmounted. */
function mountDisk(): { cwd: string; disk: string } | undefined {
  const cwd = scratchFolder();
  const disk = join(cwd, 'disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', disk], { stdio: 'ignore' });
    return { cwd, disk };
  } catch {
    return undefined;
  }
}

test.for([
  ['the disk is full', 'text'],
  ['the disk is full', 'batch'],
  ['the file system is read-only', 'text'],
  ['the file system is read-only', 'batch'],
] as const)('a budget is refused before anything is sent where %s: %s', async ([why, command], { cli, skip }) => {
  const mounted = mountDisk();
  if (mounted === undefined) return isFull ? expect.unreachable('no disk can be mounted') : skip();
  const { cwd, disk } = mounted;
  try {
    if (why === 'the disk is full')
      expect(() => writeFileSync(join(disk, 'full'), Buffer.alloc(100_000))).toThrow('ENOSPC');
    else execFileSync('mount', ['-o', 'remount,ro', disk]);
    writeFileSync(join(cwd, 'jobs.jsonl'), '{"prompt":"hi","maxTokens":100}\n');
    const words = command === 'text' ? ['text', 'hi', '--max-tokens', '100'] : ['batch', 'jobs.jsonl', '-o', 'out'];
    const ran = await cli([...words, ...flags], { cwd });
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([2, '', expect.stringContaining(why)]);
    expect(ran.stderr).toContain('the budget ./disk/team.jsonl cannot be kept: ');
  } finally {
    execFileSync('umount', ['-l', disk]);
  }
});
