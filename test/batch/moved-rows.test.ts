import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type BatchFolder, test } from './with-batch.ts';

const template = 'Greet {{name}}';
const argv = ['run', '--data', 'rows.csv', '--template', 'prompt.md', '-o', 'out', '--concurrency', '2'];

function writeRows(folder: BatchFolder, names: readonly string[]): void {
  folder.write('prompt.md', template);
  folder.write('rows.csv', `id,name\n${names.map((name) => `${name}-key,"${name}"\n`).join('')}`);
}

const manyNames = Array.from({ length: 50 }, (_, i) => `n${i + 1}`);

describe('rows without a column for their ids', () => {
  test('without their first row are known by what was sent: told as moved, and not paid again', async ({
    server,
    folder,
    batch,
  }) => {
    writeRows(folder, manyNames);
    expect(await batch(argv)).toMatchObject({ code: 0 });
    writeRows(folder, manyNames.slice(1));

    const planned = await batch([...argv, '--dry-run']);
    expect(planned).toMatchObject({ code: 0 });
    expect(planned.stdout).toContain('49 jobs checked, 0 to send, 49 sent before\n');
    expect(planned.stdout).toContain('49 jobs moved in rows.csv');

    const moved = await batch(argv);
    expect(moved.code).toBe(0);
    expect(moved.stderr).toContain(
      '49 jobs moved in rows.csv, known by what was sent: not paid for again; to name them by its column "id": --id-column id\n',
    );
    expect(moved.stderr).toContain(
      '1 job of the journal is no longer in rows.csv: reports leave it out, but for --all\n',
    );
    expect(server.bodies).toHaveLength(50);

    const status = await batch(['status', 'out']);
    expect(status.stdout).toContain('49 jobs: 49 done, 1 removed from the file since\n');
    expect(JSON.parse((await batch(['status', 'out', '--json'])).stdout)).toMatchObject({ jobs: 49, removed: 1 });
    const table = (await batch(['export', 'out'])).stdout.trimEnd().split('\r\n');
    expect(table).toHaveLength(50);
    expect(table[1]).toContain('n2');
    expect((await batch(['export', 'out', '--all'])).stdout.trimEnd().split('\r\n')).toHaveLength(51);
    const named = (await batch(['export', 'out', '--data', 'rows.csv'])).stdout.trimEnd().split('\r\n');
    expect(named).toEqual(table);

    // It is told once.
    expect((await batch(argv)).stderr).not.toContain('jobs moved');
    expect(server.bodies).toHaveLength(50);
  });

  test('that were sorted, and edited since, are edited jobs, not new ones: nobody is asked for a new one', async ({
    server,
    folder,
    batch,
  }) => {
    writeRows(folder, ['a', 'b', 'c']);
    await batch(argv);
    writeRows(folder, ['c', 'a', 'b']);
    await batch(argv);
    for (const [names, edited] of [
      [['c', 'A', 'b'], 'row-000001'],
      [['C', 'a', 'b'], 'row-000003'],
      [['c', 'A', 'B'], 'row-000001, row-000002'],
      [['z', 'c', 'A', 'b'], 'row-000001'],
    ] as const) {
      writeRows(folder, names);
      const asked = await batch(argv);
      expect([asked.code, asked.stderr]).toEqual([
        14,
        expect.stringMatching(new RegExp(`edited since an earlier run sent (?:it|them): ${edited}(?: \\(|\\n)`)),
      ]);
    }
    expect(server.bodies).toHaveLength(3);
  });

  test('that varied by another value alone have not left the table: they are edited jobs', async ({
    server,
    folder,
    batch,
  }) => {
    const vary = (values: string): string[] => [...argv, '--vary', `model=${values}`];
    writeRows(folder, ['a', 'b']);
    await batch(vary('m1,m2'));
    writeRows(folder, ['a', 'B']);
    expect(await batch([...vary('m2'), '--accept-changes'])).toMatchObject({ code: 0 });
    const asked = await batch(vary('m1,m2'));
    expect([asked.code, asked.stderr]).toEqual([14, expect.stringContaining('sent it: row-000002+model=m1')]);
    expect(await batch([...vary('m1,m2'), '--accept-changes'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(6);
    expect((await batch(['export', 'out'])).stdout.trimEnd().split('\r\n')).toHaveLength(3);
  });

  test('a row in front is a new job, and an edited row is told by its id', async ({ server, folder, batch }) => {
    writeRows(folder, ['a', 'b', 'c']);
    await batch(argv);
    writeRows(folder, ['z', 'a', 'b', 'c']);
    expect(await batch(argv)).toMatchObject({ code: 0 });
    expect(server.counts).toEqual(new Map(['a', 'b', 'c', 'z'].map((name) => [`Greet ${name}`, 1])));
    const table = (await batch(['export', 'out'])).stdout;
    expect(table.match(/^row-\d+/gm)).toEqual(['row-000005', 'row-000001', 'row-000002', 'row-000003']);

    writeRows(folder, ['z', 'a', 'other', 'c']);
    const edited = await batch(argv);
    expect(edited.code).toBe(14);
    expect(edited.stderr).toContain('1 job was edited since an earlier run sent it: row-000002\n');
    expect(await batch([...argv, '--accept-changes'])).toMatchObject({ code: 0 });
    expect(server.counts.get('Greet other')).toBe(1);
    expect(server.bodies).toHaveLength(5);
  });

  test('the same row several times stays as many jobs, whichever of them goes', async ({ server, folder, batch }) => {
    writeRows(folder, ['a', 'twin', 'b', 'twin', 'twin']);
    await batch(argv);
    expect(server.counts.get('Greet twin')).toBe(3);
    writeRows(folder, ['twin', 'b', 'twin', 'twin']);
    expect(await batch(argv)).toMatchObject({ code: 0 });
    writeRows(folder, ['b', 'twin']);
    expect(await batch(argv)).toMatchObject({ code: 0 });
    expect((await batch(['export', 'out'])).stdout.trimEnd().split('\r\n')).toHaveLength(3);
    // One of those that went, and one that was never there.
    writeRows(folder, ['b', 'twin', 'twin', 'twin', 'twin']);
    expect(await batch(argv)).toMatchObject({ code: 0 });
    expect(server.counts.get('Greet twin')).toBe(4);
    expect(server.bodies).toHaveLength(6);
  });

  test('reports have the order of the table after it was sorted, and sorted back', async ({
    server,
    folder,
    batch,
  }) => {
    writeRows(folder, ['a', 'b', 'c']);
    await batch(argv);
    const order = async (): Promise<(string | undefined)[]> =>
      (await batch(['export', 'out'])).stdout.match(/(?<=^.*),[abc],/gm)?.map((cell) => cell[1]) ?? [];
    writeRows(folder, ['c', 'b', 'a']);
    expect((await batch(argv)).stderr).toContain('2 jobs moved in rows.csv');
    expect(await order()).toEqual(['c', 'b', 'a']);
    // A cell that nothing uses becomes longer: no row moved.
    folder.write('rows.csv', folder.read('rows.csv').replace('c-key', '"c\nkey"'));
    expect((await batch(argv)).stderr).not.toContain('jobs moved');
    writeRows(folder, ['a', 'b', 'c']);
    expect((await batch(argv)).stderr).toContain('2 jobs moved in rows.csv');
    expect(await order()).toEqual(['a', 'b', 'c']);
    expect(server.bodies).toHaveLength(3);
  });

  test('a row that comes back has its result again', async ({ server, folder, batch }) => {
    writeRows(folder, ['a', 'b']);
    await batch(argv);
    writeRows(folder, ['b']);
    await batch(argv);
    writeRows(folder, ['b', 'a']);
    expect(await batch(argv)).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(2);
    expect((await batch(['status', 'out'])).stdout).toContain('2 jobs: 2 done\n');
    expect((await batch(['export', 'out'])).stdout.match(/^row-\d+/gm)).toEqual(['row-000002', 'row-000001']);
  });

  test('rows that moved while a run had only sent some of them are each sent once', async ({
    server,
    folder,
    batch,
  }) => {
    writeRows(folder, manyNames);
    await batch([...argv, '--limit', '20']);
    writeRows(folder, ['new', ...manyNames.toReversed()]);
    expect(await batch([...argv, '--limit', '10'])).toMatchObject({ code: 0 });
    expect(await batch(argv)).toMatchObject({ code: 0 });
    expect([...server.counts.values()].every((count) => count === 1)).toBe(true);
    expect(server.bodies).toHaveLength(51);
    expect((await batch(['status', 'out'])).stdout).toContain('51 jobs: 51 done\n');
  });

  test.for([['--prompts'], ['jobs']])('the lines of %s are known so too', async ([kind], { server, folder, batch }) => {
    const write = (names: readonly string[]): void =>
      kind === 'jobs'
        ? folder.jobs(...names.map((prompt) => ({ prompt })))
        : folder.write('prompts.txt', names.map((name) => `${name}\n`).join(''));
    const words =
      kind === 'jobs' ? ['run', 'jobs.jsonl', '-o', 'out'] : ['run', '--prompts', 'prompts.txt', '-o', 'out'];
    write(['a', 'b', 'c']);
    await batch(words);
    write(['b', 'c', 'd']);
    const moved = await batch(words);
    expect(moved.code).toBe(0);
    expect(moved.stderr).toContain('2 jobs moved in ');
    expect(moved.stderr).toContain('to name them: {"id":"…"} in each line of a job file');
    expect(server.bodies).toHaveLength(4);
  });

  test('a shard refuses rows that moved: another one may have sent them', async ({ server, folder, batch }) => {
    writeRows(folder, manyNames);
    for (const n of [1, 2]) await batch([...argv.slice(0, -3), `out-${n}`, '--shard', `${n}/2`]);
    expect(server.bodies).toHaveLength(50);
    writeRows(folder, manyNames.slice(1));
    for (const n of [1, 2]) {
      const moved = await batch([...argv.slice(0, -3), `out-${n}`, '--shard', `${n}/2`, '--accept-changes']);
      expect(moved.code).toBe(14);
      expect(moved.stderr).toContain(
        'jobs of rows.csv moved or got other ids since an earlier run: another shard may have sent them\n',
      );
      expect(moved.stderr).toContain(
        '  put them back in their order, with their ids; or new folders, with --id-column',
      );
    }
    writeRows(folder, [...manyNames, 'last']);
    for (const n of [1, 2]) await batch([...argv.slice(0, -3), `out-${n}`, '--shard', `${n}/2`]);
    expect(server.bodies).toHaveLength(51);
  });
});

describe('a folder that is given an id column', () => {
  test('knows its rows by their ids from then on, and pays none again', async ({ server, folder, batch }) => {
    writeRows(folder, ['a', 'b', 'c', 'd']);
    await batch(argv);
    writeRows(folder, ['c', 'b', 'e']);
    const named = [...argv, '--id-column', 'id'];
    const renamed = await batch(named);
    expect(renamed.code).toBe(0);
    expect(renamed.stderr).toContain('2 jobs of rows.csv with another id than before: not paid for again; ');
    expect(server.counts).toEqual(new Map(['a', 'b', 'c', 'd', 'e'].map((name) => [`Greet ${name}`, 1])));
    const results = folder.lines('results.jsonl').map(({ id }) => id);
    expect(results).toEqual(expect.arrayContaining(['c-key', 'b-key', 'e-key']));
    expect((await batch(['export', 'out'])).stdout.match(/^[\w-]+,/gm)).toEqual(['id,', 'c-key,', 'b-key,', 'e-key,']);

    writeRows(folder, ['x', 'e', 'b', 'c']);
    folder.write('rows.csv', folder.read('rows.csv').replace('"b"', '"B"'));
    const edited = await batch(named);
    expect(edited.code).toBe(14);
    expect(edited.stderr).toContain('1 job was edited since an earlier run sent it: b-key\n');
    // Without the column they are known by what was sent.
    writeRows(folder, ['e', 'b', 'c']);
    expect(await batch(argv)).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(5);
  });

  test('has its results even where a run was killed before they had the new ids', async ({ server, folder, batch }) => {
    writeRows(folder, ['a', 'b']);
    await batch(argv);
    const journal = join(folder.cwd, 'out/journal.jsonl');
    const request = folder.lines('journal.jsonl').find(({ type }) => type === 'done')?.['id'];
    folder.write(
      'out/journal.jsonl',
      `${readFileSync(journal, 'utf8')}${JSON.stringify({ type: 'moved', id: request, to: 'a-key', line: 2, at: 1 })}\n{"type":"mov`,
    );
    expect((await batch(['export', 'out'])).stdout).toContain('a-key,text,done');
    expect(await batch([...argv, '--id-column', 'id'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(2);
    expect(
      folder
        .lines('results.jsonl')
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(['a-key', 'b-key']);
  });
});

describe('ids of their own', () => {
  const named = [...argv, '--id-column', 'id'];
  const writeIds = (folder: BatchFolder, ...rows: readonly (readonly [id: string, name: string])[]): void => {
    folder.write('prompt.md', template);
    folder.write('rows.csv', `id,name\n${rows.map((row) => `${row.join(',')}\n`).join('')}`);
  };
  const answers = async (batch: (argv: string[]) => Promise<{ stdout: string }>): Promise<string[]> =>
    (await batch(['export', 'out', '--format', 'jsonl'])).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; text: string })
      .map(({ id, text }) => `${id}: ${text.replace('answer to Greet ', '')}`);

  test('that were edited are told, and not paid for again, whatever they looked like', async ({
    server,
    folder,
    batch,
  }) => {
    writeIds(folder, ['a', 'A'], ['b', 'B'], ['c', 'C']);
    await batch(named);
    writeIds(folder, ['x', 'A'], ['y', 'B'], ['c', 'C']);
    const told = '2 jobs of rows.csv with another id than before: not paid for again; to send one again: --redo x\n';
    expect((await batch([...named, '--dry-run'])).stdout).toContain(
      `3 jobs checked, 0 to send, 3 sent before\n${told}`,
    );
    const renamed = await batch(named);
    expect(renamed).toMatchObject({ code: 0, stderr: expect.stringContaining(told) as string });
    expect(renamed.stderr).not.toContain('no longer in');
    expect(await answers(batch)).toEqual(['x: A', 'y: B', 'c: C']);
    // It is told once, and nothing is written or built again that is as it was.
    const { length } = folder.lines('journal.jsonl');
    expect((await batch(named)).stderr).not.toContain('another id');
    expect(folder.lines('journal.jsonl')).toHaveLength(length + 1);
    // No request has this digest: who builds it says that the job was edited.
    const journal = folder.read('out/journal.jsonl');
    folder.write('out/journal.jsonl', journal.replaceAll(/"request":"\w+"/g, '"request":"0123456789abcdef"'));
    expect(await batch(named)).toMatchObject({ code: 0 });
    folder.write('out/journal.jsonl', journal);

    writeIds(folder, ['1', 'A'], ['2', 'B'], ['row-000003', 'C']);
    expect(await batch(named)).toMatchObject({ code: 0 });
    writeIds(folder, ['a', 'A'], ['b', 'B'], ['c', 'C']);
    expect(await batch(named)).toMatchObject({ code: 0 });
    expect((await batch(named)).stderr).not.toContain('another id');
    expect(await answers(batch)).toEqual(['a: A', 'b: B', 'c: C']);
    expect(server.bodies).toHaveLength(3);
    expect(await batch([...named, '--redo', 'a'])).toMatchObject({ code: 0 });
    expect(server.counts.get('Greet A')).toBe(2);
  });

  test('are those of one job at a time: a later job can have one that another had', async ({
    server,
    folder,
    batch,
  }) => {
    writeIds(folder, ['a', 'A'], ['b', 'B']);
    await batch(named);
    writeIds(folder, ['x', 'A'], ['b', 'B']);
    await batch(named);
    writeIds(folder, ['a', 'new'], ['b', 'B'], ['x', 'A']);
    const table = await batch(['export', 'out', '--data', 'rows.csv', '--id-column', 'id', '--format', 'tsv']);
    expect(table.stdout.match(/^(?!id)\w+\t\w*\t\w+/gm)).toEqual(['a\t\tpending', 'b\ttext\tdone', 'x\ttext\tdone']);
    expect((await batch(['export', 'out', '--data', 'rows.csv'])).stderr).toContain(
      'no row of rows.csv is known in out by its number; if a column has the ids: --id-column <name>\n',
    );
    writeIds(folder, ['x', 'A'], ['a', 'B']);
    expect(await batch(named)).toMatchObject({ code: 0 });
    writeIds(folder, ['x', 'A'], ['a', 'B'], ['b', 'C']);
    expect(await batch(named)).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(3);
    expect(await answers(batch)).toEqual(['x: A', 'a: B', 'b: C']);
    // Each has the other's id: that is an edit, and nothing is sent.
    writeIds(folder, ['a', 'A'], ['x', 'B'], ['b', 'C']);
    expect((await batch(named)).stderr).toContain('2 jobs were edited since an earlier run sent them: a, x\n');
    expect(server.bodies).toHaveLength(3);
  });

  test('that were edited with their rows are new, and jobs with one request stay several', async ({
    server,
    folder,
    batch,
  }) => {
    writeIds(folder, ['a', 'twin'], ['b', 'twin'], ['c', 'C']);
    await batch(named);
    writeIds(folder, ['d', 'twin'], ['e', 'twin'], ['f', 'twin'], ['g', 'other']);
    const renamed = await batch(named);
    expect(renamed.stderr).toContain('2 jobs of rows.csv with another id than before');
    expect(renamed.stderr).toContain('1 job of the journal is no longer in rows.csv');
    expect(Object.fromEntries(server.counts)).toEqual({ 'Greet twin': 3, 'Greet C': 1, 'Greet other': 1 });
    expect(await answers(batch)).toEqual(['d: twin', 'e: twin', 'f: twin', 'g: other']);
  });

  test('stay with their results where a run was killed between the results and the journal', async ({
    server,
    folder,
    batch,
  }) => {
    writeIds(folder, ['a', 'A'], ['b', 'B']);
    await batch(named);
    const [first, second] = folder.lines('results.jsonl').toSorted((a, b) => String(a.id).localeCompare(String(b.id)));
    const journal = folder.lines('journal.jsonl');
    // Its results are not put in order yet, and the next run had written those of b as a.
    folder.writeLines('out/results.jsonl', [first, second, { ...first, id: 'x' }, { ...second, id: 'a' }]);
    folder.writeLines('out/journal.jsonl', [...journal, { type: 'moved', id: 'a', to: 'x', line: 2, at: 1 }]);
    expect(await answers(batch)).toEqual(['x: A', 'b: B']);
    writeIds(folder, ['x', 'A'], ['a', 'B']);
    expect(await batch(named)).toMatchObject({ code: 0 });
    expect(await answers(batch)).toEqual(['x: A', 'a: B']);
    expect(folder.lines('results.jsonl').map(({ id }) => id)).toEqual(['x', 'a']);
    expect(server.bodies).toHaveLength(2);
  });

  test('of a job that is made again at the same time lead to its answer while there is no other', async ({
    server,
    folder,
    batch,
  }) => {
    writeIds(folder, ['a', 'A'], ['b', 'B']);
    await batch(named);
    writeIds(folder, ['x', 'A'], ['b', 'B']);
    server.answer = (_, count) => (count > 1 ? { status: 400, body: { error: { message: 'no' } } } : undefined);
    expect(await batch([...named, '--redo', 'x'])).toMatchObject({ code: 13 });
    writeIds(folder, ['x', 'A'], ['b', 'B'], ['a', 'C']);
    expect(await batch(named)).toMatchObject({ code: 0 });
    expect(await answers(batch)).toEqual(['x: A', 'b: B', 'a: C']);
    expect(server.bodies).toHaveLength(4);
  });

  test('of a job file, of rows that vary, and of shards', async ({ server, folder, batch }) => {
    folder.jobs({ id: 'a', prompt: 'A' }, { id: 'b', prompt: 'B' });
    await batch(['jobs.jsonl', '-o', 'jobs']);
    folder.jobs({ id: 'aa', prompt: 'A' }, { id: 'bb', prompt: 'B' });
    expect(await batch(['jobs.jsonl', '-o', 'jobs'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(2);

    writeIds(folder, ['a', 'A'], ['b', 'B']);
    const varied = [...named, '--vary', 'model=m1,m2'];
    await batch(varied);
    writeIds(folder, ['x', 'A'], ['b', 'B']);
    const renamed = await batch(varied);
    expect(renamed.stderr).toContain('2 jobs of rows.csv with another id than before');
    expect(renamed.stderr).toContain('--redo x+model=m1\n');
    expect(server.bodies).toHaveLength(6);

    const shard = [...named.slice(0, 5), '-o', 'shard', ...named.slice(-2), '--shard', '1/2'];
    const ids = Array.from({ length: 9 }, (_, i) => [`${i}-key`, `S${i}`] as const);
    writeIds(folder, ...ids);
    await batch(shard);
    const sent = server.bodies.length;
    writeIds(folder, ...ids.map(([id, name]) => [`new-${id}`, name] as const));
    const refused = await batch(shard);
    expect(refused.code).toBe(14);
    expect(refused.stderr).toContain('jobs of rows.csv moved or got other ids since an earlier run: another shard may');
    expect(server.bodies).toHaveLength(sent);
  });

  test('leave the reports in the order of the table, and write down no more than that takes', async ({
    server,
    folder,
    batch,
  }) => {
    const moves = (): unknown[] =>
      folder.lines('journal.jsonl').flatMap(({ type, id }) => (type === 'moved' ? id : []));
    writeIds(folder, ['a', 'A'], ['b', 'B'], ['c', 'C'], ['d', 'D']);
    await batch(named);
    writeIds(folder, ['b', 'B'], ['c', 'C'], ['d', 'D']);
    await batch(named);
    expect(moves()).toEqual([]);
    // It has the line that the last one had.
    writeIds(folder, ['b', 'B'], ['c', 'C'], ['d', 'D'], ['e', 'E']);
    await batch(named);
    expect(await answers(batch)).toEqual(['b: B', 'c: C', 'd: D', 'e: E']);
    writeIds(folder, ['d', 'D'], ['new', 'N'], ['c', 'C'], ['e', 'E'], ['b', 'B']);
    await batch(named);
    expect(await answers(batch)).toEqual(['d: D', 'new: N', 'c: C', 'e: E', 'b: B']);
    const { length } = moves();
    await batch(named);
    expect(moves()).toHaveLength(length);
    writeIds(folder, ['c', 'C'], ['e', 'E'], ['b', 'B']);
    await batch(named);
    expect(moves()).toHaveLength(length);
    expect(server.bodies).toHaveLength(6);
    expect(await batch([...named, '--redo', 'b'])).toMatchObject({ code: 0 });
    expect(await answers(batch)).toEqual(['c: C', 'e: E', 'b: B']);

    const shards = ['s-1', 's-2'];
    const ids = Array.from({ length: 8 }, (_, i) => [`k${i}`, `S${i}`] as const);
    for (const rows of [ids, [['new', 'N'] as const, ...ids]]) {
      writeIds(folder, ...rows);
      for (const [at, out] of shards.entries())
        await batch([...named.slice(0, 5), '-o', out, ...named.slice(-2), '--shard', `${at + 1}/2`]);
      const { stdout } = await batch(['export', ...shards]);
      expect(stdout.match(/^(?:k\d|new)/gm)).toEqual(rows.map(([id]) => id));
    }
  });
});

test.for([
  { id: 'row-000001', to: 'row-000002', line: 1 },
  { id: 'row-000001', to: 7, line: 1 },
  { id: 'row-000001', line: 'x' },
  { id: 'row-000001', number: 1.5, line: 1 },
  { line: 1 },
])(
  'a record of a move that no run writes names its line and what to do, and nothing is sent: %j',
  async (record, { server, folder, batch }) => {
    writeRows(folder, ['a', 'b']);
    await batch(argv);
    const good = readFileSync(join(folder.cwd, 'out/journal.jsonl'), 'utf8');
    folder.write('out/journal.jsonl', `${good}${JSON.stringify({ type: 'moved', ...record, at: 1 })}\n`);
    const hint =
      '  fix that line, or take it out: it says that a job moved, which is found out by what was sent, too\n';
    const place = `journal.jsonl:${good.split('\n').length}: no record that this version knows\n`;
    for (const ran of [await batch(argv), await batch(['status', 'out'])])
      expect(ran).toMatchObject({ code: 14, stderr: expect.stringContaining(`${place}${hint}`) as string });
    folder.write('out/journal.jsonl', good);
    expect(await batch(argv)).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(2);
  },
);

test('a change of the last line break of the template alone is told as that', async ({ server, folder, batch }) => {
  writeRows(folder, ['a', 'b']);
  await batch(argv);
  folder.write('prompt.md', `${template}\n`);
  const changed = await batch(argv);
  expect(changed.code).toBe(14);
  expect(changed.stderr).toContain(
    "2 jobs were edited since an earlier run sent them, by the line break at the end of --template 'prompt.md' alone: row-000001, row-000002\n",
  );
  expect(changed.stderr).toContain('  to send nothing again: put the line break back as it was\n');
  writeRows(folder, ['other', 'b']);
  folder.write('prompt.md', `${template}\n`);
  const some = await batch(argv);
  expect(some.stderr).toContain(
    "2 jobs were edited since an earlier run sent them, 1 of them by the line break at the end of --template 'prompt.md' alone: row-000001, row-000002\n",
  );
  expect(some.stderr).toContain('  to send just 1 again: put the line break back as it was\n');
  folder.write('prompt.md', `${template}!\n`);
  expect((await batch(argv)).stderr).not.toContain('line break');
  expect(server.bodies).toHaveLength(2);
});
