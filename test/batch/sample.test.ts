import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import { imageReply } from '../helpers/with-server.ts';
import { earlierAnswers, firstRequest, manyJobs, test } from './with-batch.ts';

const priced = ['--prices', '{"m":{"input":"1","output":"10"}}'];

test('--limit sends a sample, says what is left, and the same command sends the next ones', async ({
  batch,
  folder,
  server,
}) => {
  folder.jobs(...manyJobs(5));
  const sample = await batch(['--limit', '2']);
  expect([sample.code, sample.stderr]).toEqual([0, expect.stringContaining('2 done, 3 not sent yet')]);
  expect(sample.stderr).toContain('\n3 not sent yet: gateway-cli batch again out\n');
  expect(folder.lines('summary.json')).toMatchObject([{ ok: true, done: 2, pending: 3, skipped: 0 }]);
  const next = await batch(['--limit', '2']);
  expect([next.code, next.stderr]).toEqual([0, expect.stringContaining('2 done, 3 not sent yet; 2 are sent now')]);
  expect((await batch()).code).toBe(0);
  expect([...server.counts.values()]).toEqual([1, 1, 1, 1, 1]);
});

test('where all jobs were edited, exit code 14 says in what', async ({ batch, folder }) => {
  folder.write('c.csv', 'city\nRome\nOslo\nBern\nWien\nParis\nPrag\nPisa\n');
  const profiles = { deep: { effort: 'high' } };
  folder.write('config.json', JSON.stringify({ profiles }));
  const env = { GATEWAY_CONFIG: 'config.json' };
  const rows = ['--data', 'c.csv', '-o', 'out'];
  expect((await batch([...rows, 'A slogan for {{city}}'])).code).toBe(0);
  const [run] = folder.lines('journal.jsonl');
  expect(JSON.stringify(run).length).toBeLessThan(500);
  const told = (what: string) => ` and 2 more (${what})\n`;
  for (const [argv, what] of [
    [['-m', 'm2', 'A slogan for {{city}}'], 'in model'],
    [['A poem for {{city}}'], 'in prompt'],
    [['--profile', 'deep', 'A slogan for {{city}}'], 'in effort'],
    [['--defaults', '{"system":"Be dry","maxTokens":9}', 'A slogan for {{city}}'], 'in maxTokens, system'],
  ] as const)
    expect(await batch([...rows, ...argv], { env })).toMatchObject({
      code: 14,
      stderr: expect.stringContaining(told(what)),
    });
  // It is said once: the rest goes with the same command.
  await batch([...rows, '--accept-changes', '--limit', '1', 'A poem for {{city}}']);
  expect((await batch([...rows, 'A poem for {{city}}'])).code).toBe(0);
});

test('--estimate tells the cost of what is left from the answers that are there', async ({ batch, folder }) => {
  folder.jobs(...manyJobs(10).map((job) => ({ ...job, maxTokens: 1000 })));
  expect((await batch(['--limit', '2', ...priced])).code).toBe(0);
  const [summary] = folder.lines('summary.json') as [{ cost: { amount: string }[]; usage: { outputTokens: number } }];
  const ran = await batch(['--estimate', '--json', ...priced]);
  const { expected } = JSON.parse(ran.stdout) as { expected: { cost: { amount: string }[] } };
  expect(expected).toMatchObject({ answers: 2, outputTokens: summary.usage.outputTokens * 4 });
  expect(Number(expected.cost[0]?.amount)).toBeCloseTo(Number(summary.cost[0]?.amount) * 4, 9);
  expect((await batch(['--estimate', ...priced])).stdout).toContain(
    'if the answers are like the 2 that are there: about ',
  );
});

test('--dry-run names command, model and service of what would be sent', async ({ batch, folder, server }) => {
  folder.jobs(...manyJobs(2), { id: 'i', command: 'image gen', prompt: 'a cat', model: 'painter' });
  const { stdout } = await batch(['--dry-run', '--limit', '3']);
  expect(stdout).toBe(
    `3 jobs checked, 3 to send\ntext with m at ${server.url}: 2 jobs\nimage gen with painter at ${server.url}: 1 job\n${firstRequest}`,
  );
  const kinds = [{ command: 'text', model: 'm', service: 'gateway', jobs: 2 }, { command: 'image gen' }];
  expect(JSON.parse((await batch(['--dry-run', '--json'])).stdout)).toMatchObject({ kinds });
});

test('--redo sends the named jobs again, and no other', async ({ batch, folder, server }) => {
  folder.jobs(...manyJobs(4), { id: 'a,b', prompt: 'p5' });
  expect((await batch()).code).toBe(0);
  const again = await batch(['--redo', 'p2,p4', '--redo', 'a,b']);
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('3 are sent again')]);
  expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 2, p3: 1, p4: 2, p5: 2 });
  expect(folder.lines('results.jsonl')).toHaveLength(5);
});

test('--redo of a job that is not there is refused before anything is sent', async ({ batch, folder, server }) => {
  folder.jobs(...manyJobs(12));
  expect((await batch(['--limit', '1'])).code).toBe(0);
  const ran = await batch(['--redo', 'p1,p13']);
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('jobs.jsonl has no job "p13"')]);
  expect(server.counts.size).toBe(1);
});

test('--redo takes the numbers of rows, and names ids where there is no such job', async ({
  batch,
  folder,
  server,
}) => {
  folder.write('rows.csv', 'id,town\nt1,Rome\nt2,Oslo\nt3,Lima\n');
  const rows = ['-o', 'out', '--data', 'rows.csv', 'a slogan for {{town}}'];
  expect((await batch(rows)).code).toBe(0);
  expect(await batch([...rows, '--redo', '2,3'])).toMatchObject({ code: 0 });
  expect([...server.counts.values()]).toEqual([1, 2, 2]);
  const ran = await batch([...rows, '--redo', 'Rome']);
  expect([ran.code, ran.stderr]).toEqual([
    2,
    expect.stringContaining('name ids, or numbers of rows: row-000001,row-000002,'),
  ]);
  const named = ['-o', 'named', ...rows.slice(2), '--id-column', 'id'];
  expect((await batch([...named, '--redo', '2,t3', '--dry-run'])).stderr).toBe('');
  expect((await batch(named)).code).toBe(0);
  expect((await batch(['redo', 'named', '2,t3'])).stderr).toContain('sent again: t2 (row 2), t3 (row 3)\n');
  folder.write('rows.csv', 'id,town\nt1,Rome\n,\nt3,Lima\n');
  expect((await batch([...rows, '--redo', '2'])).stderr).toContain('rows.csv has no job "2"\n');
  expect((await batch([...rows, '--redo', '3'])).stderr).toContain('sent again: row-000003\n');
});

test('batch redo and batch choose name rows alike: by ids, and by numbers unless ids are other numbers', async ({
  batch,
  folder,
  server,
}) => {
  folder.write('rows.csv', 'key,other,town\nk1,30,Rome\nk2,10,Oslo\n,,\nk4,20,Lima\n');
  const rows = ['--data', 'rows.csv', 'a slogan for {{town}}'];
  await batch([...rows, '-o', 'out', '--id-column', 'key']);
  expect((await batch(['redo', 'out', '4'])).stderr).toContain('sent again: k4 (row 4)\n');
  expect((await batch(['choose', 'out', '4=1'])).stdout).toContain('k4: answer 1 of 2 counts now');
  await batch([...rows, '-o', 'other', '--id-column', 'other']);
  for (const argv of [
    ['redo', 'other', '2'],
    ['choose', 'other', '2=1'],
  ])
    expect(await batch(argv)).toMatchObject({ code: 2, stderr: expect.stringContaining('has no job "2"\n') });
  expect((await batch(['redo', 'other', '10'])).stderr).toContain('sent again: 10 (row 2)\n');
  for (const [range, each] of [
    ['k1-k4', 'k1,k2,k4'],
    ['1-2', 'k1,k2'],
  ] as const)
    expect((await batch(['redo', 'out', range])).stderr).toContain(
      `has no job "${range}"\n  name each of them: ${each}\n`,
    );
  expect(server.bodies).toHaveLength(8);
});

test('--redo takes the numbers of rows also where an earlier run had ids of a column', async ({
  batch,
  folder,
  server,
}) => {
  folder.write('rows.csv', 'town\nRome\nOslo\nLima\n');
  const rows = ['-o', 'out', '--data', 'rows.csv', 'a slogan for {{town}}'];
  expect((await batch(rows)).code).toBe(0);
  expect((await batch([...rows, '--id-column', 'town'])).code).toBe(0);
  expect((await batch([...rows, '--redo', '1'])).stderr).toContain('1 is sent again');
  expect((await batch([...rows, '--redo', 'row-000002,3'])).stderr).toContain('2 are sent again');
  expect([...server.counts.values()]).toEqual([2, 2, 2]);
  const ran = await batch([...rows, '--redo', 'row-000004']);
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('rows.csv has no job "row-000004"')]);
  const named = await batch([...rows, '--id-column', 'town', '--redo', 'Limo']);
  expect([named.code, named.stderr]).toEqual([2, expect.stringContaining('did you mean: Lima')]);
});

test('an edit is asked for also where another column has the ids from then on', async ({ batch, folder, server }) => {
  folder.write('rows.csv', 'n,town\n1,Rome\n2,Oslo\n3,Lima\n');
  const rows = ['-o', 'out', '--data', 'rows.csv', 'a slogan for {{town}}'];
  expect((await batch(rows)).code).toBe(0);
  folder.write('rows.csv', 'n,town\n1,Rome\n2,Bern\n3,Lima\n');
  expect(await batch([...rows, '--id-column', 'n'])).toMatchObject({ code: 14 });
  expect([...server.counts.values()]).toEqual([1, 1, 1]);
  expect(await batch([...rows, '--id-column', 'n', '--accept-changes'])).toMatchObject({ code: 0 });
  expect([...server.counts.values()]).toEqual([1, 1, 1, 1]);
});

test('an edit of all rows is asked for also where other flags name all of them anew', async ({
  batch,
  folder,
  server,
}) => {
  folder.write('rows.csv', 'n,town\n1,Rome\n2,Oslo\n');
  const rows = ['-o', 'out', '--data', 'rows.csv'];
  expect((await batch([...rows, 'a slogan for {{town}}'])).code).toBe(0);
  for (const naming of [
    ['--id-column', 'town'],
    ['--vary', 'temperature=0,1'],
  ]) {
    const asked = await batch([...rows, 'a poem on {{town}}', ...naming]);
    expect(asked).toMatchObject({ code: 14, stderr: expect.stringContaining(' (in prompt') as string });
  }
  expect(server.bodies).toHaveLength(2);
});

test('a word beside --data is their prompt, and names the columns that it could use', async ({ batch, folder }) => {
  folder.write('rows.csv', 'town\nRome\n');
  const ran = await batch(['-o', 'out', '--data', 'rows.csv', 'slogan']);
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('put a column into the prompt: {{town}}\n')]);
});

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('of an earlier answer that counts again, its own picture is the one that is looked for', async ({
  batch,
  folder,
  server,
}) => {
  server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data: png }) });
  folder.jobs({ id: 'c1', command: 'image gen', prompt: 'c1' });
  await batch();
  await batch(['redo', 'out', 'c1']);
  await batch(['choose', 'out', 'c1=1']);
  rmSync(join(folder.cwd, 'out/images/c1-2.png'));
  expect((await batch(['status', 'out'])).stdout).toBe(`1 job: 1 done\n${earlierAnswers(1)}`);
  await batch(['choose', 'out', 'c1=2']);
  expect((await batch(['status', 'out'])).stdout).toContain('a picture of 1 job is not in images any more');
});

test('a picture that was removed is told by a run and by status, and --redo makes it again beside the others', async ({
  batch,
  folder,
  server,
}) => {
  server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data: png }) });
  folder.jobs(...['c1', 'c2', 'c3'].map((id) => ({ id, command: 'image gen', prompt: id })));
  expect((await batch()).code).toBe(0);
  for (const id of ['c1', 'c3']) rmSync(join(folder.cwd, 'out/images', `${id}.png`));
  const told = await batch();
  expect([told.code, told.stderr]).toEqual([
    0,
    expect.stringContaining('a picture of 2 jobs is not in images any more'),
  ]);
  expect(told.stderr).toContain('gateway-cli batch redo out c1,c3');
  const status = await batch(['status', 'out']);
  expect([status.code, status.stdout]).toEqual([
    0,
    '3 jobs: 3 done\na picture of 2 jobs is not in images any more; to make them again: gateway-cli batch redo out c1,c3\n',
  ]);
  const document = JSON.parse((await batch(['status', 'out', '--json'])).stdout) as object;
  expect(document).toMatchObject({ missingPictures: ['c1', 'c3'] });
  expect((await batch(['--redo', 'c1,c3', '--redo', 'c2'])).code).toBe(0);
  expect(folder.ls('out/images')).toEqual(['c1-2.png', 'c2-2.png', 'c2.png', 'c3-2.png']);
  expect((await batch()).stderr).not.toContain('any more');
  expect((await batch(['status', 'out'])).stdout).toBe(`3 jobs: 3 done\n${earlierAnswers(3)}`);
  expect([...server.counts.values()]).toEqual([2, 2, 2]);
});

test('--accept-changes says which jobs it pays for again, and at most how much', async ({ batch, folder, server }) => {
  folder.write('rows.csv', 'city\nRome\nOslo\nBonn\n');
  const rows = [
    'run',
    '--data',
    'rows.csv',
    '-o',
    'out',
    '--defaults',
    '{"prompt":"to {{city}}","maxTokens":100}',
    ...priced,
  ];
  expect((await batch(rows)).code).toBe(0);
  folder.write('rows.csv', 'city,other\nRome,1\nLima,2\nBonn,3\n');
  expect((await batch(rows)).stderr).toContain('1 job was edited since');
  const words = /1 job was edited and is paid for again, for at most 0\.001\d+ USD: row-000002\n/;
  expect((await batch([...rows, '--accept-changes', '--dry-run'])).stdout).toMatch(words);
  const ran = await batch([...rows, '--accept-changes']);
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringMatching(words)]);
  expect(Object.fromEntries(server.counts)).toEqual({ 'to Rome': 1, 'to Oslo': 1, 'to Lima': 1, 'to Bonn': 1 });
});

test('words after --data are the template of its rows', async ({ batch, folder, server }) => {
  folder.write('rows.csv', 'city\nRome\nOslo\n');
  expect((await batch(['run', '--data', 'rows.csv', '-o', 'out', 'a slogan', 'for {{city}}'])).code).toBe(0);
  expect([...server.counts.keys()].toSorted()).toEqual(['a slogan for Oslo', 'a slogan for Rome']);
});

test('a failed job that was mended is a new question: the same command sends it', async ({ batch, folder, server }) => {
  folder.jobs({ id: '1', prompt: 'p1' }, { id: '2', prompt: 'p2', model: 'refused' });
  server.answer = (prompt) => (prompt === 'p2' ? { status: 400, body: { error: { message: 'no' } } } : undefined);
  expect((await batch()).code).toBe(13);
  folder.jobs({ id: '1', prompt: 'p1' }, { id: '2', prompt: 'p2 better' });
  expect(await batch()).toMatchObject({ code: 0 });
  expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 1, 'p2 better': 1 });
});

test('a count makes several jobs of a line, and a greater one sends only the new ones', async ({
  batch,
  folder,
  server,
}) => {
  server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data: png }) });
  const cat = { id: 'cat', command: 'image gen', prompt: 'a cat' };
  const tile = { command: 'image gen', prompt: 'a tile', name: 'tile', count: 1 };
  folder.jobs({ ...cat, count: 2 }, tile);
  const first = await batch(['--limit', '2']);
  expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('2 done, 1 not sent yet')]);
  expect((await batch()).code).toBe(0);
  expect(Object.fromEntries(server.counts)).toEqual({ 'a cat': 2, 'a tile': 1 });
  expect(folder.ls('out/images')).toEqual(['cat-1.png', 'cat-2.png', 'tile.png']);
  folder.jobs({ ...cat, count: 3 }, tile);
  const more = await batch();
  expect([more.code, more.stderr]).toEqual([0, expect.stringContaining('3 done, 1 not sent yet; 1 is sent now')]);
  expect((await batch(['--redo', 'cat-2'])).code).toBe(0);
  expect(server.counts.get('a cat')).toBe(4);
  const exported = await batch(['export', 'out', '--format', 'jsonl']);
  expect(exported.stdout.split('\n').map((line) => line && (JSON.parse(line) as { id: string }).id)).toEqual([
    'cat-1',
    'cat-2',
    'cat-3',
    '2',
    '',
  ]);
});

test('--redo of an id with a count means all of its pictures, also by the number of its row', async ({
  batch,
  folder,
  server,
}) => {
  server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data: png }) });
  const image = { command: 'image gen' };
  folder.jobs({ ...image, id: '1', prompt: 'a cat', count: 3 }, { ...image, id: '10', prompt: 'a dog' });
  expect((await batch()).code).toBe(0);
  const again = await batch(['--redo', '1']);
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('3 are sent again')]);
  expect(Object.fromEntries(server.counts)).toEqual({ 'a cat': 6, 'a dog': 1 });
  expect((await batch(['--redo', '1-2,10'])).stderr).toContain('2 are sent again');
  expect((await batch(['--redo', '1-4'])).stderr).toContain('jobs.jsonl has no job "1-4"');
  folder.write('rows.csv', 'city,n\nRome,2\nOslo,1\n');
  const defaults = '{"command":"image gen","count":"{{n}}"}';
  const rows = ['--data', 'rows.csv', '-o', 'rows', '--defaults', defaults, 'a map of {{city}}'];
  expect((await batch(['run', ...rows])).code).toBe(0);
  expect((await batch(['run', ...rows, '--redo', '1'])).stderr).toContain('2 are sent again');
  expect((await batch(['run', ...rows, '--redo', '1-2,2'])).stderr).toContain('2 are sent again');
  expect(server.counts.get('a map of Rome')).toBe(5);
});

test('rows of a table take a count by --defaults, and their report has a row for each picture', async ({
  batch,
  folder,
  server,
}) => {
  server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data: png }) });
  folder.write('rows.csv', 'city,n\nRome,1\nOslo,2\n');
  const defaults = '{"command":"image gen","count":"{{n}}"}';

  const rows = ['rows.csv', '-o', 'out', '--defaults', defaults, 'a map of {{city}}'];
  expect((await batch(['run', '--data', ...rows])).code).toBe(0);
  expect(folder.ls('out/images')).toEqual(['row-000001.png', 'row-000002-1.png', 'row-000002-2.png']);
  const { stdout } = await batch(['export', 'out', '--format', 'jsonl']);
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id),
  ).toEqual(['row-000001', 'row-000002-1', 'row-000002-2']);
});

test('a count is refused where it is no number or its command makes no picture, and a mistake is told once', async ({
  batch,
  folder,
  server,
}) => {
  const image = { command: 'image gen', prompt: 'a cat' };
  folder.jobs({ ...image, count: 0 });
  expect((await batch()).stderr).toContain('jobs.jsonl:1: ');
  folder.jobs({ prompt: 'hi', count: 2 });
  expect((await batch()).stderr).toContain('unknown job key "count" for text');
  folder.jobs({ ...image, command: 'image edit', image: ['none.png'], count: 4 });
  expect((await batch()).stderr).not.toContain('lines of');
  folder.jobs({ ...image, id: '7', count: 2 }, { ...image, id: '7-2' });
  const twice = await batch();
  expect([twice.code, twice.stderr]).toEqual([
    2,
    expect.stringContaining('jobs.jsonl:2: the id "7-2" is already used in line 1'),
  ]);
  expect(server.counts.size).toBe(0);
});

const columns = ['run', '--data', 'rows.csv', '-o', 'out', 'to {{city}}'];

test('a column that no text uses can be added and edited: nothing is sent for it, and reports have it as it is now', async ({
  batch,
  folder,
  server,
}) => {
  folder.write('rows.csv', 'city,sku\nRome,1\nOslo,2\nBonn,3\n');
  server.answer = (prompt) => (prompt === 'to Bonn' ? { status: 400, body: { error: { message: 'no' } } } : undefined);
  expect((await batch(columns)).code).toBe(13);
  const [{ usage } = {}] = folder.lines('summary.json');
  folder.write('rows.csv', 'shop,city,sku\nx,Rome,1\ny,Oslo,7\nz,Bonn,3\n');
  const again = await batch(columns);
  expect(again).toMatchObject({ code: 13 });
  expect([...server.counts.values()]).toEqual([1, 1, 1]);
  expect(folder.lines('summary.json')).toMatchObject([{ usage, done: 2, failed: 1 }]);
  const { stdout } = await batch(['export', 'out']);
  expect(stdout).toMatch(/^id,.*,shop,city,sku,.*\r\nrow-000001,.*,x,Rome,1,.*\r\nrow-000002,.*,y,Oslo,7,/);
});
