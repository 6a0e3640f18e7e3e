import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, vi } from 'vitest';
import { createMemoryStore } from '../../../src/images/store.ts';
import { type SavedBatch, writeRecovery } from '../../../src/recovery/recovery-file.ts';
import { type BatchFolder, manyJobs, test } from '../with-batch.ts';

afterEach(() => vi.unstubAllEnvs());

type Line = Record<string, unknown>;

/** Leaves the folder as a run leaves it that got the reply to p2 and could not write its result, but a recovery file. */
async function loseResult(
  folder: BatchFolder,
  saved: { job?: string; batch?: Partial<SavedBatch>; image?: true },
): Promise<string> {
  vi.stubEnv('XDG_STATE_HOME', join(folder.cwd, 'state'));
  const isOwn = ({ id, type }: Line): boolean => id !== 'p2' || type === 'ready' || type === 'sent';
  const result = folder.lines('results.jsonl').find(({ id }) => id === 'p2') as Line;
  for (const name of ['journal.jsonl', 'results.jsonl']) {
    const kept = folder.lines(name).filter((line) => (name === 'results.jsonl' ? line['id'] !== 'p2' : isOwn(line)));
    folder.write(`out/${name}`, kept.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }
  const { id, request, ...document } = result as { id: string; request: string };
  const store = createMemoryStore();
  const blob = await store.resolve(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64'));
  const images = saved.image ? [{ declaredType: 'image/png', candidate: 0, blob }] : [];
  return writeRecovery(
    {
      savedAt: new Date().toISOString(),
      command: 'text',
      printsText: true,
      document,
      images,
      job: saved.job ?? id,
      batch: { folder: join(folder.cwd, 'out'), request, isResult: !saved.image, ...saved.batch },
    },
    {
      folders: [join(folder.cwd, 'state/gateway-cli/recovered')],
      id: `gateway-cli-${new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}-0123abcd`,
    },
  );
}

test('a result that an earlier run could keep in a recovery file alone is added, and not paid for again', async ({
  server,
  folder,
  batch,
}) => {
  folder.jobs(...manyJobs(3));
  await batch();
  const before = folder.lines('results.jsonl');
  const path = await loseResult(folder, {});
  const { code, stderr } = await batch();
  expect([code, server.bodies.length]).toEqual([0, 3]);
  expect(stderr).toContain('1 kept result of an earlier run added to results.jsonl');
  const byId = (lines: Line[]): Line[] => lines.toSorted((a, b) => String(a['id']).localeCompare(String(b['id'])));
  expect(byId(folder.lines('results.jsonl'))).toEqual(byId(before));
  expect(folder.lines('summary.json')).toMatchObject([{ done: 3, unknown: 0 }]);
  expect(existsSync(path)).toBe(false);
  const again = await batch();
  expect([again.code, folder.lines('results.jsonl').length]).toEqual([0, 3]);
});

test.for([
  ['of another folder', { batch: { folder: '/' } }],
  ['of another request', { batch: { request: '0123456789abcdef' } }],
  ['of another job', { job: 'p4' }],
] as const)('a kept reply %s is not taken', async ([, saved], { server, folder, batch }) => {
  folder.jobs(...manyJobs(3));
  await batch();
  const path = await loseResult(folder, saved);
  const { code, stderr } = await batch();
  expect([code, server.bodies.length, existsSync(path)]).toEqual([13, 3, true]);
  expect(stderr).toContain('p2: no-reply: its run ended before an answer was written down');
});

test.for([
  ['with a picture', { image: true }],
  ['of a bug', { batch: { isResult: false } }],
] as const)(
  'a kept reply %s stays where it is, and the failure of its job names it',
  async ([, saved], { server, folder, batch }) => {
    folder.jobs(...manyJobs(3));
    await batch();
    const path = await loseResult(folder, saved);
    expect([(await batch()).code, server.bodies.length, existsSync(path)]).toEqual([13, 3, true]);
    const hint = expect.stringContaining(`gateway-cli recover ${path}`);
    const failures = [{ id: 'p2', error: { class: 'not-written', billed: 'yes', hint } }];
    expect(folder.lines('summary.json')).toMatchObject([{ unknown: 1, failures }]);
  },
);
