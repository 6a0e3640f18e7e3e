import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type BatchFolder, test } from './with-batch.ts';
import type { CountingServer } from './counting-server.ts';

/** More jobs than a run keeps in memory. Each test sends all of them. */
const count = 2600;
const jobs = Array.from({ length: count }, (_, i) => {
  const id = `p${String(i).padStart(5, '0')}`;
  return `${JSON.stringify({ id, prompt: id })}\n`;
});

const changes: [string, (lines: readonly string[]) => string | undefined, (path: string) => void][] = [
  [
    'lines that are there stand in it again',
    () => undefined,
    (path) => appendFileSync(path, jobs.slice(-100).join('')),
  ],
  [
    'a job that is not sent yet is edited',
    (lines) => lines.join('').replace('"prompt":"p02599"', '"prompt":"other"'),
    () => undefined,
  ],
  ['a job that is not sent yet is removed', (lines) => lines.slice(0, -1).join(''), () => undefined],
  ['it is cut to nothing', () => '', () => undefined],
  ['it contains no jobs any more', (lines) => lines.map(() => '{"id":\n').join(''), () => undefined],
];

/** Changes the job file in its place after a number of requests. */
function changeAt(
  requests: number,
  folder: BatchFolder,
  server: CountingServer,
  [, write, act]: (typeof changes)[number],
) {
  const path = join(folder.cwd, 'jobs.jsonl');
  let seen = 0;
  server.answer = () => {
    if (++seen !== requests) return undefined;
    const text = write(jobs);
    if (text !== undefined) writeFileSync(path, text);
    act(path);
    return undefined;
  };
}

describe('a job file that changes in its place while a run reads it', () => {
  const cases = changes.flatMap((change, i) => [
    [`a resumed run notices when ${change[0]}`, 100, change] as const,
    ...(i < 2 ? [[`a fresh run notices when ${change[0]}`, 0, change] as const] : []),
  ]);
  test.for(cases)(
    '%s: it ends with 14, and no job is sent twice',
    async ([, before, change], { server, folder, batch }) => {
      if (before > 0) {
        folder.jobs(...jobs.slice(0, before).map((line) => line.trim()));
        await batch();
      }
      folder.jobs(...jobs.map((line) => line.trim()));
      changeAt(1, folder, server, change);
      const changed = await batch(['--concurrency', '32']);
      expect(changed.stderr).toContain('changed during the run');
      expect(changed.code).toBe(14);
      server.answer = () => undefined;
      folder.jobs(...jobs.map((line) => line.trim()));
      expect((await batch(['--concurrency', '32'])).code).toBe(0);
      expect([...server.counts].filter(([, times]) => times !== 1)).toEqual([]);
      expect(server.counts.size).toBe(count);
      expect(readFileSync(join(folder.cwd, 'out/results.jsonl'), 'utf8').trimEnd().split('\n')).toHaveLength(count);
    },
  );

  test('a run does not mind another order of the lines that it reads later', async ({ server, folder, batch }) => {
    folder.jobs(...jobs.map((line) => line.trim()));
    changeAt(1, folder, server, ['', (lines) => lines.toReversed().join(''), () => undefined]);
    expect((await batch(['--concurrency', '32'])).code).toBe(0);
    expect(server.counts.size).toBe(count);
    expect([...server.counts].filter(([, times]) => times !== 1)).toEqual([]);
  });

  test.for([
    ['there twice', `${jobs[1]}${jobs[1]}`],
    ['not there', ''],
    ['torn', '{"id":"p0000'],
  ])(
    '--ordered keeps each result once, in the order that was checked, with a job that is %s in the changed file',
    async ([, text = ''], { server, folder, batch }) => {
      folder.jobs(...jobs.slice(0, 3).map((line) => line.trim()));
      server.answer = () => (folder.write('jobs.jsonl', `${text}${jobs[0]}`), undefined);
      expect((await batch(['--ordered'])).code).toBe(0);
      const ids = folder.lines('results.jsonl').map(({ id }) => id);
      expect(ids).toEqual(['p00000', 'p00001', 'p00002']);
    },
  );

  test('a run does not mind jobs that are added at its end: the next one sends them', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...jobs.map((line) => line.trim()));
    changeAt(1, folder, server, ['', () => undefined, (path) => appendFileSync(path, '{"id":"new","prompt":"new"}\n')]);
    expect((await batch(['--concurrency', '32'])).code).toBe(0);
    expect(server.counts.size).toBe(count);
    expect((await batch()).code).toBe(0);
    expect(server.counts.get('new')).toBe(1);
  });
});
