import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test as plain } from 'vitest';
import { countOpenFiles, filesFor, requestsWithin } from '../../../src/cli/run/open-files.ts';
import { isFull } from '../../helpers/full.ts';
import { shell } from '../../helpers/spawn.ts';
import { imageReply } from '../../helpers/with-server.ts';
import { environmentFor, manyJobs, test } from '../../batch/with-batch.ts';

const isLinux = existsSync('/proc/self/limits');

plain('so many jobs run at once as their files fit under the limit, and one at least', () => {
  for (const [most, now] of [
    [256, 20],
    [1024, 300],
    [65_536, 24],
  ] as const) {
    const jobs = requestsWithin({ most, now });
    expect(filesFor(jobs, { most, now })).toBeLessThanOrEqual(most);
    expect(filesFor(jobs + 1, { most, now })).toBeGreaterThan(most);
  }
  expect(requestsWithin({ most: 16, now: 20 })).toBe(1);
});

plain.skipIf(!isLinux)('the system tells how many files are open', async () => {
  const files = await countOpenFiles();
  expect(files?.now).toBeGreaterThan(3);
  expect(files?.most).toBeGreaterThan(files?.now ?? 0);
});

const picture = { mimeType: 'image/png', data: Buffer.from('89504e470d0a1a0a', 'hex').toString('base64') };

const fewFiles: [jobs: string, limit: number, flags: string][] = [
  ['texts', 256, ''],
  ['pictures', 128, `--defaults '{"command":"image gen"}'`],
  ['texts with hardly a file left', 64, ''],
];

test.skipIf(!isLinux).for(fewFiles)(
  'with few open files fewer jobs run at once than asked for: %s under ulimit -n %d',
  async ([, limit, flags], { server, folder }) => {
    const count = isFull ? 400 : 210;
    folder.jobs(...manyJobs(count));
    server.answer = () => ({
      after: new Promise((resolve) => setImmediate(resolve)),
      ...(flags !== '' && { body: imageReply(picture) }),
    });
    const env = { ...environmentFor(server), XDG_STATE_HOME: join(folder.cwd, 'state') };
    const script = `ulimit -n ${limit}; exec "$BIN" batch jobs.jsonl -o out --concurrency 200 ${flags}`;
    const { code, stderr } = await shell(script, { cwd: folder.cwd, env });
    expect(stderr).toMatch(
      new RegExp(`the limit of ${limit} open files allows --concurrency \\d+, not 200; to raise it: ulimit -n \\d+\n`),
    );
    expect([code, stderr]).toEqual([0, expect.stringContaining(`${count} done\n`)]);
    expect(server.most).toBeLessThan(limit / 4);
    expect([...server.counts].filter(([, times]) => times !== 1)).toEqual([]);
    expect(folder.lines('results.jsonl')).toHaveLength(count);
  },
);

test.skipIf(!isLinux)(
  'with few open files image gen sends fewer at once than asked for, and no picture that is paid for is lost',
  async ({ server, folder }) => {
    server.answer = () => ({ after: new Promise((resolve) => setImmediate(resolve)), body: imageReply(picture) });
    const env = { ...environmentFor(server), XDG_STATE_HOME: join(folder.cwd, 'state') };
    const script = 'ulimit -n 64; exec "$BIN" image gen cat --count 40 --concurrency 40 -o pictures/';
    const { code, stderr } = await shell(script, { cwd: folder.cwd, env });
    expect([code, stderr]).toEqual([0, expect.stringContaining('the limit of 64 open files allows --concurrency ')]);
    expect(readdirSync(join(folder.cwd, 'pictures'))).toHaveLength(40);
  },
);

test.skipIf(!isLinux)(
  'with enough descriptors as many jobs run at once as requested, without a note',
  async ({ server, folder }) => {
    folder.jobs(...manyJobs(60));
    server.answer = () => ({ after: server.received(60) });
    const script = 'ulimit -n 512; exec "$BIN" batch jobs.jsonl -o out --concurrency 60';
    const { code, stderr } = await shell(script, { cwd: folder.cwd, env: environmentFor(server) });
    expect([code, stderr]).toEqual([0, '60 done\n']);
    expect(server.most).toBe(60);
  },
);
