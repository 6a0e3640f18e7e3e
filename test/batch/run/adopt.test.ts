import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, vi } from 'vitest';
import { readFolder } from '../../../src/batch/folder/folder.ts';
import { adoptReplies } from '../../../src/batch/folder/adopt.ts';
import { recovery } from '../../../src/cli/commands/batch/host.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import { createMemoryStore } from '../../../src/library/images/store.ts';
import { type SavedBatch, writeRecovery } from '../../../src/library/recovery/recovery-file.ts';
import { type BatchFolder, manyJobs, test } from '../with-batch.ts';
import { hostOf } from './with-runner.ts';

afterEach(() => vi.unstubAllEnvs());

type Line = Record<string, unknown>;

/** Leaves the folder as a run leaves it that was sent p2 and has no end of it; its result. */
function loseEnd(folder: BatchFolder): Line {
  vi.stubEnv('XDG_STATE_HOME', join(folder.cwd, 'state'));
  const result = folder.lines('results.jsonl').find(({ id }) => id === 'p2');
  folder.loseEnds('p2');
  return result as Line;
}

/** Writes the recovery file of a run that could not write a result. */
async function keep(
  folder: BatchFolder,
  result: Line,
  saved: {
    job?: string;
    batch?: Partial<SavedBatch>;
    image?: true;
    suffix?: string;
    savedAt?: string;
    document?: Line | null;
  } = {},
): Promise<string> {
  const { id, slot, t: _, ...document } = result as { id: string; slot: string; t: string };
  const store = createMemoryStore();
  const blob = await store.resolve(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64'));
  const savedAt = new Date().toISOString();
  return writeRecovery(
    {
      savedAt: saved.savedAt ?? savedAt,
      command: 'text',
      printsText: true,
      document: saved.document === undefined ? document : saved.document,
      images: saved.image ? [{ declaredType: 'image/png', candidate: 0, blob }] : [],
      job: saved.job ?? id,
      batch: { folder: join(folder.cwd, 'out'), request: `${slot}@1`, isResult: !saved.image, ...saved.batch },
    },
    {
      folders: [join(folder.cwd, 'state/gateway-cli/recovered')],
      id: `gateway-cli-${savedAt.slice(0, 19).replaceAll(/[-:]/g, '')}-${saved.suffix ?? '0123abcd'}`,
    },
  );
}

test('a result that an earlier run could only save in a recovery file is added, and not paid for again', async ({
  server,
  folder,
  batch,
}) => {
  folder.jobs(...manyJobs(3));
  await batch();
  const before = folder.lines('results.jsonl');
  const path = await keep(folder, loseEnd(folder));
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

test('a kept result is added before an answer is chosen: a row that is settled waits for none', async ({
  folder,
  batch,
}) => {
  folder.jobs(...manyJobs(3));
  await batch();
  const path = await keep(folder, loseEnd(folder));
  const { stdout, stderr } = await batch(['choose', 'out', '2=1']);
  expect([stdout, existsSync(path)]).toEqual(['p2: answer 1 of 1 counts already\n', false]);
  expect(stderr).toContain('1 kept result of an earlier run added to results.jsonl');
  expect((await batch(['status', 'out'])).stdout).toBe('3 jobs: 3 done\n');
});

test.for([
  ['of another folder', { batch: { folder: '/' } }],
  ['of another request', { batch: { request: '0123456789abcdef' } }],
  ['to what was sent before', { savedAt: '2020-01-01T00:00:00.000Z' }],
] as const)('a kept reply %s is not taken', async ([, saved], { server, folder, batch }) => {
  folder.jobs(...manyJobs(3));
  await batch();
  const path = await keep(folder, loseEnd(folder), saved);
  const { code, stderr } = await batch();
  expect([code, server.bodies.length, existsSync(path)]).toEqual([13, 3, true]);
  expect(stderr).toContain('p2: no-reply: its run ended before an answer was written down');
});

test.for([
  ['with a picture', { image: true }],
  ['of a bug', { batch: { isResult: false } }],
  ['that has nothing in it', { document: {} }],
  ['that is no object', { document: null }],
] as const)(
  'a kept reply %s stays where it is, and the failure of its job names it',
  async ([, saved], { server, folder, batch }) => {
    folder.jobs(...manyJobs(3));
    await batch();
    const path = await keep(folder, loseEnd(folder), saved);
    const { code, stderr } = await batch();
    expect([code, server.bodies.length, existsSync(path)]).toEqual([13, 3, true]);
    expect(stderr).toContain('batch-failed: 2 done, 1 unknown (1 paid and kept)\n');
    const hint = expect.stringContaining(`gateway-cli recover ${path}`);
    const failures = [{ id: 'p2', error: { class: 'not-written', billed: 'yes', hint } }];
    expect(folder.lines('summary.json')).toMatchObject([{ unknown: 1, failures }]);
  },
);

test('a job that failed because a file could not be written is none of the unknown ones whose replies are kept', async ({
  folder,
  batch,
}) => {
  folder.jobs(...manyJobs(3));
  await batch();
  loseEnd(folder);
  const error = { class: 'not-written', message: 'a file cannot be read or written', billed: 'yes' };
  const ends = folder.lines('journal.jsonl');
  const { slot } = folder.lines('jobs.jsonl')[1] as { slot: string };
  folder.writeLines(
    'out/journal.jsonl',
    ends.map((end) => (end['slot'] === slot && end['t'] === 'done' ? { ...end, t: 'failed', error } : end)),
  );
  expect((await batch()).stderr).toContain('batch-failed: 1 done, 1 failed, 1 unknown (may have been billed)\n');
});

test('of two kept replies of a job the newer one is its result', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(3));
  await batch();
  const result = loseEnd(folder);
  await keep(folder, { ...result, text: 'older' }, { suffix: '00000001' });
  await keep(folder, { ...result, text: 'newer' }, { suffix: '00000002' });
  expect((await batch()).code).toBe(0);
  expect(folder.lines('results.jsonl').filter(({ id }) => id === 'p2')).toMatchObject([{ text: 'newer' }]);
});

test('a kept reply is taken where the results became shorter since its run', async ({ server, folder, batch }) => {
  folder.jobs(...manyJobs(3));
  const refused = { status: 400, body: { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'x'.repeat(900) } } };
  server.answer = (prompt) => (prompt === 'p1' ? refused : undefined);
  await batch();
  const result = loseEnd(folder);
  server.answer = () => undefined;
  await batch(['--retry', 'failed']);
  await keep(folder, result);
  expect((await batch()).code).toBe(0);
  expect(folder.lines('results.jsonl')).toHaveLength(3);
  expect(server.bodies).toHaveLength(4);
});

test('a torn line is reported beside a kept reply', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(3));
  await batch();
  const result = loseEnd(folder);
  folder.write('out/results.jsonl', `${folder.read('out/results.jsonl')}{"id":"p2","te`);
  await keep(folder, result);
  const { code, stderr } = await batch();
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('the last line of results.jsonl is torn; a run keeps it in results.aside.jsonl'),
  ]);
});

test('a reply that is taken a run later counts once', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(3));
  const prices = ['--prices', '{"m":{"input":"1","output":"1"}}'];
  await batch(prices);
  const [{ cost } = {}] = folder.lines('summary.json');
  const result = loseEnd(folder);
  await batch(prices);
  expect(folder.lines('summary.json')).toMatchObject([{ unknown: 1, costUnknown: 1 }]);
  await keep(folder, result);
  for (let count = 0; count < 2; count++) {
    expect((await batch(prices)).code).toBe(0);
    const [summary] = folder.lines('summary.json');
    expect([summary?.['cost'], summary?.['costUnknown']]).toEqual([cost, 0]);
  }
});

test('a run that has lost its folder takes no reply', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(3));
  await batch();
  const path = await keep(folder, loseEnd(folder));
  const { state, ...ends } = await readFolder(join(folder.cwd, 'out'));
  const lost = new GatewayError('batch-locked', 'another run took this folder over');
  const lock = {
    confirm: () => {
      throw lost;
    },
  };
  await expect(
    adoptReplies(join(folder.cwd, 'out'), state, { ends, lock, host: hostOf(new AbortController().signal), recovery }),
  ).rejects.toBe(lost);
  expect([folder.lines('results.jsonl').length, existsSync(path)]).toEqual([2, true]);
});
