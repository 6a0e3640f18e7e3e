import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readFolder } from '../../src/batch/index.ts';
import { ownMark } from '../../src/library/files/process-mark.ts';
import { run } from '../helpers/run.ts';
import { textReply } from '../helpers/with-server.ts';
import type { CountingServer } from './counting-server.ts';
import { earlierAnswers, manyJobs, test } from './with-batch.ts';

/** Each answer of a prompt says which one it is. */
function number(server: CountingServer): void {
  server.answer = (prompt, count) => ({ body: textReply(`${prompt.split(' ')[0]} no. ${count}`) });
}

const textOf = (table: string): string[] =>
  table
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).text as string);

test('an earlier answer counts again, and the next run pays nothing; another --redo makes a third one', async ({
  server,
  folder,
  batch,
}) => {
  number(server);
  folder.jobs(...manyJobs(3));
  await batch();
  await batch(['redo', 'out', 'p2,p3']);
  const texts = async () => textOf((await batch(['export', 'out', '--format', 'jsonl'])).stdout);
  expect(await texts()).toEqual(['p1 no. 1', 'p2 no. 2', 'p3 no. 2']);
  const chosen = await batch(['choose', 'out', '2=1', 'p3=2']);
  expect(chosen).toMatchObject({
    code: 0,
    stdout: 'p2: answer 1 of 2 counts now, in place of answer 2\np3: answer 2 of 2 counts already\n',
    stderr: expect.stringContaining('gateway-cli batch export out'),
  });
  expect(folder.lines('journal.jsonl').filter(({ t }) => t === 'choose')).toMatchObject([{ answer: 1 }]);
  expect(await texts()).toEqual(['p1 no. 1', 'p2 no. 1', 'p3 no. 2']);
  expect(await batch()).toMatchObject({ code: 0 });
  expect(server.bodies).toHaveLength(5);
  expect(JSON.parse((await batch(['choose', 'out', 'p2=2', '--json'])).stdout)).toMatchObject({
    schema: 'gateway-cli/batch-choose@1',
    chosen: [{ id: 'p2', answer: 2, answers: 2 }],
    outdated: [],
  });
  await batch(['choose', 'out', 'p2=1']);
  await batch(['redo', 'out', 'p2']);
  expect(await texts()).toEqual(['p1 no. 1', 'p2 no. 3', 'p3 no. 2']);
});

test('status counts the earlier answers, and export --all has each with the word by which it is chosen', async ({
  server,
  folder,
  batch,
}) => {
  number(server);
  folder.jobs(...manyJobs(2));
  await batch();
  await batch(['redo', 'out', 'p2']);
  await batch(['redo', 'out', 'p2']);
  expect((await batch(['status', 'out'])).stdout).toBe(`2 jobs: 2 done\n${earlierAnswers(2)}`);
  expect(JSON.parse((await batch(['status', 'out', '--json'])).stdout)).toMatchObject({ done: 2, earlier: 2 });
  const rows = async (...argv: string[]) =>
    (await batch(['export', 'out', '--format', 'jsonl', ...argv])).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .map(({ id, version, choose, text }) => [id, version, choose, text]);
  expect(await rows()).toHaveLength(2);
  expect(await rows('--all')).toEqual([
    ['p1', 'now', undefined, 'p1 no. 1'],
    ['p2', 'now', undefined, 'p2 no. 3'],
    ['p2', 'earlier', 'p2=1', 'p2 no. 1'],
    ['p2', 'earlier', 'p2=2', 'p2 no. 2'],
  ]);
  expect((await batch(['export', 'out', '--all', '--format', 'junit'])).stdout).toContain('tests="4"');
  expect((await batch(['export', 'out', '--all', '--format', 'md'])).stdout).toMatch(/^## out: 2 done\n/);
  expect((await batch(['choose', 'out', 'p2=1'])).code).toBe(0);
  expect((await rows('--all')).slice(1).map((row) => row.slice(2))).toEqual([
    [undefined, 'p2 no. 1'],
    ['p2=2', 'p2 no. 2'],
    ['p2=3', 'p2 no. 3'],
  ]);
  // Once no row asks for them, there is no row by which they could be chosen.
  folder.jobs(...manyJobs(1));
  await batch();
  expect((await batch(['status', 'out'])).stdout).toContain('\n3 answers that no job asks for now: ');
  expect((await rows('--all')).slice(1).map((row) => row.slice(0, 3))).toEqual(
    Array.from({ length: 3 }, () => ['p2', 'earlier', undefined]),
  );
});

test('summary.json tells of the rows as the choice left them', async ({ server, folder, batch }) => {
  number(server);
  folder.jobs({ id: 'o', prompt: 'Plan' }, { id: 'l', prompt: 'Letter on {{@o.text}}' }, ...manyJobs(1));
  await batch();
  await batch(['redo', 'out', 'o']);
  const told = async () => {
    const [summary] = folder.lines('summary.json');
    const { states, failures } = JSON.parse((await batch(['status', 'out', '--json'])).stdout) as typeof summary &
      object;
    expect(summary).toMatchObject({ states, failures, outdir: 'out' });
    return [summary?.['ok'], summary?.['exitCode'], summary?.['outdated'], summary?.['tried'], summary?.['error']];
  };
  expect(await told()).toEqual([true, 0, 1, undefined, undefined]);
  await batch(['choose', 'out', 'o=1']);
  expect(await told()).toEqual([true, 0, undefined, undefined, undefined]);
  server.answer = () => ({ status: 400 });
  await batch(['redo', 'out', 'o,p1']);
  expect(await told()).toEqual([false, 13, undefined, 2, expect.objectContaining({ class: 'batch-failed' })]);
  await batch(['choose', 'out', 'o=2']);
  const message = '3 done (1 to make again, 1 outdated)';
  expect(await told()).toEqual([false, 13, 1, 1, expect.objectContaining({ class: 'batch-failed', message })]);
  await batch(['choose', 'out', 'p1=1']);
  expect(await told()).toEqual([true, 0, 1, undefined, undefined]);
});

test('rows that use the other answer are named, and what makes them again', async ({ server, folder, batch }) => {
  number(server);
  folder.jobs({ id: 'o', prompt: 'Plan' }, { id: 'l', prompt: 'Letter on {{@o.text}}' }, { id: 'x', prompt: 'Other' });
  await batch();
  await batch(['redo', 'out', 'o', '--accept-changes']);
  const chosen = await batch(['choose', 'out', 'o=1']);
  expect(chosen.stdout).toBe('o: answer 1 of 2 counts now, in place of answer 2\n');
  // The answer to what the letter was asked first is there.
  expect(chosen.stderr).toBe('the reports have it: gateway-cli batch export out\n');
  const texts = async () => textOf((await batch(['export', 'out', '--format', 'jsonl'])).stdout);
  expect((await texts())[1]).toBe('Letter no. 1');
  await batch(['redo', 'out', 'o']);
  const back = await batch(['choose', 'out', 'o=2']);
  expect(back.code).toBe(0);
  await batch(['choose', 'out', 'o=1']);
  const sent = server.bodies.length;
  expect(await batch()).toMatchObject({ code: 0 });
  expect(server.bodies).toHaveLength(sent);
  await batch(['redo', 'out', 'o', '--accept-changes']);
  folder.jobs({ id: 'o', prompt: 'Plan' }, { id: 'l', prompt: 'Note on {{@o.text}}' }, { id: 'x', prompt: 'Other' });
  await batch(['again', 'out', '--accept-changes']);
  const other = await batch(['choose', 'out', 'o=2']);
  expect(other.stderr).toContain('1 job uses another answer: l; ');
  const left = await batch(['again', 'out']);
  expect([left.code, left.stderr]).toEqual([0, expect.stringContaining('1 outdated: ')]);
  expect(await batch(['again', 'out', '--accept-changes'])).toMatchObject({ code: 0 });
  expect(JSON.stringify(server.bodies.at(-1))).toContain('Note on Plan no. 2');
});

test('a row that waits to be made again keeps the answer that is chosen', async ({ server, folder, batch }) => {
  number(server);
  folder.jobs(...manyJobs(2));
  await batch();
  await batch(['redo', 'out', 'p1,p2', '--limit', '1']);
  expect((await batch(['choose', 'out', 'p2=1'])).stdout).toBe(
    'p2: answer 1 of 1 counts, and the row is not made again\n',
  );
  expect(await batch()).toMatchObject({ code: 0 });
  expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 1 });
});

test('a row that a killed redo left unknown is settled by a choice: nothing is paid, and its cost stays counted', async ({
  server,
  folder,
  batch,
}) => {
  number(server);
  folder.jobs(...manyJobs(2));
  await batch();
  const results = folder.read('out/results.jsonl');
  await batch(['redo', 'out', '2']);
  // As if that run had been killed while its request was out.
  folder.write('out/results.jsonl', results);
  const records = folder.lines('journal.jsonl');
  folder.writeLines('out/journal.jsonl', records.slice(0, records.findLastIndex(({ t }) => t === 'sent') + 1));
  const status = async () => JSON.parse((await batch(['status', 'out', '--json'])).stdout) as Record<string, unknown>;
  expect(await status()).toMatchObject({ done: 1, unknown: 1, failures: [{ id: 'p2' }] });
  expect((await batch(['choose', 'out', '2=1'])).stdout).toBe(
    'p2: answer 1 of 1 counts, and the row is not made again\n',
  );
  expect(await status()).toMatchObject({ done: 2, unknown: 0, failures: [] });
  const countUnknownCosts = async () => (await readFolder(join(folder.cwd, 'out'))).state.spending.unknown;
  expect(await countUnknownCosts()).toBe(3);
  for (const words of [
    ['again', 'out'],
    ['retry', 'out', 'unknown'],
  ])
    expect(await batch(words)).toMatchObject({ code: 0 });
  expect(await status()).toMatchObject({ done: 2, unknown: 0, failures: [] });
  expect(await countUnknownCosts()).toBe(3);
  expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 2 });
  expect((await batch(['choose', 'out', '2=1'])).stdout).toContain('counts already');
});

test('a row whose redo was refused is settled by a choice', async ({ server, folder, batch }) => {
  folder.jobs(...manyJobs(2));
  await batch();
  server.answer = () => ({ status: 400 });
  expect(await batch(['redo', 'out', '1'])).toMatchObject({ code: 13 });
  expect((await batch(['choose', 'out', '1=1'])).stdout).toBe(
    'p1: answer 1 of 1 counts, and the row is not made again\n',
  );
  expect((await batch(['status', 'out'])).stdout).toBe('2 jobs: 2 done\n');
  const again = await batch(['again', 'out']);
  expect([again.code, again.stderr]).toEqual([0, expect.not.stringMatching('rejected|stays')]);
  expect(server.bodies).toHaveLength(3);
});

test('the same redo after a choice makes again all that it names, also what it had made', async ({
  server,
  folder,
  batch,
}) => {
  number(server);
  folder.jobs(...manyJobs(2));
  await batch();
  await batch(['redo', 'out', 'p1,p2', '--limit', '1']);
  await batch(['choose', 'out', 'p1=1']);
  await batch(['redo', 'out', 'p1,p2']);
  expect(Object.fromEntries(server.counts)).toEqual({ p1: 3, p2: 2 });
});

test('rows of a table are named by their numbers; one of several variations by its id', async ({
  server,
  folder,
  batch,
}) => {
  number(server);
  folder.write('rows.csv', 'city\nRome\nOslo\n');
  await batch(['run', '--data', 'rows.csv', '--vary', 'temperature=0,1', '-o', 'out', '{{city}}']);
  await batch(['redo', 'out', '2']);
  const several = await batch(['choose', 'out', '2=1']);
  expect([several.code, several.stderr]).toEqual([
    2,
    expect.stringContaining(`row 2 is 2 jobs: row-000002+temperature=0, row-000002+temperature=1
  name one of them: gateway-cli batch choose out row-000002+temperature=0=1\n`),
  ]);
  const one = await batch(['choose', 'out', '2+temperature=1=1']);
  expect(one).toMatchObject({ code: 0, stdout: expect.stringContaining('row-000002+temperature=1: answer 1 of 2') });
});

test.for(['{"prompt":"a"}\n{"prompt":"b"}\n', '{"id":"x","prompt":"a"}\n{"id":"y","prompt":"b"}\n'])(
  'a number is the row of the last run, whatever its file is now: %j',
  async (jobs, { server, folder, batch }) => {
    folder.write('jobs.jsonl', jobs);
    await batch();
    await batch(['redo', 'out', '2']);
    folder.write('jobs.jsonl', jobs.trimEnd().split('\n').toReversed().join('\n'));
    expect(await batch(['choose', 'out', '2=1'])).toMatchObject({ code: 0 });
    rmSync(join(folder.cwd, 'jobs.jsonl'));
    const { stdout } = await batch(['export', 'out', '--format', 'jsonl']);
    expect(textOf(stdout)).toEqual(['answer to a', 'answer to b']);
    expect((await batch(['choose', 'out', '2=2'])).stdout).toContain('answer 2 of 2 counts now');
    expect(server.bodies).toHaveLength(3);
  },
);

test('a row that waits for the answer of another one is not among those that use another answer', async ({
  server,
  folder,
  batch,
}) => {
  server.answer = (prompt) => (prompt === 'Plan' ? { status: 400 } : undefined);
  folder.jobs({ id: 'o', prompt: 'Plan' }, { id: 'l', prompt: 'Letter {{@o.text}}' }, { id: 'x', prompt: 'Other' });
  await batch();
  expect(await batch(['choose', 'out', 'x=1'])).toMatchObject({
    code: 0,
    stderr: 'the reports have it: gateway-cli batch export out\n',
  });
});

test.for([
  ['9=1', 'out has no job "9"', 'name ids, or numbers of rows: p1=1 p2=1 p3=1\n'],
  ['1-2=1', 'out has no job "1-2"', 'name each of them: p1=1 p2=1\n'],
  ['pp3=1', 'out has no job "pp3"', 'did you mean: p3=1\n'],
  ['p1=3', 'row p1 has 2 answers', 'gateway-cli batch choose out p1=2'],
  ['2=2', 'row 2 (p2) has 1 answer', 'gateway-cli batch redo out 2'],
  ['p3=1', 'row p3 has no answer', 'to see what sends it: gateway-cli batch status out\n'],
  ['p1', 'batch choose takes <row>=<answer>, not "p1"', 'gateway-cli batch choose out 3=1'],
] as const)('%s is refused: %s', async ([word, message, next], { server, folder, batch }) => {
  server.answer = (prompt) => (prompt === 'p3' ? { status: 400 } : undefined);
  folder.jobs(...manyJobs(3));
  await batch();
  await batch(['redo', 'out', 'p1']);
  const before = folder.read('out/journal.jsonl');
  const { code, stderr } = await batch(['choose', 'out', 'p1=1', word]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(stderr).toContain(next);
  expect(folder.read('out/journal.jsonl')).toBe(before);
});

test('each command for ids that begin with a dash works as it is printed', async ({ server, folder, batch }) => {
  const words = (command: string): string[] =>
    command
      .slice(command.indexOf('gateway-cli'))
      .replace('<file>', 'jobs.jsonl')
      .split(' ')
      .slice(2)
      .map((word) => word.replaceAll("'", ''));
  const typed = async (told: string, command: string) => {
    expect(told).toContain(`${command}\n`);
    expect(await batch(words(command))).toMatchObject({ code: 0 });
  };
  folder.jobs({ id: '-x', prompt: 'x' }, { id: '-y', prompt: 'y' });
  await batch();
  const unknown = await batch(['redo', 'out', 'zz']);
  expect(unknown.stderr).toContain("name ids, or numbers of rows: -- '-x,-y'\n");
  const more = await batch(['choose', 'out', '--', '-x=2']);
  await typed(more.stderr, "to get another one: gateway-cli batch redo out -- '-x'");
  const last = await batch(['choose', 'out', '--', '-x=3']);
  await typed(last.stderr, "the last one: gateway-cli batch choose out -- '-x=2'");
  server.answer = () => ({ status: 400 });
  await batch(['redo', 'out', '--', '-x,-y']);
  server.answer = () => undefined;
  await typed((await batch(['status', 'out'])).stdout, "2 to make again: gateway-cli batch redo out -- '-x,-y'");
  const text = folder.read('jobs.jsonl');
  await batch(['-', '-o', 'piped'], { stdin: text });
  const piped = await batch(['choose', 'piped', '--', '-y=2']);
  await typed(piped.stderr, "to get another one: gateway-cli batch redo piped -- '-y' <file>");
  folder.write('rows.csv', 'key\n-r\n');
  const rows = ['--id-column', 'key', '--data-format', 'csv', 'A {{key}}'];
  await batch(['run', '--data=-', '-o', 'rows', ...rows], { stdin: folder.read('rows.csv') });
  const row = await batch(['choose', 'rows', '--', '-r=2']);
  const command = "gateway-cli batch redo rows --data <file> -- '-r'";
  expect(row.stderr).toContain(command);
  expect(await batch(words(command.replace('<file>', 'rows.csv')))).toMatchObject({ code: 0 });
});

test('a folder that a run has, or that is none, is left alone', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(1));
  expect(await batch(['choose', 'out', '1=1'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no folder out'),
  });
  await batch();
  writeFileSync(join(folder.cwd, 'out/lock.json'), JSON.stringify(ownMark()));
  expect(await batch(['choose', 'out', '1=1'])).toMatchObject({
    code: 14,
    stderr: expect.stringContaining('works in this folder'),
  });
});

test('the gallery shows all answers of a row, with the commands that have another one count, and runs renew it', async ({
  server,
  folder,
  batch,
}) => {
  let answers = 0;
  server.answer = () => ({ body: textReply(`take ${++answers}`) });
  folder.jobs({ id: 'p 1', prompt: 'a' });
  await batch();
  const page = (): string => folder.read('out/index.html');
  await run(['batch', 'gallery', 'out'], { cwd: folder.cwd });
  expect(page()).toContain('take 1');
  expect(page()).not.toContain('<code>');
  expect(await batch(['--redo', 'p 1'])).toMatchObject({ code: 0 });
  const shown =
    /<bdi>take 2<[^]* earlier, done<[^]*<bdi>take 1<[^]*<code>gateway-cli batch choose out &#39;p 1=1&#39;<\/code>/;
  expect(page()).toMatch(shown);
  expect(await run(['batch', 'choose', 'out', 'p 1=1'], { cwd: folder.cwd })).toMatchObject({ code: 0 });
  expect(page()).toMatch(/<bdi>take 1<[^]* earlier, done<[^]*<bdi>take 2<[^]*&#39;p 1=2&#39;/);
  // A page elsewhere stays.
  await run(['batch', 'gallery', 'out', '-o', 'all.html'], { cwd: folder.cwd });
  const kept = folder.read('all.html');
  await batch(['--redo', 'p 1']);
  expect(page()).toContain('take 3');
  expect(folder.read('all.html')).toBe(kept);
});

test('of rows of a stream with the same id, one is named by its slot', async ({ server, folder, batch }) => {
  number(server);
  const line = (model: string) => ({ stdin: `{"id":"s","prompt":"hi","model":"${model}"}\n` });
  await batch(['run', '-', '--stream', '-o', 'out'], line('m1'));
  await batch(['again', 'out'], line('m2'));
  const slots = folder.lines('jobs.jsonl').flatMap(({ slot }) => slot ?? []);
  expect(slots).toHaveLength(2);
  const refused = await batch(['choose', 'out', 's=1']);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining(`row s is 2 jobs: s (slot ${slots[0]}), s (slot ${slots[1]})
  name one of them by its slot, which results.jsonl has, too: gateway-cli batch choose out ${slots[0]}=1\n`),
  ]);
  expect(await batch(['choose', 'out', `${slots[1]}=1`])).toMatchObject({
    code: 0,
    stdout: 's: answer 1 of 1 counts already\n',
  });
});
