import { describe, expect } from 'vitest';
import { type BatchFolder, test } from './with-batch.ts';
import type { CountingServer } from './counting-server.ts';

const argv = ['run', '--data', 'rows.csv', '-o', 'out', '--concurrency', '2', 'Greet {{name}}'];
const prices = ['--prices', '{"*":{"input":"1","output":"1"}}'];

function writeRows(folder: BatchFolder, names: readonly string[]): void {
  folder.write('rows.csv', `name\n${names.map((name) => `${name}\n`).join('')}`);
}

/** `a Greet x`: model and prompt of each request, sorted. */
function sent({ bodies }: CountingServer): string[] {
  return bodies
    .map(({ path, body }) => `${/models\/(\w+)/.exec(path)?.[1]} ${/"text":"(.*?)"/.exec(JSON.stringify(body))?.[1]}`)
    .toSorted();
}

const table = (text: string): string[] => text.trimEnd().split('\r\n');

describe('--vary', () => {
  test('makes a job of each row with each combination, and the report has a column for each', async ({
    server,
    folder,
    batch,
  }) => {
    writeRows(folder, ['x', 'y']);
    const words = [...argv, '--vary', 'model=b,a', '--vary', 'effort=low,high'];
    const plan = await batch([...words, '--dry-run']);
    expect(plan.stdout).toContain('8 jobs checked, 8 to send\n');
    expect(plan.stdout).toContain('each row with model (2) × effort (2): 8 jobs\n');
    expect(await batch(words)).toMatchObject({ code: 0 });
    expect(sent(server)).toEqual(
      ['a', 'b'].flatMap((model) => ['x', 'x', 'y', 'y'].map((row) => `${model} Greet ${row}`)),
    );
    expect(folder.lines('results.jsonl').map(({ id }) => id)).toContain('row-000002+effort=low+model=a');
    const [head, ...rows] = table((await batch(['export', 'out'])).stdout);
    expect(head).toBe('id,state,name,effort=low model=b,effort=low model=a,effort=high model=b,effort=high model=a');
    expect(rows).toEqual(
      ['x', 'y'].map((name, at) => `row-00000${at + 1},done,${name}${`,answer to Greet ${name}`.repeat(4)}`),
    );
    expect(table((await batch(['export', 'out', '--by', 'job'])).stdout)).toHaveLength(9);
    expect(await batch(words)).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(8);
  });

  test('--by sums what the jobs with each value came to', async ({ server, folder, batch }) => {
    writeRows(folder, ['x', 'y']);
    server.answer = (prompt, _, path) => (path.includes('/b:') && prompt.endsWith('y') ? { status: 400 } : undefined);
    await batch([...argv, ...prices, '--vary', 'model=a,b']);
    const lines = table((await batch(['export', 'out', '--by', 'model'])).stdout);
    expect(lines[0]).toBe('model,jobs,done,failed,inputTokens,outputTokens,durationMs,cost.amount,cost.currency');
    expect(lines[1]).toMatch(/^a,2,2,0,6,4,\d+,0\.00001,USD$/);
    expect(lines[2]).toMatch(/^b,2,1,1,3,2,\d+,0\.000005,USD$/);
    expect((await batch(['export', 'out'])).stdout).toMatch(
      /row-000002,failed,y,answer to Greet y,"failed: rejected: /,
    );
    const json = (await batch(['export', 'out', '--by', 'model', '--format', 'jsonl'])).stdout;
    expect(JSON.parse(json.split('\n')[1] as string)).toMatchObject({ model: 'b', jobs: 2, failed: 1 });
    expect(await batch(['export', 'out', '--by', 'modle'])).toMatchObject({
      code: 2,
      stderr: 'gateway-cli: usage: --by modle: nothing in this batch varies by it\n  did you mean: --by model\n',
    });
  });

  test('a line with the answers of all variations has no value that is another one in each', async ({
    folder,
    batch,
  }) => {
    writeRows(folder, ['x']);
    const words = [...argv.slice(0, -1), 'Greet {{name}} {{tone}}'];
    await batch([...words, '--vary', 'vars=[{"tone":"dry"},{"tone":"warm"}]']);
    expect(table((await batch(['export', 'out'])).stdout)).toEqual([
      'id,state,name,"vars={""tone"":""dry""}","vars={""tone"":""warm""}"',
      'row-000001,done,x,answer to Greet x dry,answer to Greet x warm',
    ]);
    const lines = (await batch(['export', 'out', '--format', 'jsonl'])).stdout.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { vars: object }).vars)).toEqual([
      { name: 'x', tone: 'dry' },
      { name: 'x', tone: 'warm' },
    ]);
  });

  test('--by with another word names every key that varies', async ({ folder, batch }) => {
    writeRows(folder, ['x']);
    await batch([...argv, '--vary', 'model=a,b', '--vary', 'effort=low,high']);
    expect((await batch(['export', 'out', '--by', 'nonsense'])).stderr).toContain(
      '  what varies: --by effort, --by model\n',
    );
  });

  test('--by has sums and no answers: it is refused for formats of answers and of single jobs', async ({
    folder,
    batch,
  }) => {
    writeRows(folder, ['x']);
    await batch([...argv, '--vary', 'model=a,b']);
    for (const format of ['promptfoo', 'junit'])
      expect(await batch(['export', 'out', '--by', 'model', '--format', format])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`--by model: ${format} has no place for sums`) as string,
      });
  });

  test('counts the answers that fit a schema', async ({ server, folder, batch }) => {
    writeRows(folder, ['x', 'y']);
    const text = (value: string) => ({ candidates: [{ content: { parts: [{ text: value }] }, finishReason: 'STOP' }] });
    server.answer = (_, __, path) => ({ body: text(path.includes('/a:') ? '{"n":1}' : 'no') });
    const schema = '{"schema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}';
    await batch([...argv, '--defaults', schema, '--vary', 'model=a,b']);
    const lines = table((await batch(['export', 'out', '--by', 'model'])).stdout);
    expect(lines.map((line) => line.split(',').slice(0, 5).join())).toEqual([
      'model,jobs,done,failed,fits',
      'a,2,2,0,2',
      'b,2,0,2,0',
    ]);
  });

  test('a flag that it leaves without effect is refused, also if the folder keeps it; another --vary replaces both', async ({
    server,
    folder,
    batch,
  }) => {
    writeRows(folder, ['x']);
    await batch([...argv, '--vary', 'temperature=0,1', '--vary', 'model=a,b']);
    const again = await batch(['again', 'out', '-m', 'c']);
    expect([again.code, again.stderr]).toEqual([
      2,
      expect.stringContaining('-m has no effect beside --vary model, which gives each job its own\n  leave -m out\n'),
    ]);
    expect(server.bodies).toHaveLength(4);
    await batch(['again', 'out', '--vary', 'model=c', '--accept-changes']);
    expect(sent(server).at(-1)).toBe('c Greet x');
    for (const [flag, key, value] of [
      [['-m', 'a'], 'model', 'b'],
      [['--no-vars'], 'vars', { tone: 'dry' }],
      [['--profile', 'p'], 'profile', 'q'],
    ] as const) {
      const varied = await batch([...argv, ...flag, '--vary', `${key}=${JSON.stringify([value])}`]);
      expect([varied.code, varied.stderr]).toEqual([2, expect.stringContaining(`${flag[0]} has no effect beside`)]);
      const defaults = await batch([...argv, ...flag, '--defaults', JSON.stringify({ [key]: value })]);
      expect(defaults.stderr).toContain(`${flag[0]} has no effect beside "${key}" of --defaults`);
    }
  });

  test('takes the place of a flag that the folder keeps', async ({ server, folder, batch }) => {
    writeRows(folder, ['x']);
    await batch([...argv, '-m', 'a']);
    expect(await batch(['again', 'out', '--vary', 'model=a,b'])).toMatchObject({ code: 0 });
    expect(sent(server)).toEqual(['a Greet x', 'b Greet x']);
    expect(await batch(['again', 'out'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(2);
  });

  test('another value sends only what is new, and what a run without it sent is not paid again', async ({
    server,
    folder,
    batch,
  }) => {
    writeRows(folder, ['x', 'y']);
    await batch([...argv, '--model', 'a']);
    expect(await batch([...argv, '--vary', 'model=a,b'])).toMatchObject({ code: 0 });
    expect(await batch([...argv, '--vary', 'model=b,c,a'])).toMatchObject({ code: 0 });
    expect(sent(server)).toEqual(['a', 'b', 'c'].flatMap((model) => [`${model} Greet x`, `${model} Greet y`]));
    // A row moves, and another comes.
    writeRows(folder, ['y', 'z']);
    expect(await batch([...argv, '--vary', 'model=a,b,c'])).toMatchObject({ code: 14 });
    expect(await batch([...argv, '--vary', 'model=a,b,c', '--accept-changes'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(9);
    const lines = table((await batch(['export', 'out'])).stdout);
    expect(lines.map((line) => line.split(',').slice(0, 3).join())).toEqual([
      'id,state,name',
      'row-000001,done,y',
      'row-000002,done,z',
    ]);
    const sums = table((await batch(['export', 'out', '--by', 'model'])).stdout);
    expect(sums.map((line) => line.split(',').slice(0, 3).join())).toEqual([
      'model,jobs,done',
      'a,2,2',
      'b,2,2',
      'c,2,2',
    ]);
    expect((await batch(['status', 'out'])).stdout).toContain('6 jobs: 6 done\n3 answers that no job asks for now');
    expect(await batch([...argv, '--vary', 'model=a,b,c', '--redo', '2'])).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(12);
  });

  test('another value in the place of one leaves its answers, also where rows have ids of their own', async ({
    server,
    folder,
    batch,
  }) => {
    writeRows(folder, ['x', 'y']);
    const words = [...argv, '--id-column', 'name', '--vary'];
    await batch([...words, 'model=a,b']);
    expect(await batch([...words, 'model=c,b'])).toMatchObject({ code: 0 });
    expect(await batch([...words, 'model=a,b,c'])).toMatchObject({ code: 0 });
    expect(sent(server)).toEqual(['a', 'b', 'c'].flatMap((model) => [`${model} Greet x`, `${model} Greet y`]));
  });

  test('what a run without it sent is not paid again where its row has moved too', async ({
    server,
    folder,
    batch,
  }) => {
    writeRows(folder, ['x', 'y']);
    await batch([...argv, '--model', 'a']);
    writeRows(folder, ['z', 'x', 'y']);
    expect(await batch([...argv, '--vary', 'model=a,b'])).toMatchObject({ code: 0 });
    const all = ['a', 'b'].flatMap((model) => ['x', 'y', 'z'].map((name) => `${model} Greet ${name}`));
    expect(sent(server)).toEqual(all);
    const report = table((await batch(['export', 'out'])).stdout);
    expect(report.slice(1).map((line) => line.split(',').slice(1).join())).toEqual(
      ['z', 'x', 'y'].map((name) => `done,${name}${`,answer to Greet ${name}`.repeat(2)}`),
    );
    expect(await batch([...argv, '--vary', 'model=a,b'])).toMatchObject({ code: 0 });
    // A value that comes while rows move is one of the row that it is of.
    writeRows(folder, ['y', 'x', 'z']);
    expect(await batch([...argv, '--vary', 'model=a,b,c'])).toMatchObject({ code: 0 });
    expect(sent(server)).toEqual([...all, 'c Greet x', 'c Greet y', 'c Greet z']);
    const longer = table((await batch(['export', 'out'])).stdout);
    expect(longer.slice(1).map((line) => line.split(',').slice(1).join())).toEqual(
      ['y', 'x', 'z'].map((name) => `done,${name}${`,answer to Greet ${name}`.repeat(3)}`),
    );
  });

  test('what comes back is known, and takes no id that another row has by now', async ({ server, folder, batch }) => {
    writeRows(folder, ['x', 'k']);
    await batch([...argv, '--model', 'a']);
    writeRows(folder, ['y', 'k']);
    await batch([...argv, '--vary', 'model=a']);
    writeRows(folder, ['y', 'k', 'x']);
    expect(await batch([...argv, '--vary', 'model=a'])).toMatchObject({ code: 0 });
    expect(await batch([...argv, '--vary', 'model=a'])).toMatchObject({ code: 0 });
    expect(sent(server)).toEqual(['a Greet k', 'a Greet x', 'a Greet y']);
    expect((await batch(['status', 'out'])).stdout).toContain('3 jobs: 3 done\n');
  });

  test('varies variables, files with prompts, and jobs of a job file', async ({ server, folder, batch }) => {
    folder.write('one.md', 'One {{name}} {{tone}}');
    folder.write('two.md', 'Two {{name}} {{tone}}');
    folder.jobs({ id: '7', vars: { name: 'x', tone: 'any' }, name: 'seven' });
    const words = ['run', 'jobs.jsonl', '-o', 'out', '--concurrency', '1', '--vary', 'promptFile=one.md,two.md'];
    expect(await batch([...words, '--vary', 'vars=[{"tone":"dry"},{"tone":"warm"}]'])).toMatchObject({ code: 0 });
    expect([...server.counts.keys()].toSorted()).toEqual(['One x dry', 'One x warm', 'Two x dry', 'Two x warm']);
    expect(folder.lines('results.jsonl').map(({ id }) => id)).toContain('7+promptFile=one.md+vars={"tone":"dry"}');
  });

  test.for([
    [['modle=a,b'], '--vary: unknown job key "modle"', 'did you mean: "model"'],
    [['model'], "--vary takes <key>=<value>,<value>, not 'model'", 'for example: --vary model=a,b'],
    [['model=a,a'], '--vary model: a value is there twice', 'for example: --vary model=a,b'],
    [['model=a,'], '--vary model: a value is empty', 'for example: --vary model=a,b'],
    [['maxTokens=1,x'], `"maxTokens" of --vary takes a whole number from 1, not 'x'`, 'for example: "maxTokens": 1'],
    [['count=1,2'], '--vary: "count" makes several jobs already', 'give it in the jobs'],
    [['model=a', 'model=b'], '--vary model is given twice', 'give all its values at once: --vary model=a,b'],
    [['id=a,b'], '--vary: "id" cannot vary', 'vary what is sent, for example: --vary model=a,b'],
    [['command=text,chat'], '--vary: "command" cannot vary', 'vary what is sent, for example: --vary model=a,b'],
    [['aspect=1:1'], 'rows.csv:2: --vary: unknown job key "aspect" for text', ''],
  ] as const)('refuses %j before anything is sent', async ([vary, message, hint], { server, folder, batch }) => {
    writeRows(folder, ['x']);
    const ran = await batch([...argv, ...vary.flatMap((word) => ['--vary', word])]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).toContain(hint);
    expect(server.bodies).toEqual([]);
  });

  test('the answers of a value that was left out are rows of their own with --all', async ({ folder, batch }) => {
    writeRows(folder, ['x']);
    await batch([...argv, '--vary', 'model=a,b']);
    await batch([...argv, '--vary', 'model=a']);
    const [head = '', ...rows] = table((await batch(['export', 'out', '--all'])).stdout);
    const columns = head.split(',');
    const shown = ['id', 'version', 'state', 'text', 'model=a'].map((name) => columns.indexOf(name));
    expect(rows.map((row) => shown.map((at) => row.split(',')[at]))).toEqual([
      ['row-000001', 'now', 'done', '', 'answer to Greet x'],
      ['row-000001+model=b', 'earlier', 'done', 'answer to Greet x', ''],
    ]);
  });

  test('earlier answers come after their row with --all', async ({ folder, batch }) => {
    writeRows(folder, ['x', 'y']);
    await batch([...argv, '--vary', 'model=a,b']);
    await batch(['redo', 'out', '1,row-000002+model=a']);
    const [head = '', ...rows] = table((await batch(['export', 'out', '--all'])).stdout);
    const columns = head.split(',');
    const shown = ['id', 'version', 'choose'].map((name) => columns.indexOf(name));
    expect(rows.map((row) => shown.map((at) => row.split(',')[at]))).toEqual([
      ['row-000001', 'now', ''],
      ['row-000001+model=a', 'earlier', 'row-000001+model=a=1'],
      ['row-000001+model=b', 'earlier', 'row-000001+model=b=1'],
      ['row-000002', 'now', ''],
      ['row-000002+model=a', 'earlier', 'row-000002+model=a=1'],
    ]);
  });

  test('the reports of shards have the variations of a row in one line', async ({ server, folder, batch }) => {
    writeRows(folder, ['v', 'w', 'x', 'y', 'z']);
    for (const n of [1, 2])
      await batch([...argv.slice(0, 4), `out-${n}`, ...argv.slice(5), '--shard', `${n}/2`, '--vary', 'model=a,b']);
    expect(server.bodies).toHaveLength(10);
    const lines = table((await batch(['export', 'out-1', 'out-2'])).stdout);
    expect(lines).toHaveLength(6);
    expect(lines[1]).toBe('row-000001,done,v,answer to Greet v,answer to Greet v');
  });

  test('writes the configuration of promptfoo with the answers that are there', async ({ folder, batch }) => {
    writeRows(folder, ['x']);
    await batch([...argv, ...prices, '--vary', 'model=a,b']);
    await batch(['export', 'out', '-o', 'promptfooconfig.json']);
    const config = JSON.parse(folder.read('promptfooconfig.json')) as Record<string, unknown>;
    expect(config).toMatchObject({
      description: 'gateway-cli batch: out',
      prompts: ['{{prompt}}'],
      providers: [
        { id: 'echo', label: 'model=a' },
        { id: 'echo', label: 'model=b' },
      ],
    });
    expect((config['tests'] as object[])[0]).toMatchObject({
      description: 'row-000001+model=a',
      vars: { name: 'x', prompt: 'Greet x' },
      providers: ['model=a'],
      providerOutput: 'answer to Greet x',
      metadata: { cost: { amount: '0.000005', currency: 'USD' } },
    });
  });
});
