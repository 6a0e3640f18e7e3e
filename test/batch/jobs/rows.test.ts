import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { run } from '../../helpers/run.ts';
import { createFolder, test } from '../with-batch.ts';

const argv = ['run', '--data', 'rows.csv', '--template', 'prompt.md', '-o', 'out', '--concurrency', '1'];
const rows = 'key,city,n\na,Rome,5\nb,"Oslo, ""east""",7\n';
const prompts = (bodies: readonly object[]) => bodies.map((body) => /"text":"(.*?)"\}/.exec(JSON.stringify(body))?.[1]);

test('each row fills the template and the flags, is paid once, and counts as edited when it changes', async ({
  server,
  folder,
  batch,
}) => {
  folder.write('rows.csv', rows);
  folder.write('prompt.md', 'A slogan for {{city}} in {{lang}}, {{ key }}');
  const defaults = ['--defaults', '{"maxTokens":"{{n}}","system":"as {{key}}","vars":{"lang":"{{fr}}"}}'];
  const all = [...argv, ...defaults, '--id-column', 'key'];
  expect(await batch(all)).toMatchObject({ code: 0 });
  expect(prompts(server.bodies)).toEqual([
    'A slogan for Rome in {{fr}}, a',
    String.raw`A slogan for Oslo, \"east\" in {{fr}}, b`,
  ]);
  expect(server.bodies[1]?.['body']).toMatchObject({
    generationConfig: { maxOutputTokens: 7 },
    systemInstruction: { parts: [{ text: 'as b' }] },
  });
  expect(folder.lines('results.jsonl').map(({ id }) => id)).toEqual(['a', 'b']);

  expect(await batch(all)).toMatchObject({ code: 0 });
  expect(server.bodies).toHaveLength(2);
  // A column that nothing uses, and a row in front, change no job.
  folder.write('rows.csv', rows.replace('n\n', 'n,x\n').replace('5\n', '5,1\n').replace('7\n', '7,2\nc,Bern,9,3\n'));
  expect(await batch(all)).toMatchObject({ code: 0 });
  expect(server.bodies).toHaveLength(3);

  folder.write('rows.csv', rows.replace('Rome', 'Roma'));
  const changed = await batch(all);
  expect(changed).toMatchObject({ code: 14 });
  expect(changed.stderr).toContain('a');
  expect(await batch([...all, '--accept-changes'])).toMatchObject({ code: 0 });
  expect(server.bodies).toHaveLength(4);
  folder.write('prompt.md', 'Another for {{city}}');
  expect(await batch(all)).toMatchObject({ code: 14 });
  expect(server.bodies).toHaveLength(4);
});

test('takes a prompt file with its own test data, or rows for it from stdin', async ({ server, folder, batch }) => {
  folder.write(
    'p.prompt.yml',
    'model: own\nmessages:\n  - {role: system, content: "be {{tone}}"}\n  - {role: user, content: "see {{city}}"}\n' +
      'testData:\n  - {city: Rome, tone: brief, expected: x}\n  - {city: Oslo, tone: 3}\n',
  );
  expect(await batch(['run', '--template', 'p.prompt.yml', '-o', 'own', '--concurrency', '1'])).toMatchObject({
    code: 0,
  });
  expect(prompts(server.bodies)).toEqual(['see Rome', 'see Oslo']);
  expect(folder.lines('results.jsonl', 'own').map(({ id }) => id)).toEqual(['row-000001', 'row-000002']);
  const argv = ['run', '--template', 'p.prompt.yml', '--data', '-', '--data-format', 'jsonl', '-o', 'out'];
  const stdin = '{"city":"Bern","tone":null}\n';
  expect(await batch([...argv, '--defaults', '{"system":"loud"}'], { stdin })).toMatchObject({ code: 0 });
  expect(server.bodies[2]?.['body']).toMatchObject({ systemInstruction: { parts: [{ text: 'loud' }] } });
  expect(prompts(server.bodies)[2]).toBe('see Bern');
});

test('reports all rows that are wrong at once, sends nothing and makes no folder', async ({
  server,
  folder,
  batch,
}) => {
  folder.write('rows.csv', 'key,n\na,1\nb\na,2\nc,many\n');
  const ran = await batch([
    'run',
    '--data',
    'rows.csv',
    '-o',
    'out',
    '--id-column',
    'key',
    '--defaults',
    '{"prompt":"{{key}}","maxTokens":"{{n}}"}',
  ]);
  expect(ran).toMatchObject({ code: 2 });
  expect(ran.stderr).toContain('3 lines of rows.csv are not valid jobs; nothing was sent');
  expect(ran.stderr).toContain('rows.csv:3: row 2 has 1 cell, and there are 2 headings');
  expect(ran.stderr).toContain('rows.csv:4: the id "a" is already used in line 2');
  expect(ran.stderr).toContain(`rows.csv:5: "maxTokens" of --defaults takes a whole number from 1, not 'many'`);
  expect(server.bodies).toEqual([]);
  expect(existsSync(join(folder.cwd, 'out'))).toBe(false);
});

test('rows of a JSON array are named by their numbers', async ({ folder, batch }) => {
  const argv = ['--data', 'rows.json', '-o', 'out', '{{city}}', '--defaults', '{"maxTokens":"{{n}}"}'];
  const wrong = [{ city: 'Rome', n: 1, k: 'a' }, { city: 'Oslo', n: 'x', k: 'b' }, 7, { city: 'Bern', n: 2, k: 'a' }];
  const lines = [JSON.stringify(wrong), `[${wrong.map((row) => JSON.stringify(row)).join(',\n')}]`];
  for (const text of lines) {
    folder.write('rows.json', text);
    const { code, stderr } = await batch(['run', ...argv]);
    expect(code).toBe(2);
    expect(stderr).toContain('rows.json: row 2: "maxTokens"');
    expect(stderr).toContain('rows.json: row 3: a row is a JSON object\n');
  }
  folder.write('rows.json', JSON.stringify(wrong.filter((row) => typeof row === 'object' && row.n !== 'x')));
  const twice = await batch(['run', ...argv, '--id-column', 'k']);
  expect(twice.stderr).toContain('rows.json: row 2: the id "a" is already used in row 1\n');
  folder.write('rows.json', '[{"k":"a"},{"k":""}]');
  const empty = await batch(['run', '--data', 'rows.json', '-o', 'out', '{{k}}', '--id-column', 'k']);
  expect(empty.stderr).toContain('rows.json: row 2 has no id: ');
});

test('leaves out rows of a spreadsheet without a value', async ({ server, folder, batch }) => {
  const words = ['run', '--data', 'rows.csv', '-o', 'out', 'see {{city}}'];
  folder.write('rows.csv', 'city,n\nRome,1\n,\nOslo,2\n""," "\n,,,\n');
  const first = await batch(words);
  expect(first.stderr).toContain('3 rows of rows.csv without a value are left out\n');
  expect(prompts(server.bodies).toSorted()).toEqual(['see Oslo', 'see Rome']);
  expect(
    folder
      .lines('results.jsonl')
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(['row-000001', 'row-000003']);
  expect(await batch(words)).toMatchObject({ code: 0 });
  expect(server.bodies).toHaveLength(2);
});

test.for([
  ['{{nmae}}', 'the nearest name with a value is name'],
  ['{{x}}', 'names with a value: name, town'],
])('reports only once that no column fills %s', async ([blank, names], { server, folder, batch }) => {
  folder.write('rows.csv', `name,town\n${'a,b\n'.repeat(12)}`);
  const ran = await batch(['run', '--data', 'rows.csv', '-o', 'out', '--defaults', `{"prompt":"${blank}"}`]);
  expect(ran.stderr).toContain(`12 lines of rows.csv are not valid jobs; nothing was sent
  rows.csv:2: ${blank} has no value: the prompt (the same in 11 more)
  ${names}
  add a column `);
  expect(server.bodies).toEqual([]);
});

const table =
  'Größe (cm),Kommentar?,2024,Ort/Land,Preis €,"Zwei\nZeilen",a|b\n180,gut,7,Rom/IT,5,ja,x\n175,naja,8,Oslo,6,nein,y\n';

test.for(['Größe (cm)', 'Kommentar?', '2024', 'Ort/Land', 'Preis €', 'Zwei Zeilen', 'Zwei\nZeilen', 'a|b', ' 2024 '])(
  'a blank is the column of that heading, whatever it is: %s',
  async (name, { server, folder, batch }) => {
    folder.write('rows.csv', table);
    folder.write('prompt.md', `See {{${name}}} and {"n":\${{${name}}}}`);
    expect(await batch(argv)).toMatchObject({ code: 0 });
    const column = ['Größe (cm)', 'Kommentar?', '2024', 'Ort/Land', 'Preis €', 'Zwei Zeilen', 'a|b'].indexOf(
      name.trim().replace('\n', ' '),
    );
    const cells = [
      ['180', 'gut', '7', 'Rom/IT', '5', 'ja', 'x'],
      ['175', 'naja', '8', 'Oslo', '6', 'nein', 'y'],
    ].map((row) => row[column]);
    expect(prompts(server.bodies)).toEqual(cells.map((cell) => String.raw`See ${cell} and {\"n\":$${cell}}`));
  },
);

test('columns of any heading fill --defaults and --vary, and what all rows share fills them, too', async ({
  server,
  folder,
  batch,
}) => {
  folder.write('rows.csv', table);
  const defaults = '{"maxTokens":"{{2024}}","stop":"{{end}}","vars":{"end":"."}}';
  const vary = ['--vary', 'system=["in {{Ort/Land}}"]', '--vary', 'temperature=["{{Preis €}}"]'];
  const words = ['run', '--data', 'rows.csv', '-o', 'out', '--concurrency', '1', 'x {{a|b}}'];
  const ran = await batch([...words, '--defaults', defaults, ...vary]);
  expect(ran).toMatchObject({ code: 0 });
  expect(server.bodies[0]?.['body']).toMatchObject({
    generationConfig: { maxOutputTokens: 7, temperature: 5, stopSequences: ['.'] },
    systemInstruction: { parts: [{ text: 'in Rom/IT' }] },
  });
});

test.for([
  [
    'see {{Grösse (cm)}}',
    '{{Grösse (cm)}} has no value: the prompt after batch',
    'the nearest name with a value is Größe (cm)',
  ],
  ['{{#if 2024}} {{2024}}', '{{#if 2024}} has no value', 'to send {{…}} unchanged: --no-vars'],
  ['{{2024}} ${{ x }} {{{y}}}', '{{x}}, {{y}} have no value', "add a column 'x', or a value for all rows: --defaults"],
  ['see {Kommentar?} {{', 'no column is used: each row would send the same', 'into the prompt: {{Kommentar?}}\n'],
  [
    'after {{@{{2024}}.text}}',
    '{{@{{2024}}.text}} has braces within braces',
    'lines of a job file: gateway-cli help batch',
  ],
  ['see ${2024}, please', 'no column is used: each row would send the same', 'once for each row: --no-vars'],
] as const)(
  'refuses a prompt that would be paid for with its braces: %s',
  async ([prompt, what, hint], { server, folder, batch }) => {
    folder.write('rows.csv', table);
    const words = ['run', '--data', 'rows.csv', '-o', 'out', prompt];
    for (const trial of [[], ['--dry-run'], ['--estimate']]) {
      const ran = await batch([...words, ...trial]);
      expect(ran).toMatchObject({ code: 2 });
      expect(ran.stderr).toContain(what);
      expect(ran.stderr).toContain(hint);
    }
    expect(server.bodies).toEqual([]);
  },
);

test('a text that uses a heading which is there twice is refused, and any other is sent', async ({
  server,
  folder,
  batch,
}) => {
  folder.write('rows.csv', 'Ort;Preis;Preis;;\nRom;5;6;;\n');
  const words = ['run', '--data', 'rows.csv', '-o', 'out'];
  const ran = await batch([...words, '{{Ort}} {{Preis}}']);
  expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('Ort, Preis (1), Preis (2)') });
  expect(await batch([...words, '{{Ort}} {{Preis (2)}}'])).toMatchObject({ code: 0 });
  expect(prompts(server.bodies)).toEqual(['Rom 6']);
});

test('a row whose cell is empty, and whose prompt is that cell, is left out and told', async ({
  server,
  folder,
  batch,
}) => {
  folder.write('rows.csv', 'id,Kommentar\n1,gut\n2,\n3," "\n4,naja\n');
  const words = ['run', '--data', 'rows.csv', '--id-column', 'id', '--concurrency', '1'];
  const ran = await batch([...words, '-o', 'out', '{{Kommentar}}']);
  expect(ran).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('2 rows of rows.csv without a value are left out'),
  });
  expect(prompts(server.bodies)).toEqual(['gut', 'naja']);
  expect(folder.lines('results.jsonl').map(({ id }) => id)).toEqual(['1', '4']);
  const other = await batch([...words, '-o', 'other', 'Satz: {{Kommentar}}', '--limit', '2']);
  expect(other).toMatchObject({ code: 0, stderr: expect.not.stringContaining('left out') });
  expect(server.bodies).toHaveLength(4);
  const estimated = await batch([...words, '{{Kommentar}}', '--estimate']);
  expect(estimated.stderr).toContain('2 rows of rows.csv without a value are left out');
});

test('a table has the separator of --delimiter, and so has a report', async ({ folder, batch }) => {
  folder.write('rows.csv', 'Ort;Preis\nRom;5,5\n');
  await batch(['run', '--data', 'rows.csv', '-o', 'out', 'see {{Ort}}']);
  const report = async (...flags: string[]) => (await batch(['export', 'out', ...flags])).stdout.split('\n')[1];
  expect(await report()).toContain(',Rom,"5,5",');
  expect(await report('--delimiter', ';')).toContain(';Rom;5,5;');
  expect(await report('--delimiter', 'tab')).toContain('\tRom\t5,5\t');
  expect(await report('--format', 'tsv')).toContain('\tRom\t5,5\t');
  expect(await batch(['export', 'out', '--delimiter', ';', '--format', 'md'])).toMatchObject({ code: 2 });
  folder.write('pipes.csv', 'Ort|Preis\nRom|5\n');
  const pipes = ['run', '--data', 'pipes.csv', '--delimiter', '|', '-o', 'pipes', 'see {{Ort}}'];
  expect(await batch(pipes)).toMatchObject({ code: 0 });
  expect((await batch(['export', 'pipes'])).stdout).toContain(',Rom,5,');
  for (const word of ['ab', 'x', '"', '1'])
    expect(await batch([...pipes, '--delimiter', word])).toMatchObject({ code: 2 });
});

test('--no-vars sends the prompt of rows, of jobs and of prompts as it stands', async ({ server, folder, batch }) => {
  folder.write('rows.csv', 'city\nRome\nOslo\n');
  folder.write('prompts.txt', 'a {{city}}\n');
  folder.jobs({ prompt: 'b {{city}}' }, { prompt: 'c {{city}}', vars: { city: 'Bern' } });
  const flags = ['--no-vars', '--concurrency', '1'];
  expect(await batch(['run', '--data', 'rows.csv', '-o', 'rows', ...flags, 'see {{city}}'])).toMatchObject({ code: 0 });
  expect(await batch(['run', '--prompts', 'prompts.txt', '-o', 'prompts', ...flags])).toMatchObject({ code: 0 });
  expect(await batch(['run', 'jobs.jsonl', '-o', 'jobs', ...flags])).toMatchObject({ code: 0 });
  expect(prompts(server.bodies)).toEqual(['see {{city}}', 'see {{city}}', 'a {{city}}', 'b {{city}}', 'c Bern']);
  const both = ['--data', 'rows.csv', '-o', 'both', ...flags, '--defaults', '{"vars":{"a":1}}', 'see {{city}}'];
  expect(await batch(['run', ...both])).toMatchObject({ code: 2 });
});

test('--dry-run shows the first request as it would be sent', async ({ server, folder, batch }) => {
  folder.write('rows.csv', 'city\nRome\nOslo\n');
  const words = ['run', '--data', 'rows.csv', '-o', 'out', 'see {{city}}', '--dry-run'];
  const { stdout } = await batch(words);
  expect(stdout).toContain('\n\nthe first request, of row-000001:\n{\n');
  expect(stdout).toContain('"text": "see Rome"');
  const body = { contents: [{ role: 'user', parts: [{ text: 'see Rome' }] }] };
  const json = await batch([...words, '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ first: { id: 'row-000001', body } });
  expect(server.bodies).toEqual([]);
});

test.for([
  [['--data', 'rows.csv'], '--data needs a prompt', '--template prompt.md'],
  [
    ['--data', 'rows.csv', '--defaults', '{"prompt":"{{town}}"}'],
    'rows.csv:2: {{town}} has no value',
    "a column 'town'",
  ],
  [
    ['--data', 'rows.csv', '--defaults', '{"command":"image gen","prompt":"x","size":"{{tone}}"}'],
    '{{tone}} has no value: "size" of --defaults',
    'column',
  ],
  [
    ['--data', 'rows.csv', '--template', 'p.md', '--defaults', '{"prompt":"x"}'],
    'the prompt is given twice',
    'keep one',
  ],
  [
    ['--data', 'rows.csv', 'see {{city}}', '--defaults', '{"prompt":"x"}'],
    'the prompt is given twice: the prompt after batch',
    'keep one',
  ],
  [
    ['--data', 'keys.csv', '--id-column', 'key', '--defaults', '{"prompt":"{{n}}"}'],
    "keys.csv:3: row 2 has no id: its column 'key' is empty",
    'fill it',
  ],
  [
    ['--data', 'breaks.csv', '--id-column', 'city', '--defaults', '{"prompt":"x"}'],
    "breaks.csv:2: --id-column: the value of 'city' is not an id",
    'name another column',
  ],
  [['--template', 'p.md'], "--template 'p.md' has no testData", '--data rows.csv'],
  [['--data', 'rows.csv', '--prompts', 'p.md'], '--prompts and --data are both given', 'keep one'],
  [['--prompts', 'p.md', '--id-column', 'key'], '--id-column is for rows', '--data rows.csv'],
  [['--data', 'empty.csv', '--template', 'p.md'], 'empty.csv contains no jobs', 'a header line'],
  [['--data', 'none.csv', '--template', 'p.md'], "--data 'none.csv'", 'none.csv'],
] as const)('%j is a mistake that says what to type', async ([flags, message, hint], { folder, batch }) => {
  folder.write('rows.csv', 'city\nRome\n');
  folder.write('breaks.csv', 'city\n"Rome\nOslo"\n');
  folder.write('keys.csv', 'key,n\na,1\n,2\n');
  folder.write('empty.csv', 'city\n');
  folder.write('p.md', 'see {{city}}');
  const ran = await batch(['run', ...flags, '-o', 'out']);
  expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  expect(ran.stderr).toContain(hint);
});

test('a table in place of a file of jobs is named by --data, and in the folder of rows each word is a prompt', async () => {
  const { cwd, write } = createFolder();
  write('bom.csv', 'item\nbolt\n');
  write('bom.jsonl', '{"item":"bolt"}\n');
  const cli = (...argv: string[]) => run(['batch', ...argv], { cwd });
  expect(await cli('bom.csv', '-o', 'parts list')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("gateway-cli batch --data bom.csv -o 'parts list' '"),
  });
  expect((await cli('bom.jsonl', '-o', 'made', '--offline')).stderr).toContain('rows of a table are given as --data');
  await cli('--data', 'bom.csv', '-o', 'parts list', '--offline', 'Describe {{item}}');
  const { code, stderr } = await cli('again', 'parts list', 'bom.csv', '--limit', '1');
  expect([code, stderr]).toEqual([2, expect.stringContaining('no column')]);
  expect((await cli('a.jsonl', 'b.jsonl', '-o', 'made')).stderr).toContain('a batch takes one job file, not 2');
});

test.each(['{"promt":"x","town":"Rome"}', '{"prompt":"x","town":"Rome"}', '{"prompt":"x"}\n{"town":"Rome"}'])(
  'a job with an unknown key is no row: %s',
  async (text) => {
    const { cwd, write } = createFolder();
    write('jobs.jsonl', text);
    const env = { GATEWAY_BASE_URL: 'http://127.0.0.1:9', GATEWAY_API_KEY: 'k', GATEWAY_MODEL: 'm' };
    const { stderr } = await run(['batch', 'jobs.jsonl', '-o', 'out'], { cwd, env });
    expect(stderr).toMatch(/jobs\.jsonl:\d: unknown job key "(?:promt|town)" for text/);
  },
);

test('a prompt after a job file belongs to rows', async () => {
  const { cwd, write } = createFolder();
  write('jobs.jsonl', '{"prompt":"x"}');
  expect(await run(['batch', 'jobs.jsonl', '-o', 'out', 'x {{prompt}}'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('a prompt is for the rows of a table: gateway-cli batch --data rows.csv'),
  });
});

test('takes semicolons for separators where the headings have more of them than commas', async ({
  server,
  folder,
  batch,
}) => {
  folder.write('rows.csv', 'name, first;"a,b,c";city\nx,y;1;Rome\n');
  const ran = await batch(['run', '--data', 'rows.csv', '-o', 'out', '--defaults', '{"prompt":"{{city}}"}']);
  expect(ran).toMatchObject({ code: 0 });
  expect(prompts(server.bodies)).toEqual(['Rome']);
});

test.for([
  ['tabs in a file whose name says CSV', 'name, first\tcity\nA, b\tRome\nC\tOslo\n', ['Rome', 'Oslo'], ',"A, b",Rome,'],
  ['commas, although cells hold tabs', 'name,city\n"a\tb",Rome\n"c\td",Oslo\n', ['Rome', 'Oslo'], ',Rome,'],
  ['none, although each cell of the only column holds one', 'city\n"a\tb;c"\nOslo\n', ['a\\tb;c', 'Oslo'], ',Oslo,'],
] as const)('takes for separators %s', async ([, rows, asked, reported], { server, folder, batch }) => {
  folder.write('rows.csv', rows);
  expect(await batch(['run', '--data', 'rows.csv', '-o', 'out', '--concurrency', '1', '{{city}}'])).toMatchObject({
    code: 0,
  });
  expect(prompts(server.bodies)).toEqual(asked);
  expect((await batch(['export', 'out'])).stdout).toContain(reported);
});

test('a row with more cells than the only heading is told in good English', async ({ folder, batch }) => {
  folder.write('rows.csv', 'city\nRome,Italy\n');
  const ran = await batch(['run', '--data', 'rows.csv', '-o', 'out', '{{city}}']);
  expect(ran).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('row 1 has 2 cells, and there is one heading\n'),
  });
});

test.for([
  ['id', 'id,command,state,complete,stopReason,name,text,'],
  ['key', 'id,command,state,complete,stopReason,key,vars.id,name,text,'],
] as const)('the export repeats no id of the column %s', async ([idColumn, headings], { folder, batch }) => {
  const key = idColumn === 'key' ? 'key,' : '';
  folder.write('rows.csv', `${key}id,name\n${key && 'k,'}7,Ada\n`);
  await batch([
    'run',
    '--data',
    'rows.csv',
    '-o',
    'out',
    '--id-column',
    idColumn,
    '--defaults',
    '{"prompt":"{{name}}"}',
  ]);
  const { stdout } = await batch(['export', 'out', '--format', 'csv']);
  expect(stdout.slice(0, headings.length)).toBe(headings);
});

test('rows go to shards, and files are read against the folder of the data', async ({ server, folder, batch }) => {
  folder.write('rows.tsv', `file\n${Array.from({ length: 12 }, (_, i) => `f${i}.txt\n`).join('')}`);
  for (let i = 0; i < 12; i++) folder.write(`f${i}.txt`, `text ${i}`);
  const argv = ['run', '--data', 'rows.tsv', '--defaults', '{"prompt":"x","attach":["{{file}}"]}'];
  for (const shard of ['1/2', '2/2'])
    expect(await batch([...argv, '--shard', shard, '-o', `out-${shard[0]}`])).toMatchObject({ code: 0 });
  expect(server.bodies).toHaveLength(12);
  const dry = await batch([...argv, '--dry-run', '-o', 'out']);
  expect(dry).toMatchObject({ code: 0 });
});

test.for([
  ['rows', ['--data', 'rows.csv', 'a slogan for {{city}}']],
  ['prompts', ['--prompts', 'prompts.txt']],
  ['jobs', ['jobs.jsonl']],
] as const)(
  'a key of --defaults that no job takes is refused before anything is sent, with %s',
  async ([, source], { server, folder, batch }) => {
    folder.write('rows.csv', 'city\nRome\n');
    folder.write('prompts.txt', 'Rome\n');
    folder.jobs({ prompt: 'Rome' });
    const ran = await batch(['run', ...source, '-o', 'out', '--defaults', '{"count":2}']);
    expect(ran).toMatchObject({
      code: 2,
      stderr: `gateway-cli: usage: --defaults: "count" is a key of image gen and image edit, and the jobs are of text
  leave it out; or say what the jobs are: --defaults '{"command":"image gen",…}'
`,
    });
    expect(server.bodies).toEqual([]);
    expect(folder.ls('.')).not.toContain('out');
    // Some jobs take it, and others do not.
    folder.jobs({ prompt: 'Rome' }, { id: 'map', command: 'image gen', prompt: 'Rome' });
    expect(await batch(['--dry-run', '--defaults', '{"count":2}'])).toMatchObject({ code: 0 });
  },
);
