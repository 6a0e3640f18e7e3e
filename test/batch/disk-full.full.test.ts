import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, vi } from 'vitest';
import { imageReply } from '../helpers/with-server.ts';
import { manyJobs, test } from './with-batch.ts';
import { isFull } from '../helpers/full.ts';

const disk = mkdtempSync(join(tmpdir(), 'gateway-cli-small-'));
const state = mkdtempSync(join(tmpdir(), 'gateway-cli-state-'));
const canMount = mount('100k');
const isAway = !canMount && !isFull;
if (canMount) unmount();

function mount(size: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function unmount(): void {
  execFileSync('umount', ['-l', disk], { stdio: 'ignore' });
}

/** A PNG's head, followed by a number of bytes. */
function picture(bytes: number): { mimeType: string; data: string } {
  const head = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ', 'base64');
  return { mimeType: 'image/png', data: Buffer.concat([head, Buffer.alloc(bytes)]).toString('base64') };
}

const summary = (): Record<string, unknown> =>
  JSON.parse(readFileSync(join(disk, 'b/summary.json'), 'utf8')) as Record<string, unknown>;

describe.skipIf(isAway)('the disk of a batch is full (needs a mountable tmpfs)', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    unmount();
    rmSync(state, { recursive: true, force: true });
  });

  test('a disk without any room is told before anything is sent, and no other folder is advised: it would pay for everything again', async ({
    server,
    folder,
    batch,
  }) => {
    mount('100k');
    mkdirSync(join(disk, 'b'));
    expect(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(1 << 20))).toThrow('ENOSPC');
    folder.jobs(...manyJobs(2));
    const { code, stderr } = await batch(['run', 'jobs.jsonl', '-o', join(disk, 'b')]);
    expect({ code, stderr }).toMatchObject({ code: 12, stderr: expect.stringContaining('the disk is full') as string });
    expect(stderr).toContain('make room, then run the same command again');
    expect(stderr).not.toContain('another folder');
    expect(server.bodies).toEqual([]);
  });

  test('a page that finds no room is advised elsewhere', async ({ folder, batch }) => {
    mount('100k');
    folder.jobs(...manyJobs(2));
    expect(await batch(['run', 'jobs.jsonl', '-o', join(disk, 'b')])).toMatchObject({ code: 0 });
    expect(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(1 << 20))).toThrow('ENOSPC');
    const { code, stderr } = await batch(['gallery', join(disk, 'b')]);
    expect([code, stderr]).toEqual([12, expect.stringContaining('write the page elsewhere: -o all.html')]);
    expect(stderr).not.toContain('make room');
  });

  test.for(['100k', '300k'])(
    'on %s pictures that found no room are not done, and each is kept in a file that is named',
    async (size, { server, folder, batch }) => {
      mount(size);
      vi.stubEnv('XDG_STATE_HOME', state);
      server.answer = () => ({ body: imageReply(picture(180_000)) });
      folder.write('w.txt', 'a cat\na dog\na lighthouse\n');
      const defaults = '{"command":"image gen"}';
      const { code, stderr } = await batch([
        'run',
        '--prompts',
        'w.txt',
        '--defaults',
        defaults,
        '-o',
        join(disk, 'b'),
      ]);
      expect(code).toBe(12);
      const written = readdirSync(join(disk, 'b/images')).length;
      const { done, unknown, pending, exitCode } = summary();
      expect(exitCode).toBe(12);
      expect(done as number).toBeLessThanOrEqual(written);
      expect([unknown, pending]).toEqual([server.bodies.length - (done as number), 3 - server.bodies.length]);
      const named = [...stderr.matchAll(/gateway-cli recover (\S+\.json)/g)].map(([, path]) => path as string);
      expect(named).toHaveLength(server.bodies.length - written);
      for (const path of named) expect(existsSync(path)).toBe(true);
      // A script that reads the summary does not see what the terminal showed.
      const failures = summary()['failures'] as { error: { hint?: string; billed: string } }[];
      const kept = failures.filter(({ error }) => error.hint?.includes('gateway-cli recover '));
      expect(kept.map(({ error }) => / recover (\S+\.json)/.exec(error.hint ?? '')?.[1]).toSorted()).toEqual(
        named.toSorted(),
      );
      expect(kept.map(({ error }) => error.billed)).toEqual(named.map(() => 'yes'));
    },
  );

  test('a journal that grows no more ends the batch; what was paid for is kept, and the next run goes on', async ({
    server,
    folder,
    batch,
  }) => {
    mount('40k');
    vi.stubEnv('XDG_STATE_HOME', state);
    folder.jobs(...manyJobs(400));
    const argv = ['jobs.jsonl', '-o', join(disk, 'b'), '--concurrency', '2'];
    const { code, stderr } = await batch(argv);
    expect(code).toBe(12);
    expect(stderr).toMatch(/cannot write \S+\.jsonl: the disk is full/);
    const sent = server.bodies.length;
    expect(sent).toBeLessThan(400);
    execFileSync('mount', ['-o', 'remount,size=4m', disk]);
    const again = await batch(argv);
    expect(again.code).toBe(0);
    expect([...server.counts.values()]).toEqual(Array.from({ length: 400 }, () => 1));
    expect(summary()).toMatchObject({ done: 400, failed: 0, unknown: 0, pending: 0 });
    const results = readFileSync(join(disk, 'b/results.jsonl'), 'utf8').trimEnd().split('\n');
    expect(new Set(results.map((line) => (JSON.parse(line) as { id: string }).id)).size).toBe(400);
    expect(results).toHaveLength(400);
  });

  test('pictures that were written, and whose results were not, are not paid for again', async ({
    server,
    folder,
    batch,
  }) => {
    mount('40k');
    vi.stubEnv('XDG_STATE_HOME', state);
    server.answer = () => ({ body: imageReply(picture(20)) });
    folder.jobs(...manyJobs(400).map((job) => ({ ...job, command: 'image gen' })));
    const argv = ['jobs.jsonl', '-o', join(disk, 'b'), '--concurrency', '2'];
    expect((await batch(argv)).code).toBe(12);
    execFileSync('mount', ['-o', 'remount,size=8m', disk]);
    await batch(argv);
    await batch([...argv, '--retry', 'failed']);
    expect([...server.counts.values()].filter((count) => count > 1)).toEqual([]);
    expect(summary()).toMatchObject({ failed: 0, pending: 0 });
    const { done, unknown } = summary() as { done: number; unknown: number };
    expect([done + unknown, readdirSync(join(disk, 'b/images')).length]).toEqual([400, done]);
  });

  test('results that cannot be written are code 12, and nothing more is sent', async ({ server, folder, batch }) => {
    mount('40k');
    vi.stubEnv('XDG_STATE_HOME', state);
    const results = join(folder.cwd, 'out/results.jsonl');
    mkdirSync(join(folder.cwd, 'out'));
    // Only this file of the folder lies on the full disk.
    for (const path of [results, join(disk, 'results')]) writeFileSync(path, '');
    expect(() => writeFileSync(join(disk, 'rest'), Buffer.alloc(100_000))).toThrow('ENOSPC');
    execFileSync('mount', ['--bind', join(disk, 'results'), results]);
    try {
      folder.jobs(...manyJobs(50));
      const { code, stderr } = await batch(['--concurrency', '2']);
      expect(stderr).toContain('results.jsonl: the disk is full');
      expect(code).toBe(12);
      expect(server.bodies.length).toBeLessThan(10);
    } finally {
      execFileSync('umount', [results]);
    }
  });
});
