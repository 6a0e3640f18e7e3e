import { text as textOf } from 'node:stream/consumers';
import { expect, test as plain } from 'vitest';
import { markdownReport, tableReport } from '../../../src/cli/commands/batch/reports.ts';
import { findColumns, toReportRow } from '../../../src/batch/row.ts';
import { test } from '../with-batch.ts';

plain.each([
  ['see https://evil.example/x', 'https:\u200b//'],
  ['mail me@example.org, @team and #12', '@\u200bteam and \\#\u200b12'],
  ['www.example.org', 'www\u200b.example'],
])('md makes no link and no mention of %s', async (text, shown) => {
  const rows = [toReportRow({ id: 'a', state: 'done' }, { text })];
  const about = { title: 'out: 1 done' };
  const line = await textOf(markdownReport({ columns: await findColumns([rows]), rows: [rows] }, about));
  expect(line).toContain(shown.replace('\\#', '#'));
});

plain('csv has no formula behind a semicolon, at which some spreadsheets part cells', async () => {
  const rows = [toReportRow({ id: 'a', state: 'done' }, { text: 'x;=HYPERLINK("http://x");\t@y; - and -' })];
  const report = tableReport({ columns: await findColumns([rows]), rows: [rows] }, { delimiter: ',' });
  expect(await textOf(report)).toContain(`x;'=HYPERLINK(""http://x"");\t'@y; - and -`);
});

test('gallery replaces its own page, and no other', async ({ folder, batch }) => {
  folder.jobs({ id: 'a', prompt: 'p' });
  await batch();
  folder.write('out/index.html', '<h1>mine</h1>');
  const refused = await batch(['gallery', 'out']);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('index.html');
  expect(folder.read('out/index.html')).toBe('<h1>mine</h1>');
  folder.write('out/index.html', '');
  expect((await batch(['gallery', 'out'])).code).toBe(0);
  expect((await batch(['gallery', 'out'])).code).toBe(0);
  expect(folder.read('out/index.html')).toContain('<main>');
});

test('promptfoo finds no template, file, package or reference in the texts of a batch', async ({
  server,
  folder,
  batch,
}) => {
  const code = '{{range.constructor("return 1")()}}';
  const cells = [code, 'file:///etc/hostname', 'package:evil:fn', '{% endraw %}{% set a = 1 %}{# c #}', '{{{x}}}'];
  const vars = {
    code,
    cells,
    $ref: 'file:///etc/hostname',
    deep: { $ref: 'https://x.invalid/a.json' },
    plain: '{"a":1}',
  };
  server.answer = () => ({
    body: { candidates: [{ content: { parts: [{ text: 'key is {{ env.OPENAI_API_KEY }}' }] }, finishReason: 'STOP' }] },
  });
  folder.jobs({ id: '{{ env.HOME }}', prompt: 'Greet {{code}}', vars });
  await batch(['run', 'jobs.jsonl', '-o', 'out{{1}}']);
  await batch(['export', 'out{{1}}', '-o', 'promptfooconfig.json']);
  const text = folder.read('promptfooconfig.json').replace('"prompts":["{{prompt}}"]', '');
  expect(text.replaceAll('\u200b', '')).toContain(`"code":${JSON.stringify(code)}`);
  expect(text).not.toMatch(/\{[{%#]|"(?:file|package):|"\$ref"/);
  const { tests = [] } = JSON.parse(folder.read('promptfooconfig.json')) as { tests?: Record<string, unknown>[] };
  expect(tests[0]).toMatchObject({
    vars: { prompt: `Greet {\u200b${code.slice(1)}`, plain: '{"a":1}' },
    providerOutput: 'key is {\u200b{ env.OPENAI_API_KEY }}',
  });
});

test('promptfoo is told no prompt of which only the template is known', async ({ folder, batch }) => {
  folder.jobs({ id: 'outline', prompt: 'Plan' }, { id: 'chapter', prompt: 'Write: {{@outline.text}}' });
  await batch();
  await batch(['export', 'out', '-o', 'promptfooconfig.json']);
  const { tests = [] } = JSON.parse(folder.read('promptfooconfig.json')) as { tests?: { vars: object }[] };
  expect(tests.map(({ vars }) => vars)).toEqual([{ prompt: 'Plan' }, {}]);
});
