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
      expect(moved.stderr).toContain('jobs of rows.csv moved since an earlier run: another shard may have sent them\n');
      expect(moved.stderr).toContain('  put them back in their order; or new folders, with --id-column');
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
    expect(renamed.stderr).toContain('2 jobs of rows.csv with another id than before: not paid for again\n');
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
