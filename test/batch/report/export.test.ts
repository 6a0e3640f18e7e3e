import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import { lexer, type Tokens } from 'marked';
import { expect, test as plain } from 'vitest';
import { junitReport, markdownReport } from '../../../src/cli/commands/batch/reports.ts';
import { findColumns, type ReportRow, toReportRow } from '../../../src/batch/row.ts';
import { imageReply } from '../../helpers/with-server.ts';
import { run } from '../../helpers/run.ts';
import { type BatchFolder, createFolder, manyJobs, test } from '../with-batch.ts';

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Texts that a spreadsheet would run, a reader of tables would take apart, or a terminal obey. */
const texts = [
  '=HYPERLINK("http://x","y")',
  '+1',
  '-2+3',
  '@sum',
  '\t=1',
  '\r=1',
  '\uff1d1',
  '\uff0b1',
  '\uff0d1',
  '\uff201',
  'a,b;c\td',
  'say "hi"\r\nand\nbye\n',
  '😀 é 漢 \u0000\u001b[31m\u2028x',
  '<b>|`x`\\| ![](http://x) $a$ &amp;',
  ' leading and trailing ',
  '\n=1',
  ' =1',
  '\u0000=1',
  '\ufeff@sum',
  'two\nlines',
  'two\rlines',
];

/** What a cell of a text holds once it is harmless. */
const harmless = (text: string): string =>
  /^[\s\p{Cc}]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/u.test(text) ? `'${text}` : text;

/** Puts results in the place of those that a run of the jobs wrote. */
function replaceResults(folder: BatchFolder, more: readonly object[]): void {
  const numberOf = ({ id }: Record<string, unknown>): number => Number(String(id).slice(1));
  const inOrder = folder.lines('results.jsonl').toSorted((a, b) => numberOf(a) - numberOf(b));
  const lines = inOrder.map((line, index) => JSON.stringify({ ...line, ...more[index] }));
  folder.write('out/results.jsonl', `${lines.join('\n')}\n`);
}

plain.for([
  ['csv', ','],
  ['tsv', '\t'],
] as const)('%s is read back by another program, and no cell is a formula', async ([format, delimiter]) => {
  const folder = createFolder();
  const { cwd } = folder;
  folder.jobs(...manyJobs(texts.length));
  await run(['batch', 'jobs.jsonl', '-o', 'out', '--offline'], { cwd });
  replaceResults(
    folder,
    texts.map((text, index) => ({
      text,
      vars: { '=own': text, text: '-5', count: -index },
      cost: { amount: '0.0012', currency: 'USD' },
    })),
  );
  const ran = await run(['batch', 'export', 'out', '--format', format], { cwd });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  const rows = parse<Record<string, string>>(ran.stdout, {
    columns: true,
    delimiter,
    // As spreadsheets read: any of them ends a row.
    record_delimiter: ['\r\n', '\n', '\r'],
  });
  expect(rows.map(({ text }) => text)).toEqual(texts.map(harmless));
  expect(rows.map((row) => row["'=own"])).toEqual(texts.map(harmless));
  expect(rows.map((row) => [row['vars.text'], row['count']])).toEqual(texts.map((_, i) => ['-5', String(-i)]));
  expect(rows[0]).toMatchObject({ id: 'p1', state: 'done', 'cost.amount': '0.0012', 'cost.currency': 'USD' });
});

test('has a row for each job in the order of the job file, with its answer, its pictures and its error', async ({
  server,
  folder,
  batch,
}) => {
  server.answer = (prompt) => {
    if (prompt === 'dot') return { body: imageReply({ mimeType: 'image/png', data: dot }) };
    if (prompt === 'bad') return { status: 400, body: { error: { message: 'no | good' } } };
    if (prompt === 'gone') return { drop: true };
    return {
      body: { candidates: [{ content: { parts: [{ text: '{"born":1815,"tags":["a"]}' }] }, finishReason: 'STOP' }] },
    };
  };
  folder.jobs(
    { id: 'gone', prompt: 'gone' },
    { id: 'bad', prompt: 'bad' },
    { id: 'dot', command: 'image gen', prompt: 'dot', name: 'my dot' },
    { id: 'ada', prompt: 'Ada', schema: { type: 'object' } },
  );
  await batch(['--retries', '0', '--concurrency', '4']);
  const csv = await batch(['export', 'out', '-o', 'r.csv']);
  expect(csv).toMatchObject({ code: 0, stdout: 'r.csv\n', stderr: '' });
  const rows = parse<Record<string, string>>(folder.read('r.csv'), { columns: true });
  expect(rows.map(({ id, state }) => [id, state])).toEqual([
    ['gone', 'unknown'],
    ['bad', 'failed'],
    ['dot', 'done'],
    ['ada', 'done'],
  ]);
  expect(rows[0]).toMatchObject({ prompt: 'gone', 'error.class': 'no-reply' });
  expect(rows[1]).toMatchObject({
    'error.class': 'rejected',
    'error.message': expect.stringContaining('no | good') as string,
  });
  expect(rows[2]).toMatchObject({ name: 'my dot', command: 'image gen', images: 'images/my dot.png', attempts: '1' });
  expect(rows[3]).toMatchObject({ 'answer.born': '1815', 'answer.tags': '["a"]' });
  const lines = (await batch(['export', 'out', '--format', 'jsonl'])).stdout.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as ReportRow)).toMatchObject([
    { id: 'gone', error: { class: 'no-reply' } },
    { id: 'bad' },
    { id: 'dot', images: ['images/my dot.png'] },
    { id: 'ada', answer: { born: 1815, tags: ['a'] } },
  ]);
});

plain('md is one table for GitHub, whatever the texts hold', async () => {
  const rows = texts.map((text, index) => toReportRow({ id: `p${index}`, state: 'done' }, { text, prompt: text }));
  const table = { columns: await findColumns([rows]), rows: [rows] };
  const page = await textOf(markdownReport(table, { title: `my_out: ${texts.length} done, 1 failed` }));
  const tokens = lexer(page).filter(({ type }) => type !== 'space');
  expect(tokens.map(({ type }) => type)).toEqual(['heading', 'table']);
  expect((tokens[0] as Tokens.Heading).text).toBe(String.raw`my\_out: ${texts.length} done, 1 failed`);
  const { header, rows: lines } = tokens[1] as Tokens.Table;
  expect(lines.map(([id]) => id?.text)).toEqual(rows.map(({ id }) => id));
  const at = header.findIndex(({ text }) => text === 'text');
  const shown = lines.map((cells) => seenText(cells[at]?.tokens ?? []));
  const seen = (text: string): string => text.replaceAll(/\r\n|[\r\n\u2028]/g, '<br>').replaceAll(/\p{Cc}/gu, ' ');
  expect(shown.map((text) => text.replaceAll('\u200b', '').trim())).toEqual(texts.map((text) => seen(text).trim()));
});

/** What a reader sees of a cell; line breaks are the only HTML. */
function seenText(tokens: readonly object[]): string {
  return (tokens as Tokens.Generic[])
    .map((token) => {
      if (token.type === 'html') return token.raw;
      expect(['text', 'escape', 'link']).toContain(token.type);
      return token.text as string;
    })
    .join('');
}

plain('md leaves out what GitHub would not take, and says how many', async () => {
  const rows = [1, 2, 3].map((n) =>
    toReportRow({ id: `p${n}`, state: 'done' }, { text: n === 2 ? 'x'.repeat(2000) : 'short' }),
  );
  const about = { title: 'out: 3 done' };
  const page = await textOf(markdownReport({ columns: await findColumns([rows]), rows: [rows] }, about, 2048));
  expect(Buffer.byteLength(page)).toBeLessThanOrEqual(2048);
  expect(page).toContain('| p3 |');
  expect(page).toContain('1 more: a summary on GitHub can have 2 KiB');
});

test('junit leaves out a beginning that no calendar has', async ({ folder, batch }) => {
  folder.jobs({ id: 'a', prompt: 'p' });
  await batch();
  const lines = folder.lines('journal.jsonl').map((line) => JSON.stringify({ ...line, at: 1e300 }));
  folder.write('out/journal.jsonl', `${lines.join('\n')}\n`);
  const ran = await batch(['export', 'out', '--format', 'junit']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toContain('<testcase name="a"');
  expect(ran.stdout).not.toContain('timestamp');
});

plain('junit tells what failed, what is unknown and what waits, in XML 1.0', async () => {
  const counts = { failed: 1, unknown: 1, pending: 1 };
  const message = 'a<b>&"\'\n\u0000\u001b\ud800\uffff😀';
  const rows: ReportRow[] = [
    toReportRow({ id: '1\t2', state: 'done' }, { command: 'text', durationMs: 71 }),
    toReportRow({ id: '2', state: 'failed' }, { command: 'chat', error: { class: 'rejected', message } }),
    { id: '3', state: 'unknown', images: [] },
    { id: '4', state: 'pending', images: [] },
  ];
  const escaped = 'a&#60;b&#62;&#38;&#34;&#39;&#10;😀';
  const report = junitReport([rows], { name: 'a"b', counts, rows: 4, durationMs: 2500, beganAt: 0 });
  expect(await textOf(report)).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="gateway-cli batch" tests="4" failures="1" errors="1" time="2.500">
  <testsuite name="a&#34;b" tests="4" failures="1" errors="1" time="2.500" skipped="1" timestamp="1970-01-01T00:00:00">
    <testcase name="1&#9;2" classname="text" time="0.071"/>
    <testcase name="2" classname="chat" time="0.000">
      <failure type="rejected" message="${escaped}">${escaped}</failure>
    </testcase>
    <testcase name="3" classname="job" time="0.000">
      <error type="unknown" message="no error is known">no error is known</error>
    </testcase>
    <testcase name="4" classname="job" time="0.000">
      <skipped message="not sent yet"/>
    </testcase>
  </testsuite>
</testsuites>
`);
});

test('-o takes its format from the name, and replaces nothing by itself', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(1));
  await batch();
  expect(await batch(['export', 'out', '-o', 'r.xml'])).toMatchObject({ code: 0 });
  expect(folder.read('r.xml')).toContain('<testcase name="p1"');
  const taken = await batch(['export', 'out', '-o', 'r.xml', '--format', 'md']);
  expect(taken).toMatchObject({ code: 2, stdout: '' });
  expect(taken.stderr).toContain('--force');
  expect(await batch(['export', 'out', '-o', 'r.xml', '--format', 'md', '--force'])).toMatchObject({ code: 0 });
  expect(folder.read('r.xml')).toContain('## out: 1 done');
  for (const name of ['out/results.jsonl', 'out/jobs.jsonl']) {
    const text = folder.read(name);
    expect(await batch(['export', 'out', '-o', name, '--force'])).toMatchObject({ code: 2 });
    expect(folder.read(name)).toBe(text);
  }
  for (const own of ['lock.json', 'images/p1.csv']) {
    const refused = await batch(['export', 'out', '-o', `out/${own}`, '--format', 'csv']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('the batch keeps its own') });
    expect(existsSync(join(folder.cwd, 'out', own))).toBe(false);
  }
  const both = await batch(['export', 'out', '--json']);
  expect(both.stderr).toContain('both write to stdout');
  const told = await batch(['export', 'out', '--json', '-o', 'r.tsv']);
  expect(JSON.parse(told.stdout)).toMatchObject({ path: 'r.tsv', format: 'tsv', rows: 1 });
  expect(existsSync(join(folder.cwd, 'r.tsv'))).toBe(true);
});

test('a table in a file is that of a pipe, whatever the order of the results, and when a late one brings a column', async ({
  folder,
  batch,
}) => {
  folder.jobs(...manyJobs(5));
  await batch();
  const [ownId, otherId] = [{ vars: { id: 'p5', a: 1 } }, { vars: { b: 1, id: 'x' } }];
  replaceResults(folder, [{ text: 'é\r\n' }, { answer: { late: 1 } }, { text: 'x'.repeat(40_000) }, otherId, ownId]);
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = folder.read('out/results.jsonl').split('\n');
  const ofOtherRequest = fourth.replace(/"slot":"[^"]+"/, `"slot":"${'0'.repeat(32)}"`);
  const lines = [fifth, third, first.replace('é', 'old'), first, fourth, ofOtherRequest, second];
  folder.write('out/results.jsonl', `${lines.join('\n')}\n`);
  for (const format of ['csv', 'tsv', 'jsonl']) {
    const piped = await batch(['export', 'out', '--format', format]);
    expect(await batch(['export', 'out', '-o', `r.${format}`])).toMatchObject({ code: 0 });
    expect(folder.read(`r.${format}`)).toBe(piped.stdout);
    expect(folder.read(`r.${format}`)).toContain(format === 'jsonl' ? '"late":1' : 'answer.late');
  }
});

test('reports what cannot be read in the results', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(1));
  await batch();
  appendFileSync(join(folder.cwd, 'out/results.jsonl'), 'not JSON\n');
  expect((await batch(['export', 'out'])).stderr).toContain('1 line of results.jsonl cannot be read');
});

plain('--format json is exit 2, with the format that comes next to it', async () => {
  const ran = await run(['batch', 'export', 'out', '--format', 'json']);
  expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/not 'json'\n.*: --format jsonl\n/) });
});

test.for([
  ['-o', 'out.xlsx'],
  ['-o', 'out.ods'],
])('a report is not written under the name of a workbook: %s', async (flags, { batch, folder }) => {
  folder.jobs(...manyJobs(1));
  await batch(['--offline']);
  const ran = await run(['batch', 'export', 'out', ...flags], { cwd: folder.cwd });
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('a report cannot be written as')]);
  expect(ran.stderr).toContain('for Excel with --bom');
  expect(existsSync(join(folder.cwd, flags[1] as string))).toBe(false);
});

test('--bom begins a table with a byte order mark, and is refused for other reports', async ({ batch, folder }) => {
  folder.jobs(...manyJobs(1));
  await batch(['--offline']);
  expect((await run(['batch', 'export', 'out', '--bom', '-o', 'a.csv'], { cwd: folder.cwd })).code).toBe(0);
  expect(folder.read('a.csv')).toMatch(/^\uFEFFid,/);
  const ran = await run(['batch', 'export', 'out', '--bom', '--format', 'md'], { cwd: folder.cwd });
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('--bom is for CSV and TSV, not md')]);
});

test.for(['r.json', 'r.yaml', 'r.HTML'])(
  'a report is not written under the name of another format: %s',
  async (name, { batch, folder }) => {
    folder.jobs(...manyJobs(1));
    await batch();
    const ran = await batch(['export', 'out', '-o', name]);
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(`-o ${name}: a report cannot be written as .`)]);
    expect(ran.stderr).toContain('-o results.jsonl; or name its format: --format csv');
    expect(existsSync(join(folder.cwd, name))).toBe(false);
    expect(await batch(['export', 'out', '-o', name, '--format', 'jsonl'])).toMatchObject({ code: 0 });
    expect(await batch(['export', 'out', '-o', 'r.txt'])).toMatchObject({ code: 0 });
  },
);

test.for(['csv', 'tsv', 'md', 'junit', 'jsonl', 'promptfoo'])(
  'a %s on a terminal has no control characters of the texts, not even colours, and in a pipe all of them',
  async (format, { server, batch, folder }) => {
    const text = 'a\u001b[31mb\u202ec';
    server.answer = () => ({ body: { candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }] } });
    folder.jobs({ id: 'e', prompt: 'p' });
    await batch();
    const words = ['export', 'out', '--format', format];
    const shown = await batch(words, { tty: { stdout: true } });
    expect(shown.stdout).not.toMatch(/(?![\t\r\n])[\p{Cc}\p{Bidi_Control}]/u);
    if (format !== 'csv' && format !== 'tsv') return;
    expect(shown.stdout).toContain('a^[[31mb<U+202E>c');
    expect((await batch(words)).stdout).toContain(text);
  },
);

test('with --all, an answer that no row asks now is told apart from those of the table, in every format', async ({
  folder,
  batch,
}) => {
  folder.write('rows.csv', 'city,version\nRome,1\nOslo,2\n');
  const rows = (template: string, ...more: string[]) => batch(['--data', 'rows.csv', template, ...more]);
  const both = { cwd: folder.cwd };
  expect(await rows('A slogan for {{city}}, {{version}}')).toMatchObject({ code: 0 });
  expect(await rows('A song for {{city}}, {{version}}', '--accept-changes', '--limit', '1')).toMatchObject({ code: 0 });
  const exported = (...more: string[]) => run(['batch', 'export', 'out', ...more], both);
  // What was edited shows no earlier answer until the new one is there.
  const table = parse((await exported()).stdout, { columns: true }) as Record<string, string>[];
  expect(table.map(({ id, state, version, text }) => [id, state, version, text])).toEqual([
    ['row-000001', 'done', '1', expect.stringContaining('A song for Rome')],
    ['row-000002', 'pending', '2', ''],
  ]);
  const all = parse((await exported('--all')).stdout, { columns: true }) as Record<string, string>[];
  expect(all.map((row) => [row['id'], row['version'], row['vars.version']])).toEqual([
    ['row-000001', 'now', '1'],
    ['row-000002', 'now', '2'],
    ['row-000001', 'earlier', '1'],
    ['row-000002', 'earlier', '2'],
  ]);
  const lines = (await exported('--all', '--format', 'jsonl')).stdout.trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as ReportRow).version)).toEqual(['now', 'now', 'earlier', 'earlier']);
  expect((await exported('--all', '--format', 'md')).stdout).toContain('| row-000002 | earlier | ');
});

test('an answer whose line another program took out of results.jsonl is told in its row', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(3));
  await batch();
  const [, ...left] = folder.read('out/results.jsonl').trimEnd().split('\n');
  folder.write('out/results.jsonl', `${left[0]}\n`);
  const exported = await run(['batch', 'export', 'out'], { cwd: folder.cwd });
  expect(exported.stdout.match(/not-written,its line is not in results.jsonl any more/g)).toHaveLength(2);
});
