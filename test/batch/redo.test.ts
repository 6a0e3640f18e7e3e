import { describe, expect } from 'vitest';
import { GatewayError } from '../../src/library/errors.ts';
import type { CountingServer } from './counting-server.ts';
import { earlierAnswers, manyJobs, test } from './with-batch.ts';

const redo = ['--redo', 'p1,p2,p3,p4,p5,p6', '--concurrency', '1'];

/** Ctrl-C while the request of a prompt is answered. */
function interruptAt(prompt: string, server: CountingServer): { signal: AbortSignal } {
  const stop = new AbortController();
  server.answer = (asked) => {
    if (asked.startsWith(prompt)) stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
    return undefined;
  };
  return { signal: stop.signal };
}

describe('--redo that ended before its jobs were made again', () => {
  const next = '4 to make again: gateway-cli batch redo out p3,p4,p5,p6\n';
  const made = { p1: 2, p2: 2, p3: 2, p4: 2, p5: 2, p6: 2, p7: 1, p8: 1 };

  test('by Ctrl-C: it and status say what is left, and the same command makes that alone', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(8));
    await batch();
    const stopped = await batch(redo, interruptAt('p2', server));
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toContain(`8 done (4 to make again)\n${next}`);
    expect((await batch(['status', 'out'])).stdout).toBe(
      `8 jobs: 8 done (4 to make again)\n${earlierAnswers(2)}${next}`,
    );
    expect(await batch(redo, interruptAt('p4', server))).toMatchObject({ code: 130 });
    server.answer = () => undefined;
    expect((await batch([...redo, '--dry-run'])).stdout).toContain(`8 jobs checked, 2 to send, 6 done\n`);
    const ended = await batch(redo);
    expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining('sent again: p5 (row 5), p6 (row 6)\n')]);
    expect(Object.fromEntries(server.counts)).toEqual(made);
    expect((await batch(['status', 'out'])).stdout).toBe(`8 jobs: 8 done\n${earlierAnswers(6)}`);
    // Once all are made again, the same words mean all of them.
    expect((await batch(redo)).stderr).toContain('6 are sent again');
  });

  test('by Ctrl-C: a plain run goes on with it, too', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(8));
    await batch();
    await batch(redo, interruptAt('p2', server));
    server.answer = () => undefined;
    expect(await batch()).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('sent again: p3 (row 3), p4 (row 4), p5 (row 5), p6 (row 6)\n'),
    });
    expect(Object.fromEntries(server.counts)).toEqual(made);
  });

  test('by requests that failed or got no answer: the same command makes the former, and the latter with --retry unknown', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(6));
    await batch();
    server.counts.clear();
    server.answer = (prompt) => (prompt === 'p1' ? { status: 400 } : prompt === 'p2' ? { drop: true } : undefined);
    const failed = await batch([...redo, '--retries', '0']);
    expect(failed.code).toBe(13);
    expect(failed.stderr).toContain('1 to make again: gateway-cli batch redo out p1\n');
    expect(failed.stderr).not.toContain('batch retry out\n');
    const { stdout } = await batch(['status', 'out']);
    expect(stdout).toContain('1 unknown: gateway-cli batch retry out unknown  # may be billed twice\n');
    expect(stdout).toMatch(/\n1 to make again: gateway-cli batch redo out p1\n$/);
    server.answer = () => undefined;
    expect(await batch(redo)).toMatchObject({ code: 13 });
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 1, p3: 1, p4: 1, p5: 1, p6: 1 });
    expect((await batch(['status', 'out'])).stdout).toContain(
      '6 jobs: 5 done, 1 unknown (may have been billed, 1 with an earlier answer)\n',
    );
    expect(await batch([...redo, '--retry', 'unknown'])).toMatchObject({ code: 0 });
    expect(server.counts.get('p2')).toBe(2);
  });

  test('by a request that was refused: its row is to be made again, wherever it is, and whatever else is made again', async ({
    server,
    folder,
    batch,
  }) => {
    folder.write('rows.csv', 'city\nRome\nOslo\nBonn\n');
    await batch(['run', '--data', 'rows.csv', '-o', 'out', '{{city}}']);
    server.answer = () => ({ status: 400 });
    const told = async (id: string) => {
      const left = `1 to make again: gateway-cli batch redo out ${id}\n`;
      const again = await batch(['again', 'out']);
      expect([again.code, again.stderr]).toEqual([13, expect.stringContaining(left)]);
      expect((await batch(['status', 'out'])).stdout).toContain(left);
    };
    expect(await batch(['redo', 'out', '1'])).toMatchObject({ code: 13 });
    await told('row-000001');
    folder.write('rows.csv', 'city\nBonn\nOslo\nRome\n');
    await told('row-000003');
    server.answer = () => undefined;
    expect(await batch(['redo', 'out', '1'])).toMatchObject({ code: 13 });
    await told('row-000003');
    expect(await batch(['redo', 'out', 'row-000003'])).toMatchObject({ code: 0 });
    expect((await batch(['status', 'out'])).stdout).toBe(`3 jobs: 3 done\n${earlierAnswers(2)}`);
    expect(Object.fromEntries(server.counts)).toEqual({ Rome: 3, Oslo: 1, Bonn: 2 });
  });

  test('by a refusal, before the table is sorted: the same number is another row, which is made once a run has read it', async ({
    server,
    folder,
    batch,
  }) => {
    folder.write('rows.csv', 'city\nRome\nOslo\nBonn\n');
    await batch(['run', '--data', 'rows.csv', '-o', 'out', '{{city}}']);
    server.answer = () => ({ status: 400 });
    expect(await batch(['redo', 'out', '1'])).toMatchObject({ code: 13 });
    server.answer = () => undefined;
    folder.write('rows.csv', 'city\nBonn\nOslo\nRome\n');
    for (const word of ['1', 'row-000003', '2,3']) {
      const { code, stderr } = await batch(['redo', 'out', word]);
      const told =
        /row(?: 1| 3|-000003) is another row of rows\.csv now than in the last run(?:, where it was row-00000[13])?\n/;
      expect([code, stderr]).toEqual([2, expect.stringMatching(told)]);
      expect(stderr).toContain('gateway-cli batch retry out  # what failed is sent again\n');
    }
    expect(Object.fromEntries(server.counts)).toEqual({ Rome: 2, Oslo: 1, Bonn: 1 });
    expect(await batch(['again', 'out'])).toMatchObject({ code: 13 });
    const sorted = await batch(['redo', 'out', '1']);
    expect(Object.fromEntries(server.counts)).toEqual({ Rome: 2, Oslo: 1, Bonn: 2 });
    // The other row is still to be made again.
    const left = '1 to make again: gateway-cli batch redo out row-000003\n';
    expect([sorted.code, sorted.stderr]).toEqual([13, expect.stringContaining(left)]);
    expect(await batch(['redo', 'out', '3'])).toMatchObject({ code: 0 });
    expect(Object.fromEntries(server.counts)).toEqual({ Rome: 3, Oslo: 1, Bonn: 2 });
  });

  test('a number is the row that the last run read: one that was edited, added or has a new column is made', async ({
    server,
    folder,
    batch,
  }) => {
    folder.write('rows.csv', 'city\nRome\nOslo\n');
    await batch(['run', '--data', 'rows.csv', '-o', 'out', '{{city}}']);
    folder.write('rows.csv', 'city,note\nRome,a\nOslo,b\nBern,c\n');
    expect(await batch(['redo', 'out', '1,3'])).toMatchObject({ code: 0 });
    folder.write('rows.csv', 'city,note\nRome,a\nLima,b\nBern,c\n');
    expect(await batch(['redo', 'out', 'row-000002'])).toMatchObject({ code: 0 });
    expect(Object.fromEntries(server.counts)).toEqual({ Rome: 2, Oslo: 1, Bern: 1, Lima: 1 });
    folder.write('rows.csv', 'city,more\nLima,a\nRome,b\nBern,c\n');
    expect(await batch(['redo', 'out', '1'])).toMatchObject({ code: 2 });
    await batch(['run', '--data', 'rows.csv', '-o', 'named', '--id-column', 'city', '{{city}}']);
    folder.write('rows.csv', 'city,more\nRome,a\nLima,b\n');
    expect(await batch(['redo', 'named', '1'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('name it by its id: Lima; or, for the row that it is now: Rome\n'),
    });
    expect(await batch(['redo', 'named', 'Rome'])).toMatchObject({ code: 0 });
  });

  test('an equal row beside one that was edited, or that it was made equal to, does not make it another one', async ({
    server,
    folder,
    batch,
  }) => {
    folder.write('rows.csv', 'city\nRome\nOslo\nRome\n');
    await batch(['run', '--data', 'rows.csv', '-o', 'out', '{{city}}']);
    folder.write('rows.csv', 'city\nParis\nOslo\nRome\n');
    expect(await batch(['redo', 'out', '1'])).toMatchObject({ code: 0 });
    expect(server.counts.get('Paris')).toBe(1);
    folder.write('rows.csv', 'city\nRome\nRome\nRome\n');
    expect(await batch(['redo', 'out', '2', '--dry-run'])).toMatchObject({ code: 0 });
    folder.write('rows.csv', 'city\nOslo\nRome\nRome\n');
    expect(await batch(['redo', 'out', '2', '--dry-run'])).toMatchObject({ code: 2 });
    folder.write('rows.csv', 'city\nParis\nRome\n');
    expect(await batch(['redo', 'out', '2', '--dry-run'])).toMatchObject({ code: 2 });
  });

  test('--dry-run names the rows that it would send, and hints keep it: they pay for nothing', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(3));
    await batch(['--limit', '1']);
    const dry = await batch(['redo', 'out', 'p1,p3', '--dry-run']);
    expect(dry.stdout).toContain('sent again: p1 (row 1)\nsent for the first time: p3 (row 3)\n');
    expect(dry.stdout).toMatch(/^text with m at http:\S+: 2 jobs$/m);
    expect(dry.stdout).toContain('the first request, of p1:');
    folder.jobs({ id: 'p1', prompt: 'edited' });
    const edited = await batch(['again', 'out', '--dry-run']);
    expect([edited.code, edited.stderr]).toEqual([
      14,
      expect.stringContaining('gateway-cli batch again out --dry-run --accept-changes\n'),
    ]);
    expect(server.bodies).toHaveLength(1);
  });

  test('and had no end for some: what --retry unknown does not come to stays unknown', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(2).map((job) => ({ ...job, maxTokens: 100 })));
    await batch();
    server.answer = () => ({ drop: true });
    await batch(['redo', 'out', 'p1,p2', '--retries', '0']);
    server.answer = () => undefined;
    server.counts.clear();
    // A request can cost 1, and two of unknown cost count.
    const costs = ['--prices', '{"m":{"input":"0","output":"10000"}}', '--max-cost', '0.5'];
    expect((await batch(['retry', 'out', 'unknown', ...costs])).code).toBe(13);
    expect((await batch(['status', 'out'])).stdout).toMatch(/^2 jobs: 0 done, 2 unknown /);
    await batch(['again', 'out', '--max-cost', '100']);
    expect(server.counts.size).toBe(0);
    expect(await batch(['retry', 'out', 'unknown'])).toMatchObject({ code: 0 });
  });

  test('by a limit of the run: its exit code says so, but for --limit', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(6).map((job) => ({ ...job, maxTokens: 100 })));
    await batch();
    server.counts.clear();
    expect(await batch([...redo, '--limit', '2'])).toMatchObject({ code: 0 });
    // A request can cost 1.
    const costs = ['--prices', '{"m":{"input":"0","output":"10000"}}', '--max-cost', '0.5'];
    const spent = await batch([...redo, ...costs]);
    expect([spent.code, spent.stderr]).toEqual([13, expect.stringContaining('--max-cost <more>')]);
    expect(spent.stderr).toMatch(/batch-failed: .*: 6 done \(\d to make again\)\n/);
    expect(await batch([...redo, '--limit', '2'])).toMatchObject({ code: 0 });
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 1, p3: 1, p4: 1 });
  });
});

test('rows without an answer that --redo names are told as failed or unknown until they are made', async ({
  server,
  folder,
  batch,
}) => {
  folder.jobs(...manyJobs(3));
  server.answer = (prompt) => (prompt === 'p2' ? { status: 400 } : prompt === 'p3' ? { drop: true } : undefined);
  await batch(['--retries', '0']);
  server.answer = () => undefined;
  const was = '1 done, 1 failed, 1 unknown (may have been billed)';
  const limited = await batch(['redo', 'out', 'p2,p3', '--limit', '1']);
  expect([limited.code, limited.stderr]).toEqual([13, expect.stringContaining(`${was}; 1 is sent again\n`)]);
  const left = '1 unknown: gateway-cli batch retry out unknown  # may be billed twice\n';
  expect(limited.stderr).toContain(`2 done, 1 unknown (may have been billed)\n  ${left}`);
  expect((await batch(['status', 'out'])).stdout).toMatch(new RegExp(`^3 jobs: 2 done, 1 unknown [^]*\n${left}$`));
  const again = await batch(['retry', 'out', 'unknown']);
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('p3 (row 3) (1 may be billed twice)\n')]);
});

describe('--redo of jobs that use results of others', () => {
  const trip = [
    { id: 'outline', prompt: 'Plan' },
    { id: 'letter', prompt: 'Letter {{@outline.text}}' },
    { id: 'poem', prompt: 'Poem {{@outline.text}}' },
  ];
  const all = ['--redo', 'outline,letter,poem'];

  test('ended by Ctrl-C after the first of them: the same command makes only the others', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...trip);
    await batch();
    const stopped = await batch(all, interruptAt('Plan', server));
    expect(stopped.stderr).toContain('\n1 done, 2 not sent yet\n2 not sent yet: gateway-cli batch again out\n');
    server.answer = () => undefined;
    expect(await batch(all)).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([2, 2, 2]);
    expect((await batch(['status', 'out'])).stdout).toContain('3 jobs: 3 done\n');
  });

  test('whose first one fails: what was made of its earlier answer counts, and the same command makes all again', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...trip);
    await batch();
    server.answer = () => ({ status: 400 });
    const failed = await batch(all);
    expect([failed.code, failed.stderr]).toEqual([13, expect.stringContaining('batch-failed: 3 done')]);
    expect((await batch(['status', 'out'])).stdout).toContain(
      '\n1 to make again: gateway-cli batch redo out outline\n',
    );
    server.answer = () => undefined;
    expect(await batch(all)).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([3, 2, 2]);
    expect(await batch()).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([3, 2, 2]);
  });

  test('whose first one gets no answer: the others keep theirs, until --retry unknown', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...trip);
    await batch();
    server.counts.clear();
    server.answer = () => ({ drop: true });
    await batch([...all, '--retries', '0']);
    server.answer = () => undefined;
    const again = await batch(all);
    expect(again.code).toBe(13);
    expect(again.stderr).toContain('batch-failed: 2 done, 1 unknown ');
    expect(again.stderr).toContain('batch retry out unknown');
    expect(server.counts.size).toBe(1);
    expect(await batch([...all, '--retry', 'unknown'])).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([2, 1, 1]);
  });

  test('whose first one gets no answer: status names what gives all their earlier answers back', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...trip);
    await batch();
    server.answer = () => ({ drop: true });
    const next = 'gateway-cli batch choose out outline=1';
    const told = `1 with an earlier answer: ${next}  # free: that answer counts\n`;
    expect((await batch([...all, '--retries', '0'])).stderr).toContain(told);
    expect((await batch(['status', 'out'])).stdout).toContain(told);
    expect(await batch(next.split(' ').slice(2))).toMatchObject({ code: 0 });
    expect(await batch(['again', 'out'])).toMatchObject({ code: 0 });
    expect((await batch(['status', 'out'])).stdout).toBe('3 jobs: 3 done\n');
    expect(server.bodies).toHaveLength(4);
  });

  test('and one between them that is not named: what is named is made of the answer that stays', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(
      { id: 'outline', prompt: 'Plan' },
      { id: 'letter', prompt: 'Letter {{@outline.text}}' },
      { id: 'poem', prompt: 'Poem {{@letter.text}}' },
    );
    await batch();
    const ran = await batch(['--redo', 'outline,poem']);
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('an earlier result: letter (row 2); ')]);
    expect(await batch()).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([2, 1, 2]);
  });
});

describe('ids with commas', () => {
  test('a row that uses one of them is refused with the command that makes that before', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs({ id: 'x,y', prompt: 'Plan' }, { id: 'z', prompt: 'Write {{@x,y.text}}' });
    server.answer = () => ({ status: 400 });
    await batch();
    server.answer = () => undefined;
    const { code, stderr } = await batch(['redo', 'out', 'z']);
    expect([code, stderr]).toEqual([
      2,
      'gateway-cli: usage: z uses x,y, whose answer does not come in this run\n  make these before: gateway-cli batch redo out x,y\n',
    ]);
    await batch(['redo', 'out', 'x,y']);
    expect(await batch(['redo', 'out', 'z'])).toMatchObject({ code: 0 });
  });

  const rows = ['x,y', 'z', 'x', 'y'].map((id) => ({ id, prompt: `to ${id}` }));
  const counted = (server: CountingServer) => rows.map(({ prompt }) => server.counts.get(prompt));

  test('a printed list of ids has none with a comma; these are named alone', async ({ server, folder, batch }) => {
    folder.jobs(...rows.slice(0, 2), { id: 'v,w', prompt: 'to v,w' });
    await batch();
    server.answer = () => ({ status: 400 });
    const all = await batch(['again', 'out', '--redo', 'x,y', '--redo', 'z', '--redo', 'v,w']);
    const next = '3 to make again: gateway-cli batch redo out z  # 2 more to name after these\n';
    expect(all.stderr).toContain(next);
    expect((await batch(['status', 'out'])).stdout).toContain(next);
    server.answer = () => undefined;
    expect((await batch(['redo', 'out', 'z'])).stderr).toContain(
      '2 to make again: gateway-cli batch redo out x,y  # 1 more to name after these\n',
    );
    expect((await batch(['redo', 'out', 'x,y'])).stderr).toContain('1 to make again: gateway-cli batch redo out v,w\n');
    expect(await batch(['redo', 'out', 'v,w'])).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([3, 3, 3]);
  });

  test('a word that is an id and names other rows, too, is refused with their numbers', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...rows);
    await batch();
    const refused = await batch(['redo', 'out', 'x,y']);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining(
        '"x,y" can be read in two ways: as "x,y", or as "x", "y"\n  name the rows by their numbers: 1, or 3,4\n',
      ),
    ]);
    expect(counted(server)).toEqual([1, 1, 1, 1]);
    expect(await batch(['redo', 'out', '1,2'])).toMatchObject({ code: 0 });
    expect(counted(server)).toEqual([2, 2, 1, 1]);
    folder.jobs(...rows, { id: '7', prompt: 'to 7' });
    expect((await batch(['redo', 'out', 'x,y'])).stderr).toContain('give the rows ids without a comma');
  });

  test('a list with an id that has a comma names no row', async ({ folder, batch }) => {
    folder.jobs(...rows.slice(0, 3));
    await batch();
    expect(await batch(['redo', 'out', 'z,x,y'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('jobs.jsonl has no job "y"') as string,
    });
  });
});

test.for([[['retry', 'out', 'unknown']], [['--retry', 'unknown']]])(
  'a row that --retry unknown left with its limit, and that asks again what it asked before, was not edited: %s',
  async ([words], { server, folder, batch }) => {
    folder.jobs({ id: 'w', prompt: 'first' }, { id: 'x', prompt: 'one' }, { id: 'z', prompt: 'use {{@x.text}}' });
    server.answer = (prompt) => (prompt === 'one' ? undefined : { drop: true });
    await batch(['--retries', '0']);
    server.answer = () => ({ drop: true });
    await batch(['redo', 'out', 'x', '--retries', '0']);
    server.answer = () => undefined;
    await batch(['retry', 'out', 'unknown', '--limit', '1']);
    await batch(['choose', 'out', 'x=1']);
    expect((await batch(['status', 'out'])).stdout).toContain('1 unknown: gateway-cli batch retry out unknown');
    expect(await batch(words)).toMatchObject({ code: 0 });
    expect((await batch(['status', 'out'])).stdout).toBe('3 jobs: 3 done\n');
  },
);
