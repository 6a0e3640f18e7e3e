import { expect } from 'vitest';
import { type BatchFolder, test } from './with-batch.ts';

/** Changes every record of the journal. */
function editJournal(folder: BatchFolder, edit: (record: Record<string, unknown>) => Record<string, unknown>): void {
  folder.writeLines('out/journal.jsonl', folder.lines('journal.jsonl').map(edit));
}

test('takes the word of the journal for a row that is as it was when it was sent, and builds no request to know that', async ({
  folder,
  batch,
}) => {
  folder.jobs({ id: 'a', prompt: 'see {{city}}', vars: { city: 'Rome' } });
  await batch();
  // No request has this hash: who builds it says that the job was edited.
  editJournal(folder, (record) => ('request' in record ? { ...record, request: '0123456789abcdef' } : record));
  expect(await batch()).toMatchObject({ code: 0, stderr: expect.stringContaining('1 of 1 job was sent before') });
  folder.jobs({ id: 'a', prompt: 'see {{city}}!', vars: { city: 'Rome' } });
  expect((await batch()).stderr).toContain('1 job was edited since an earlier run sent it: a');
});

test('builds the requests of a folder whose journal does not say what they were built from', async ({
  server,
  folder,
  batch,
}) => {
  folder.jobs({ id: 'a', prompt: 'one' }, { id: 'b', prompt: 'two' });
  await batch();
  editJournal(folder, (record) => ({ ...record, basis: undefined }));
  expect(await batch()).toMatchObject({ code: 0, stderr: expect.stringContaining('2 of 2 jobs were sent before') });
  folder.jobs({ id: 'a', prompt: 'one' }, { id: 'b', prompt: 'new' });
  expect((await batch()).stderr).toContain('edited since an earlier run sent it: b');
  expect(server.bodies).toHaveLength(2);
});

test('writes down once what the rows of such a folder, or of one that another version wrote, are built from', async ({
  server,
  folder,
  batch,
}) => {
  const jobs = [
    { id: 'a', prompt: 'one', vars: { note: 'x' } },
    { id: 'b', prompt: 'two' },
  ];
  folder.jobs(...jobs);
  await batch();
  const first = folder.lines('journal.jsonl').filter(({ type }) => type === 'done');
  for (const basis of [undefined, '0123456789abcdef']) {
    editJournal(folder, (record) => ({ ...record, basis }));
    await batch(['--dry-run']);
    expect(folder.read('out/journal.jsonl')).not.toContain('"moved"');
    await batch();
    const written = folder.lines('journal.jsonl').filter(({ type }) => type === 'moved');
    expect(written.map(({ id, basis: now }) => [id, now])).toEqual(
      first.toSorted((a, b) => String(a.id).localeCompare(String(b.id))).map(({ id, basis: now }) => [id, now]),
    );
    const { length } = folder.lines('journal.jsonl');
    await batch();
    expect(folder.lines('journal.jsonl')).toHaveLength(length + 1);
    folder.writeLines(
      'out/journal.jsonl',
      folder.lines('journal.jsonl').filter(({ type }) => type !== 'moved'),
    );
  }
  expect(server.bodies).toHaveLength(2);
});

test('what it writes down so hides no edit: neither of a request nor of a variable', async ({
  server,
  folder,
  batch,
}) => {
  const write = (prompt: string, note: string): void => folder.jobs({ id: 'a', prompt, vars: { note } });
  write('one', 'x');
  await batch();
  editJournal(folder, (record) => ({ ...record, basis: undefined }));
  write('one', 'y');
  expect((await batch()).stderr).toContain('new variables of 1 job');
  editJournal(folder, (record) => ({ ...record, basis: undefined }));
  await batch();
  write('one', 'z');
  expect((await batch()).stderr).toContain('new variables of 1 job');
  write('two', 'z');
  expect((await batch()).stderr).toContain('1 job was edited since an earlier run sent it: a');
  expect(server.bodies).toHaveLength(1);
});

const files: [name: string, job: object, before: string, after: string][] = [
  ['s.json', { prompt: 'p', schema: 's.json' }, '{"type":"object"}', '{"type":"array"}'],
  ['v.json', { prompt: 'to {{city}}', vars: 'v.json' }, '{"city":"Rome"}', '{"city":"Oslo"}'],
  ['p.txt', { promptFile: 'p.txt' }, 'one', 'two'],
  ['s.txt', { prompt: 'p', systemFile: 's.txt' }, 'one', 'two'],
  ['a.txt', { prompt: 'p', attach: ['a.txt'] }, 'one', 'two'],
  ['b.json', { prompt: 'p', body: 'b.json' }, '{"x":1}', '{"x":2}'],
  [
    'p.prompt.yml',
    { promptFile: 'p.prompt.yml' },
    'messages: [{role: user, content: a}]',
    'messages: [{role: user, content: b}]',
  ],
];
for (const [name, job, before, after] of files)
  test(`finds that ${name} changed, which the line of a job names`, async ({ folder, batch }) => {
    folder.write(name, before);
    folder.jobs({ id: 'a', ...job });
    await batch();
    expect((await batch()).stderr).toContain('1 of 1 job was sent before; 0 are sent now');
    folder.write(name, after);
    expect(await batch()).toMatchObject({ stderr: expect.stringContaining('1 job was edited') });
  });

test('finds that a setting changed which all jobs share', async ({ folder, batch }) => {
  folder.jobs({ id: 'a', prompt: 'p' });
  await batch();
  expect((await batch(['--model', 'other'])).stderr).toContain('1 job was edited');
  expect((await batch(['--defaults', '{"system":"s"}'])).stderr).toContain('1 job was edited');
});

test('gives a result the variables of its row each time they are edited, and back', async ({
  server,
  folder,
  batch,
}) => {
  const vars = (): unknown => folder.lines('results.jsonl').find(({ id }) => id === 'a')?.['vars'];
  const jobs = (note: string): void =>
    folder.jobs({ id: 'a', prompt: 'p', vars: { note } }, { id: 'b', prompt: 'q', vars: { note: 'same' } });
  jobs('first');
  await batch();
  for (const note of ['second', 'first', 'second']) {
    jobs(note);
    expect((await batch()).stderr).toContain('new variables of 1 job');
    expect(vars()).toEqual({ note });
    expect((await batch()).stderr).not.toContain('new variables');
  }
  expect(server.bodies).toHaveLength(2);
});

test('knows a job that is sent again by what it is built from then', async ({ server, folder, batch }) => {
  folder.jobs({ id: 'a', prompt: 'one' });
  await batch();
  folder.jobs({ id: 'a', prompt: 'two' });
  await batch(['--accept-changes']);
  expect((await batch()).stderr).toContain('1 of 1 job was sent before; 0 are sent now');
  folder.jobs({ id: 'a', prompt: 'one' });
  expect((await batch()).stderr).toContain('1 job was edited');
  await batch(['--redo', 'a', '--accept-changes']);
  expect(server.bodies).toHaveLength(3);
});

test('gives a result the variables of its row where the run that wrote it was killed before its end was in the journal', async ({
  folder,
  batch,
}) => {
  const write = (note: string): void => folder.jobs({ id: 'a', prompt: 'p', vars: { note } });
  write('first');
  await batch();
  const before = folder.read('out/results.jsonl');
  write('second');
  await batch(['--redo', 'a']);
  folder.write('out/results.jsonl', before + folder.read('out/results.jsonl'));
  const journal = folder.lines('journal.jsonl');
  folder.writeLines(
    'out/journal.jsonl',
    journal.slice(
      0,
      journal.findLastIndex(({ type }) => type === 'done'),
    ),
  );
  write('first');
  expect((await batch()).stderr).toContain('new variables of 1 job');
  expect(folder.lines('results.jsonl').at(-1)).toMatchObject({ vars: { note: 'first' } });
});

test('takes from a result the variables that its row has no more, though all other rows are as they were', async ({
  server,
  folder,
  batch,
}) => {
  const other = { id: 'b', prompt: 'q', vars: { note: 'same' } };
  folder.jobs({ id: 'a', prompt: 'p', vars: { note: 'old' } }, other);
  await batch();
  folder.jobs({ id: 'a', prompt: 'p' }, other);
  expect((await batch()).stderr).toContain('new variables of 1 job');
  expect(folder.lines('results.jsonl').find(({ id }) => id === 'a')).not.toHaveProperty('vars');
  expect(server.bodies).toHaveLength(2);
});

test('says in each run how many costs are unknown, though no row is built', async ({ server, folder, batch }) => {
  const content = { role: 'model', parts: [{ text: 'x' }] };
  server.answer = () => ({ body: { candidates: [{ content, finishReason: 'STOP' }] } });
  folder.jobs({ id: 'a', prompt: 'p' });
  for (let times = 1; times <= 2; times++)
    expect((await batch(['--prices', '{"m":{"input":1,"output":1}}'])).stderr).toContain(
      '1 done\nthe cost of 1 job is unknown\n',
    );
});
