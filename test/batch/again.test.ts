import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { run, type RunOptions } from '../helpers/run.ts';
import { canaryKey, textReply } from '../helpers/with-server.ts';
import { type BatchFolder, environmentFor, manyJobs, test as base } from './with-batch.ts';

/** Runs of `batch` in any folder below that of the test. */
const test = base.extend<{ at: (folder: string, ...argv: string[]) => ReturnType<typeof run> }>({
  at: async ({ server, folder: { cwd } }, use) => {
    await use((below, ...argv) => run(['batch', ...argv], { cwd: join(cwd, below), env: environmentFor(server) }));
  },
});

/** A candidate whose answer the token limit cut. */
const cut = { content: { role: 'model', parts: [{ text: 'half' }] }, finishReason: 'MAX_TOKENS' };

const table = ['--data', 'rows.csv', 'A slogan for {{city}}', '-o', 'out'];
function flagsOf(folder: BatchFolder, outdir = 'out'): unknown {
  const header = folder.lines('jobs.jsonl', outdir)[0] as { command: { flags: unknown } };
  return header.command.flags;
}

describe('batch again', () => {
  test('goes on with the flags that made the folder, from anywhere, also once all was moved', async ({
    server,
    folder,
    at,
  }) => {
    mkdirSync(join(folder.cwd, 'a/sub'), { recursive: true });
    folder.write('a/rows.csv', 'city\nRome\n');
    folder.write('a/defaults.json', '{"system":"as a poet"}');
    expect(await at('a', ...table, '--defaults', 'defaults.json', '--concurrency', '1')).toMatchObject({ code: 0 });
    folder.write('a/rows.csv', 'city\nRome\nOslo\n');
    expect(await at('a/sub', 'again', '../out')).toMatchObject({ code: 0, stderr: expect.stringContaining('2 done') });
    renameSync(join(folder.cwd, 'a'), join(folder.cwd, 'b'));
    folder.write('b/rows.csv', 'city\nRome\nOslo\nBern\n');
    const moved = await at('.', 'again', 'b/out');
    expect([moved.code, moved.stderr, moved.stdout]).toEqual([
      0,
      expect.stringContaining('2 done, 1 not sent yet; 1 is sent now\n'),
      'b/out/results.jsonl\n',
    ]);
    expect(server.bodies).toHaveLength(3);
    for (const { body } of server.bodies)
      expect(body).toMatchObject({ systemInstruction: { parts: [{ text: 'as a poet' }] } });
    symlinkSync(join(folder.cwd, 'b/out'), join(folder.cwd, 'link'));
    expect(await at('.', 'again', 'link')).toMatchObject({ code: 0 });
    expect(folder.read('b/out/jobs.jsonl')).not.toContain(canaryKey);
    expect(flagsOf(folder, 'b/out')).toEqual({
      prompt: 'A slogan for {{city}}',
      data: '../rows.csv',
      defaults: '../defaults.json',
      concurrency: '1',
    });
  });

  test('keeps no variable: what they said is asked for, and is no edit once it is typed', async ({
    folder,
    server,
  }) => {
    folder.jobs({ id: 'p1', prompt: 'p1' });
    const env = environmentFor(server);
    await run(['batch', 'jobs.jsonl', '-o', 'out'], { cwd: folder.cwd, env });
    const bare = { cwd: folder.cwd, env: { GATEWAY_API_KEY: canaryKey } };
    expect(await run(['batch', 'again', 'out'], bare)).toMatchObject({ code: 2 });
    const typed = ['batch', 'again', 'out', '-m', 'm', '--base-url', server.url];
    expect(await run(typed, bare)).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(1);
  });

  test('takes what is typed in place of what was, and keeps that: an edit asks as any other', async ({
    server,
    folder,
    at,
  }) => {
    folder.write('rows.csv', 'city\nRome\n');
    await at('.', ...table, '--defaults', '{"system":"as a poet"}');
    const edited = await at('.', 'again', 'out', '--defaults', '{"system":"as a clerk"}');
    expect([edited.code, edited.stderr]).toEqual([14, expect.stringContaining('(in system)')]);
    expect(edited.stderr).toContain(
      `to make those again too: gateway-cli batch again out --defaults '{"system":"as a clerk"}' --accept-changes\n`,
    );
    expect(edited.stderr).toContain('to go on with the flags that made this folder: gateway-cli batch again out\n');
    // Who forgets a flag is told the command that does not.
    expect((await at('.', ...table)).stderr).toContain('that made this folder: gateway-cli batch again out\n');
    expect(await at('.', 'again', 'out')).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(1);
    const other = ['again', 'out', '--defaults', '{"system":"as a clerk"}', '--accept-changes', '--concurrency', '2'];
    expect(await at('.', ...other)).toMatchObject({ code: 0 });
    expect(await at('.', 'again', 'out')).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(2);
    expect(flagsOf(folder)).toMatchObject({ defaults: '{"system":"as a clerk"}', concurrency: '2' });
    // A word is another prompt for the rows.
    const prompt = await at('.', 'again', 'out', 'A song for {{city}}', '--accept-changes');
    expect(prompt).toMatchObject({ code: 0 });
    expect(JSON.stringify(server.bodies.at(-1))).toContain('A song for Rome');
    folder.jobs({ id: 'a', prompt: 'x' });
    expect(await at('.', 'jobs.jsonl', '-o', 'out')).toMatchObject({ code: 0 });
    expect(flagsOf(folder)).toMatchObject({ jobs: '../jobs.jsonl' });
    expect(flagsOf(folder)).not.toHaveProperty('data');
    folder.write('prompts.txt', 'one\ntwo\n');
    expect(await at('.', 'again', 'out', '--prompts', 'prompts.txt')).toMatchObject({ code: 0 });
    folder.write('prompt.md', 'A poem for {{city}}');
    const back = await at('.', 'again', 'out', '--data', 'rows.csv', '--template', 'prompt.md', '--accept-changes');
    expect(back).toMatchObject({ code: 0 });
    expect(await at('.', 'again', 'out', 'A slogan for {{city}}', '--accept-changes')).toMatchObject({ code: 0 });
    expect(flagsOf(folder)).toMatchObject({ data: '../rows.csv', prompt: 'A slogan for {{city}}' });
    expect(flagsOf(folder)).not.toHaveProperty('template');
  });

  test('that accepts the edits of a file is the one that was typed, in a folder with any name', async ({
    folder,
    at,
  }) => {
    mkdirSync(join(folder.cwd, 'a b'));
    folder.jobs({ id: 'a', prompt: 'x' });
    const argv = ['jobs.jsonl', '-o', 'a b/out'];
    await at('.', ...argv);
    folder.jobs({ id: 'a', prompt: 'y' });
    const edited = await at('.', ...argv, '--limit', '3');
    expect([edited.code, edited.stderr]).toEqual([
      14,
      expect.stringContaining("again too: gateway-cli batch jobs.jsonl -o 'a b/out' --limit 3 --accept-changes\n"),
    ]);
    expect(await at('.', 'again', 'a b/out', '--limit', '3', '--accept-changes')).toMatchObject({ code: 0 });
  });

  test('keeps no flag of one run, but the limit of costs', async ({ server, folder, at }) => {
    folder.jobs(...manyJobs(4).map((job) => ({ ...job, maxTokens: 100 })));
    // A request can cost 1.
    const costs = ['--prices', '{"m":{"input":"0","output":"10000"}}', '--max-cost', '2'];
    const once = ['--limit', '1', '--retry', 'failed,unknown', '--accept-changes', '--redo', 'p1', '--no-fetch'];
    expect(await at('.', 'jobs.jsonl', '-o', 'out', ...once, ...costs)).toMatchObject({ code: 0 });
    expect(flagsOf(folder)).toEqual({ jobs: '../jobs.jsonl', prices: costs[1], maxCost: '2', fetch: false });
    server.answer = () => ({ body: { usageMetadata: undefined } });
    const spent = await at('.', 'again', 'out');
    expect([spent.code, spent.stderr]).toEqual([13, expect.stringContaining('--max-cost 2')]);
    server.answer = () => undefined;
    await at('.', 'again', 'out', '--max-cost', '100', '--retry', 'failed,unknown');
    expect(flagsOf(folder)).toMatchObject({ maxCost: '100' });
  });

  test('keeps every kind of flag', async ({ folder, server, at }) => {
    mkdirSync(join(folder.cwd, 'a/etc'), { recursive: true });
    folder.write('a/jobs.jsonl', '{"id":"1","prompt":"x","maxTokens":10}\n');
    folder.write('a/etc/prices.json', '{"*":{"input":"1","output":"1"}}');
    folder.write('a/etc/headers.txt', 'X-One: 1\n');
    folder.write('a/etc/key', canaryKey);
    const argv = [
      ['--vary', 'temperature=0,1', '--vary', 'model=["m"]', '--rate', '6000/m', '--rate-group', './etc/rate.json'],
      ['--prices', 'etc/prices.json', '--budget', './etc/budget.jsonl:5/month', '--tag', 'a=b', '--tag', 'c=d'],
      [
        '--header',
        'X-Two: 2',
        '--header',
        '@etc/headers.txt',
        '--timeout',
        '90s',
        '--retries',
        '1',
        '--require-complete',
      ],
      ['--api-key-file', 'etc/key', '--retry-max-time', '3s', '--max-failures', '3', '--no-vars', '--lane', 'live'],
    ].flat();
    expect(await at('a', 'jobs.jsonl', '-o', 'out', ...argv)).toMatchObject({ code: 0 });
    const flags = flagsOf(folder, 'a/out');
    expect(flags).toMatchObject({
      apiKeyFile: '../etc/key',
      budget: '../etc/budget.jsonl:5/month',
      header: ['X-Two: 2', '@../etc/headers.txt'],
      prices: '../etc/prices.json',
      rateGroup: '../etc/rate.json',
      vars: false,
    });
    folder.write('a/jobs.jsonl', '{"id":"1","prompt":"x","maxTokens":10}\n{"id":"2","prompt":"y","maxTokens":10}\n');
    expect(await at('.', 'again', 'a/out')).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(4);
    expect(flagsOf(folder, 'a/out')).toEqual(flags);
    expect(folder.ls('a/etc')).toEqual(['budget.jsonl', 'headers.txt', 'key', 'prices.json', 'rate.json']);
  });

  test.for([
    ['jobs', '-', 'jobs.jsonl', '{"id":"a","prompt":"x"}\n', '<file>'],
    ['prompts', '--prompts=-', 'prompts.txt', 'x\n', '--prompts <file>'],
    ['rows', '--data=-', 'rows.csv', 'city\nRome\n', '--data <file>'],
  ] as const)(
    'cannot ask for %s that came on stdin: it says to give the file',
    async ([what, word, file, text, next], { server, folder }) => {
      const options = { cwd: folder.cwd, env: environmentFor(server) };
      const rows = what === 'rows' ? ['--data-format', 'csv', 'For {{city}}'] : [];
      const first: RunOptions = { ...options, stdin: text };
      expect(await run(['batch', word, '-o', 'out', ...rows], first)).toMatchObject({ code: 0 });
      const again = await run(['batch', 'again', 'out'], options);
      expect([again.code, again.stderr]).toEqual([
        2,
        expect.stringMatching(
          new RegExp(`the ${what} of out came on stdin.*\n.*gateway-cli batch again out ${next}\n`),
        ),
      ]);
      expect(await run(['batch', 'again', 'out', word], first)).toMatchObject({ code: 0 });
      folder.write(file, text);
      expect(await run(['batch', 'again', 'out', ...next.replace('<file>', file).split(' ')], options)).toMatchObject({
        code: 0,
      });
      expect(await run(['batch', 'again', 'out'], options)).toMatchObject({ code: 0 });
      expect(server.bodies).toHaveLength(1);
    },
  );

  test.for([
    ['-', 'jobs.jsonl', '{"id":"a","prompt":"x"}\n{"id":"b","prompt":"y"}\n{"id":"c","prompt":"z"}\n'],
    ['--prompts=-', 'prompts.txt', 'x\ny\nz\n'],
    ['--data=-', 'rows.csv', 'city\nx\ny\nz\n'],
  ] as const)(
    'names the file in each command to type next, if the table came on stdin: %s',
    async ([word, file, text], { server, folder }) => {
      server.answer = (prompt) => (prompt.endsWith('x') ? { status: 400 } : undefined);
      const options = { cwd: folder.cwd, env: environmentFor(server) };
      const rows = file === 'rows.csv' ? ['--data-format', 'csv', 'For {{city}}'] : [];
      const first: RunOptions = { ...options, stdin: text };
      const ran = await run(['batch', word, '-o', 'out', ...rows, '--limit', '2'], first);
      server.answer = () => undefined;
      const flag = { 'jobs.jsonl': '<file>', 'prompts.txt': '--prompts <file>', 'rows.csv': '--data <file>' }[file];
      const retry = `batch retry out failed ${flag}`;
      const told = `1 failed: gateway-cli ${retry}\n1 not sent yet: gateway-cli batch again out ${flag}\n`;
      expect(ran.stderr.replaceAll('\n  ', '\n')).toContain(told);
      expect((await run(['batch', 'status', 'out'], options)).stdout).toContain(told);
      const chosen = await run(['batch', 'choose', 'out', '2=3'], options);
      expect(chosen.stderr).toContain(`to get another one: gateway-cli batch redo out 2 ${flag}\n`);
      const missing = await run(['batch', 'retry', 'out'], options);
      expect(missing.stderr).toContain(`give the file: gateway-cli batch retry out failed ${flag}\n`);
      folder.write(file, text);
      for (const command of [retry, `batch redo out 2 ${flag}`, `batch again out ${flag}`]) {
        // As after a run of the table that came on stdin.
        const [header, ...lines] = folder.lines('jobs.jsonl') as [{ command: { flags: object } }, ...object[]];
        const flags = { ...header.command.flags, [word.match(/\w+/)?.[0] ?? 'jobs']: '-' };
        folder.writeLines('out/jobs.jsonl', [{ ...header, command: { flags } }, ...lines]);
        expect(await run(command.replace('<file>', file).split(' '), options)).toMatchObject({ code: 0 });
      }
      expect(server.bodies).toHaveLength(5);
    },
  );

  test.for([
    ['rows.csv', 'the rows of out are not at rows.csv any more', '--data <file>'],
    ['prompt.md', 'the template of out is not at prompt.md any more', '--template <file>'],
  ] as const)('says how to name %s, which is gone', async ([file, message, next], { folder, at }) => {
    folder.write('rows.csv', 'city\nRome\n');
    folder.write('prompt.md', 'A slogan for {{city}}');
    await at('.', '--data', 'rows.csv', '--template', 'prompt.md', '-o', 'out');
    renameSync(join(folder.cwd, file), join(folder.cwd, 'moved'));
    const gone = await at('.', 'again', 'out', '--limit', '3');
    expect([gone.code, gone.stderr]).toEqual([
      2,
      `gateway-cli: usage: ${message}\n  give the file: gateway-cli batch again out --limit 3 ${next}\n`,
    ]);
    const flags = next.startsWith('--data') ? ['--data', 'moved', '--data-format', 'csv'] : ['--template', 'moved'];
    expect(await at('.', 'again', 'out', ...flags)).toMatchObject({ code: 0 });
  });

  test('a header that may hold a secret is asked for', async ({ server, folder, at }) => {
    folder.jobs(...manyJobs(1));
    const value = 'a8Kf93hfKq02mfPq81';
    await at('.', 'jobs.jsonl', '-o', 'out', '--header', `X-Team: ${value}`);
    expect(folder.read('out/jobs.jsonl')).not.toContain(value);
    const again = await at('.', 'again', 'out');
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("again out --header 'X-Team: …'")]);
    folder.jobs(...manyJobs(2));
    expect(await at('.', 'again', 'out', '--header', `X-Team: ${value}`)).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(2);
  });

  test('a key in the query of an address is not kept, and the address is asked for', async ({ server, folder }) => {
    folder.jobs(...manyJobs(1));
    const { GATEWAY_BASE_URL: _, ...env } = environmentFor(server);
    const value = 'a8Kf93hfKq02mfPq81';
    const [options, here] = [{ cwd: folder.cwd, env }, ['--base-url', `${server.url}/?key=${value}`]];
    expect(await run(['batch', 'jobs.jsonl', '-o', 'out', ...here], options)).toMatchObject({ code: 0 });
    expect(folder.read('out/jobs.jsonl')).not.toContain(value);
    folder.jobs(...manyJobs(2));
    const again = await run(['batch', 'again', 'out'], options);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('type it again')]);
    expect(await run(['batch', 'again', 'out', ...here], options)).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(2);
  });

  test('a folder cannot say that what was edited is paid again', async ({ server, folder, at }) => {
    folder.jobs(...manyJobs(1));
    expect(await at('.', 'jobs.jsonl', '-o', 'out')).toMatchObject({ code: 0 });
    const [header, ...rows] = folder.lines('jobs.jsonl', 'out') as [{ command: { flags: object } }, ...object[]];
    const flags = { ...header.command.flags, acceptChanges: true };
    folder.writeLines('out/jobs.jsonl', [{ ...header, command: { flags } }, ...rows]);
    folder.jobs(...manyJobs(1).map((job) => ({ ...job, prompt: 'edited' })));
    expect(await at('.', 'again', 'out')).toMatchObject({ code: 14 });
    expect(server.bodies).toHaveLength(1);
  });

  test('an address that only the folder names gets no key: it is to be typed again', async ({ server, folder }) => {
    folder.jobs(...manyJobs(1));
    const { GATEWAY_BASE_URL: _, ...env } = environmentFor(server);
    const here = ['--base-url', server.url];
    const options = { cwd: folder.cwd, env };
    expect(await run(['batch', 'jobs.jsonl', '-o', 'out', ...here], options)).toMatchObject({ code: 0 });
    folder.jobs(...manyJobs(2));
    for (const GATEWAY_BASE_URL of [undefined, 'http://127.0.0.1:1']) {
      const own = { ...env, ...(GATEWAY_BASE_URL && { GATEWAY_BASE_URL }) };
      const again = await run(['batch', 'again', 'out'], { ...options, env: own });
      expect([again.code, again.stderr]).toEqual([
        2,
        expect.stringContaining(`type it again: gateway-cli batch again out ${here.join(' ')}\n`),
      ]);
    }
    for (const words of [
      ['redo', 'out', '1'],
      ['retry', 'out', 'failed'],
    ]) {
      const again = await run(['batch', ...words], options);
      expect(again.stderr).toContain(`type it again: gateway-cli batch ${[...words, ...here].join(' ')}\n`);
    }
    expect(server.bodies).toHaveLength(1);
    expect(await run(['batch', 'again', 'out', ...here], options)).toMatchObject({ code: 0 });
    folder.jobs(...manyJobs(3));
    expect(await run(['batch', 'again', 'out'], { ...options, env: environmentFor(server) })).toMatchObject({
      code: 0,
    });
    expect(server.bodies).toHaveLength(3);
  });

  test.for([
    ['--proxy', 'http://127.0.0.1:1'],
    ['--cacert', 'ca.pem'],
    ['--service', 'mistral'],
  ] as const)('%s of a folder is to be typed again', async ([flag, value], { server, folder, at }) => {
    const { GATEWAY_BASE_URL: _, ...env } = environmentFor(server);
    folder.jobs(...manyJobs(1));
    expect(await at('.', 'jobs.jsonl', '-o', 'out')).toMatchObject({ code: 0 });
    const [header, ...rows] = folder.lines('jobs.jsonl', 'out') as [{ command: { flags: object } }, ...object[]];
    const name = flag.slice(2);
    const flags = { ...header.command.flags, [name]: value };
    folder.writeLines('out/jobs.jsonl', [{ ...header, command: { flags } }, ...rows]);
    folder.jobs(...manyJobs(2));
    const again = await run(['batch', 'again', 'out'], { cwd: folder.cwd, env });
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining(`names where your key would go: ${flag} `)]);
    expect(server.bodies).toHaveLength(1);
  });

  test('keeps the profile, and the part of a shard that a CI job named', async ({ folder, server }) => {
    folder.jobs(...manyJobs(40));
    folder.write('config.json', JSON.stringify({ profiles: { b: { models: { text: 'm' }, baseUrl: server.url } } }));
    const env = { GATEWAY_CONFIG: join(folder.cwd, 'config.json'), GATEWAY_API_KEY: canaryKey };
    const first = ['batch', 'jobs.jsonl', '-o', 'out', '--profile', 'b', '--shard', 'auto'];
    const ci = { CI_NODE_INDEX: '1', CI_NODE_TOTAL: '2' };
    expect(await run(first, { cwd: folder.cwd, env: { ...env, ...ci } })).toMatchObject({ code: 0 });
    const sent = server.bodies.length;
    expect(sent).toBeLessThan(40);
    expect(await run(['batch', 'again', 'out'], { cwd: folder.cwd, env })).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(sent);
  });

  test.for([
    [['again', 'out'], 'there is no folder out'],
    [['again', '.'], '. holds no batch'],
    [['redo', 'out', '3'], 'there is no folder out'],
    [
      ['retry', 'out', 'fialed'],
      "gateway-cli batch retry out takes failed, unknown, incomplete, not 'fialed'\n  for example: gateway-cli batch retry out failed\n",
    ],
    [['agian', 'out'], 'did you mean: gateway-cli batch again out'],
  ] as const)('%j is refused', async ([argv, message], { at }) => {
    expect(await at('.', ...argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });

  test('a folder of a stream takes more jobs from stdin, with the flags that it was begun with', async ({
    folder,
    server,
  }) => {
    const options = { cwd: folder.cwd, env: environmentFor(server) };
    const line = (id: string) => `${JSON.stringify({ id, prompt: id })}\n`;
    await run(['batch', '-', '--stream', '-o', 'out', '--concurrency', '1', '--offline'], {
      ...options,
      stdin: line('a'),
    });
    const again = await run(['batch', 'again', 'out'], { ...options, stdin: line('a') + line('b') });
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('\n2 done\n') });
    expect(
      again.stdout
        .trimEnd()
        .split('\n')
        .map((text) => (JSON.parse(text) as { id: string }).id),
    ).toEqual(['a', 'b']);
    expect(server.connections).toBe(0);
    expect(folder.lines('jobs.jsonl')).toMatchObject([
      { command: { flags: { jobs: '-', stream: true, concurrency: '1', offline: true } } },
      { id: 'a' },
      { id: 'b' },
    ]);
  });

  test('of a stream, only what comes once more can be sent again; what needs all jobs asks for a file', async ({
    folder,
    server,
  }) => {
    const options = { cwd: folder.cwd, env: environmentFor(server) };
    const line = '{"id":"w1","prompt":"x"}\n';
    server.answer = () => ({ status: 400 });
    await run(['batch', '-', '--stream', '-o', 'out'], { ...options, stdin: line });
    server.answer = () => undefined;
    const retry = await run(['batch', 'retry', 'out'], { ...options, stdin: '' });
    expect([retry.code, retry.stderr]).toEqual([
      2,
      expect.stringContaining('pipe them in: gateway-cli batch retry out < <file>\n'),
    ]);
    expect((await run(['batch', 'status', 'out'], options)).stdout).toContain('gateway-cli batch retry out < <file>\n');
    for (const [argv, what] of [
      [['redo', 'out', 'w1'], 'redo'],
      [['again', 'out', '--limit', '1'], '--limit'],
    ] as const) {
      const whole = await run(['batch', ...argv], { ...options, stdin: '' });
      expect([whole.code, whole.stderr]).toEqual([
        2,
        expect.stringContaining(`the jobs of out come on stdin one by one, and ${what} needs all of them at once
  give them as a file: gateway-cli batch ${argv.join(' ')} <file>\n`),
      ]);
    }
    expect(await run(['batch', 'retry', 'out'], { ...options, stdin: line })).toMatchObject({ code: 0 });
    const chosen = await run(['batch', 'choose', 'out', 'w1=2'], options);
    expect(chosen.stderr).toContain('to get another one: gateway-cli batch redo out w1 <file>\n');
    folder.write('jobs.jsonl', line);
    expect(await run(['batch', 'redo', 'out', 'w1', 'jobs.jsonl'], options)).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(3);
    const words = await run(['batch', 'redo', 'out', 'w1', '2'], options);
    expect([words.code, words.stderr]).toEqual([2, expect.stringContaining('gateway-cli batch redo out w1,2\n')]);
  });

  test('a file of jobs takes the place of a stream', async ({ folder, server }) => {
    const options = { cwd: folder.cwd, env: environmentFor(server) };
    await run(['batch', '-', '--stream', '-o', 'out'], {
      ...options,
      stdin: '{"id":"p1","prompt":"p1"}\n',
    });
    folder.jobs(...manyJobs(2));
    const again = await run(['batch', 'again', 'out', 'jobs.jsonl'], options);
    expect(again).toMatchObject({ code: 0, stdout: 'out/results.jsonl\n' });
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 1 });
    const redo = await run(['batch', 'redo', 'out', 'p1'], options);
    expect(redo.code).toBe(0);
  });

  test('`-` after the rows of redo pipes the jobs in once more', async ({ folder, server }) => {
    const options = { cwd: folder.cwd, env: environmentFor(server), stdin: '{"id":"a","prompt":"p1"}\n' };
    await run(['batch', '-', '-o', 'out'], options);
    expect(await run(['batch', 'redo', 'out', 'a', '-'], options)).toMatchObject({ code: 0 });
    expect(server.counts.get('p1')).toBe(2);
    const words = await run(['batch', 'redo', 'out', '1', '2'], options);
    expect([words.code, words.stderr]).toEqual([2, expect.stringContaining('batch redo out 1,2\n')]);
  });

  test('a row of a stream that the power left half written is left out', async ({ folder, server }) => {
    const options = { cwd: folder.cwd, env: environmentFor(server) };
    const stdin = '{"id":"a","prompt":"a"}\n';
    await run(['batch', '-', '--stream', '-o', 'out'], { ...options, stdin });
    folder.write('out/jobs.jsonl', folder.read('out/jobs.jsonl').slice(0, -9));
    expect(await run(['batch', 'again', 'out'], { ...options, stdin })).toMatchObject({ code: 0 });
    expect(Object.fromEntries(server.counts)).toEqual({ a: 1 });
  });
});

test('batch retry sends what failed, or what its words name', async ({ server, folder, at }) => {
  folder.jobs(...manyJobs(3));
  server.answer = (prompt) => (prompt === 'p1' ? { status: 400 } : prompt === 'p2' ? { drop: true } : undefined);
  expect(await at('.', 'jobs.jsonl', '-o', 'out', '--retries', '0')).toMatchObject({ code: 13 });
  server.answer = () => undefined;
  expect(await at('.', 'retry', 'out')).toMatchObject({ code: 13 });
  expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 1, p3: 1 });
  expect(await at('.', 'retry', 'out', 'failed,unknown')).toMatchObject({ code: 0 });
  expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 2, p3: 1 });
});

test('batch redo makes rows again', async ({ server, folder, at }) => {
  folder.write('rows.csv', 'city\nRome\nOslo\nBern\n');
  await at('.', ...table);
  expect(await at('.', 'redo', 'out', '1,3')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('sent again: row-000001, row-000003\n'),
  });
  expect(server.bodies).toHaveLength(5);
});

describe('batch redo and batch retry send only what they name', () => {
  const left = (count: number): string => `${count} not sent yet: gateway-cli batch again out\n`;

  test('redo leaves rows that --limit left, and new ones; the last line says how many, and what sends them', async ({
    server,
    folder,
    at,
  }) => {
    folder.jobs(...manyJobs(3));
    await at('.', 'jobs.jsonl', '-o', 'out', '--limit', '2');
    folder.jobs(...manyJobs(4));
    const dry = await at('.', 'redo', 'out', '1', '--dry-run');
    expect(dry.stdout).toContain('4 jobs checked, 1 to send, 1 done, 2 not sent yet\n');
    const redo = await at('.', 'redo', 'out', '1');
    expect([redo.code, redo.stderr]).toEqual([0, expect.stringMatching(new RegExp(`${left(2)}$`))]);
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 1 });
    expect((await at('.', 'status', 'out')).stdout).toContain(left(2));
    // A row that was never sent can be named, too.
    expect(await at('.', 'redo', 'out', 'p4,p2')).toMatchObject({ code: 0, stderr: expect.stringContaining(left(1)) });
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 2, p4: 1 });
    expect(await at('.', 'again', 'out')).toMatchObject({ code: 0 });
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 2, p3: 1, p4: 1 });
  });

  test('as flags of another command, they come beside all that it sends', async ({ server, folder, at }) => {
    folder.jobs(...manyJobs(3));
    await at('.', 'jobs.jsonl', '-o', 'out', '--limit', '1');
    expect(await at('.', 'again', 'out', '--redo', 'p1', '--limit', '2')).toMatchObject({ code: 0 });
    expect(await at('.', 'again', 'out', '--retry', 'failed')).toMatchObject({ code: 0 });
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 1, p3: 1 });
  });

  test('retry leaves them, but sends a failed row that was mended', async ({ server, folder, at }) => {
    folder.jobs(...manyJobs(4));
    server.answer = (prompt) => (prompt === 'p1' || prompt === 'p2' ? { status: 400 } : undefined);
    await at('.', 'jobs.jsonl', '-o', 'out', '--limit', '3');
    server.answer = () => undefined;
    folder.jobs({ id: 'p1', prompt: 'mended' }, ...manyJobs(5).slice(1));
    const retry = await at('.', 'retry', 'out');
    expect([retry.code, retry.stderr]).toEqual([0, expect.stringMatching(new RegExp(`${left(2)}$`))]);
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 2, p3: 1, mended: 1 });
    const nothing = await at('.', 'retry', 'out');
    expect([nothing.code, nothing.stderr]).toEqual([0, expect.stringContaining('0 are sent now\n')]);
    expect(server.bodies).toHaveLength(5);
  });

  test('retry leaves a new row that has the number of one that failed', async ({ server, folder, at }) => {
    server.answer = (prompt) => (prompt.endsWith('Oslo') ? { status: 400 } : undefined);
    folder.write('rows.csv', 'city\nRome\nOslo\nLima\n');
    await at('.', ...table, '--limit', '2');
    folder.write('rows.csv', 'city\nRome\nLima\n');
    const retry = await at('.', 'retry', 'out');
    expect([retry.code, retry.stderr]).toEqual([0, expect.stringMatching(new RegExp(`${left(1)}$`))]);
    expect(server.bodies).toHaveLength(2);
  });

  test('redo leaves a row that may have been billed, and uses what is made again', async ({ server, folder, at }) => {
    server.answer = (prompt) => (prompt.startsWith('Name') ? { drop: true } : undefined);
    folder.jobs({ id: 'p', prompt: 'p' }, { id: 'c', prompt: 'Name {{@p.text}}' });
    await at('.', 'jobs.jsonl', '-o', 'out', '--retries', '0');
    for (const command of [
      ['redo', 'out', 'p'],
      ['again', 'out', '--redo', 'p'],
    ])
      expect(await at('.', ...command)).toMatchObject({ stderr: expect.stringContaining('1 unknown') });
    expect(server.counts.get('p')).toBe(3);
    expect(server.bodies).toHaveLength(4);
  });

  test('retry incomplete goes on with what an earlier one began', async ({ server, folder, at }) => {
    folder.jobs(...manyJobs(3));
    server.answer = () => ({ body: textReply('', { candidates: [{ ...cut, index: 0 }] }) });
    await at('.', 'jobs.jsonl', '-o', 'out', '--limit', '2');
    server.answer = () => undefined;
    const costs = ['--prices', '{"m":{"input":"0","output":"10000"}}', '--max-cost', '0.5'];
    folder.jobs(...manyJobs(3).map((job) => ({ ...job, maxTokens: 100 })));
    expect(await at('.', 'retry', 'out', 'incomplete', ...costs)).toMatchObject({ code: 13 });
    expect((await at('.', 'status', 'out')).stdout).toContain('(2 incomplete, 2 to make again)');
    expect(await at('.', 'retry', 'out', 'incomplete', '--max-cost', '100')).toMatchObject({ code: 0 });
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 2 });
  });

  test('an edited row that nobody named is left, until the user says to pay for it', async ({ server, folder, at }) => {
    folder.jobs(...manyJobs(4));
    await at('.', 'jobs.jsonl', '-o', 'out', '--limit', '3');
    folder.jobs({ id: 'p1', prompt: 'edited' }, ...manyJobs(4).slice(1));
    const redone = await at('.', 'redo', 'out', 'p2');
    const accept = 'gateway-cli batch again out --accept-changes\n';
    expect(redone).toMatchObject({ code: 0 });
    expect(redone.stderr).toContain(`1 job was edited and left: p1 (row 1); to make those again too: ${accept}`);
    expect(redone.stderr).toContain(`2 done, 2 not sent yet (1 edited)\n`);
    expect(redone.stderr).toContain(`2 not sent yet: ${accept}`);
    expect((await at('.', 'status', 'out')).stdout).toContain(`2 not sent yet: ${accept}`);
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 2, p3: 1 });
    // Neither the same command nor another edit makes it a new row, which would be paid for without a word.
    await at('.', 'redo', 'out', 'p2');
    for (const prompt of ['edited', 'edited again']) {
      folder.jobs({ id: 'p1', prompt }, ...manyJobs(4).slice(1));
      const asked = await at('.', 'again', 'out');
      expect(asked).toMatchObject({ code: 14, stderr: expect.stringContaining('1 job was edited ') as string });
      await at('.', 'redo', 'out', 'p2');
    }
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 5, p3: 1 });
    expect(await at('.', 'again', 'out', '--accept-changes')).toMatchObject({ code: 0 });
    expect(server.counts.get('edited again')).toBe(1);
    expect(await at('.', 'again', 'out')).toMatchObject({ code: 0 });
    expect((await at('.', 'status', 'out')).stdout).not.toContain('edited');
  });

  test('a row that was left and equals another one asks no more once it was accepted, though it failed', async ({
    server,
    folder,
    at,
  }) => {
    const [a, b] = manyJobs(2) as [object, object];
    folder.jobs(a, b);
    await at('.', 'jobs.jsonl', '-o', 'out');
    folder.jobs(a, { ...b, prompt: 'p1' });
    await at('.', 'redo', 'out', 'p1');
    server.answer = () => ({ status: 400 });
    expect(await at('.', 'again', 'out', '--accept-changes')).toMatchObject({ code: 13 });
    server.answer = () => undefined;
    expect(await at('.', 'again', 'out')).toMatchObject({ code: 13 });
    expect(await at('.', 'retry', 'out')).toMatchObject({ code: 0 });
  });

  test('a row that was left stays the edited one, whatever a new row asks', async ({ server, folder, at }) => {
    const [a, b] = manyJobs(2) as [object, object];
    folder.jobs(a, b);
    await at('.', 'jobs.jsonl', '-o', 'out');
    folder.jobs(a, { ...b, prompt: 'p1' });
    await at('.', 'redo', 'out', 'p1');
    folder.jobs(a, { ...b, prompt: 'z' }, { id: 'n', prompt: 'p1' });
    await at('.', 'redo', 'out', 'n');
    expect(await at('.', 'again', 'out')).toMatchObject({ code: 14 });
    expect(server.counts.has('z')).toBe(false);
  });

  test('a redo that fails is no success, whatever is left', async ({ server, folder, at }) => {
    folder.jobs(...manyJobs(1));
    await at('.', 'jobs.jsonl', '-o', 'out');
    server.answer = () => ({ status: 400 });
    folder.jobs(...manyJobs(2));
    expect(await at('.', 'redo', 'out', 'p1')).toMatchObject({ code: 13 });
  });

  test('retry sends a mended row of a table without ids also beside one that was edited', async ({
    server,
    folder,
    at,
  }) => {
    const rows = (...prompts: string[]) => folder.jobs(...prompts.map((prompt) => ({ prompt })));
    rows('p1', 'p2', 'p3');
    server.answer = (prompt) => (prompt === 'p2' ? { status: 400 } : undefined);
    await at('.', 'jobs.jsonl', '-o', 'out');
    server.answer = () => undefined;
    rows('p1', 'mended', 'edited');
    await at('.', 'retry', 'out');
    expect([...server.counts.keys()]).toEqual(['p1', 'p2', 'p3', 'mended']);
    expect(await at('.', 'again', 'out')).toMatchObject({ code: 14 });
  });

  test('redo of rows that failed, or may have been billed, sends them again, and says what may be billed twice', async ({
    server,
    folder,
    at,
  }) => {
    folder.jobs(...manyJobs(3));
    server.answer = (prompt) =>
      prompt === 'p1' ? { status: 400 } : prompt === 'p2' ? { drop: true as const } : undefined;
    await at('.', 'jobs.jsonl', '-o', 'out');
    expect((await at('.', 'choose', 'out', 'p2=1')).stderr).toContain(
      'to see what sends it: gateway-cli batch status out\n',
    );
    const ran = await at('.', 'redo', 'out', 'p1,p2,p3');
    expect(ran.stderr).toContain(
      '3 are sent again\nsent again: p1 (row 1), p2 (row 2), p3 (row 3) (1 may be billed twice)\n',
    );
    server.answer = () => undefined;
    expect((await at('.', 'retry', 'out', 'unknown')).stderr).toContain(
      'sent again: p2 (row 2) (1 may be billed twice)\n',
    );
  });

  test('of more new rows of a table without ids than answers without a row, it is said that some are new', async ({
    folder,
    at,
  }) => {
    const rows = (...prompts: string[]) => folder.jobs(...prompts.map((prompt) => ({ prompt })));
    rows('p1', 'p2');
    await at('.', 'jobs.jsonl', '-o', 'out');
    rows('p1', 'edited', 'new', 'other');
    const asked = await at('.', 'again', 'out');
    expect(asked.stderr).toContain('3 jobs were edited since an earlier run sent them, or are new: 2, 3, 4\n');
    const left = await at('.', 'redo', 'out', '1');
    expect(left.stderr).toContain('3 jobs were edited or are new, and left: 2, 3, 4; to make those again too: ');
    const paid = await at('.', 'again', 'out', '--accept-changes');
    expect(paid.stderr).toContain('3 jobs were edited or are new, and are paid for: 2, 3, 4\n');
  });

  test('a default that is typed replaces the flag that the folder keeps', async ({ folder, at }) => {
    folder.jobs({ prompt: 'p1' });
    await at('.', 'jobs.jsonl', '-o', 'out', '-m', 'm1');
    const ran = await at('.', 'again', 'out', '--defaults', '{"model":"m2"}', '--accept-changes');
    expect(ran).toMatchObject({ code: 0 });
    expect(folder.lines('results.jsonl').at(-1)).toMatchObject({ requestedModel: 'm2' });
  });

  test('another flag is an edit of all rows, which is asked for', async ({ server, folder, at }) => {
    folder.jobs(...manyJobs(3));
    await at('.', 'jobs.jsonl', '-o', 'out');
    const typed = ['redo', 'out', 'p2', '-m', 'other'];
    const asked = await at('.', ...typed);
    expect(asked).toMatchObject({ code: 14, stderr: expect.stringContaining(' (in model)\n') as string });
    expect(asked.stderr).toContain('gateway-cli batch redo out p2 -m other --accept-changes\n');
    expect(await at('.', ...typed, '--accept-changes')).toMatchObject({ code: 0 });
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 2, p3: 2 });
  });

  test('an edited row that was left has its answer again once the edit is taken back, and is sent if it is named', async ({
    server,
    folder,
    at,
  }) => {
    folder.jobs(...manyJobs(3));
    await at('.', 'jobs.jsonl', '-o', 'out');
    const edited = [{ id: 'p1', prompt: 'edited' }, ...manyJobs(3).slice(1)];
    folder.jobs(...edited);
    await at('.', 'redo', 'out', 'p2');
    folder.jobs(...manyJobs(3));
    expect(await at('.', 'again', 'out')).toMatchObject({ code: 0 });
    expect((await at('.', 'status', 'out')).stdout).toContain('3 jobs: 3 done\n');
    folder.jobs(...edited);
    await at('.', 'redo', 'out', 'p2');
    expect(await at('.', 'redo', 'out', 'p1')).toMatchObject({ code: 0 });
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 3, p3: 1, edited: 1 });
    expect(await at('.', 'again', 'out')).toMatchObject({ code: 0 });
  });

  test('redo makes rows that use what it makes only with --accept-changes', async ({ server, folder, at }) => {
    const outline = { id: 'outline', prompt: 'Plan' };
    const letter = { id: 'letter', prompt: 'Letter {{@outline.text}}' };
    const poem = { id: 'poem', prompt: 'Poem {{@letter.text}}' };
    folder.jobs(outline, letter, poem);
    await at('.', 'jobs.jsonl', '-o', 'out');
    const added = { id: 'song', prompt: 'Song {{@outline.text}}' };
    folder.jobs(outline, letter, poem, added);
    expect(await at('.', 'redo', 'out', 'outline', '--accept-changes')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(left(1)),
    });
    expect([...server.counts.values()]).toEqual([2, 2, 2]);
    expect(await at('.', 'redo', 'out', 'outline')).toMatchObject({ code: 0 });
    expect([...server.counts.values()]).toEqual([3, 2, 2]);
  });

  test('a row that is named and waits for one that is not sent is refused, with both names', async ({
    server,
    folder,
    at,
  }) => {
    folder.jobs({ id: 'a', prompt: 'a' }, { id: 'b', prompt: 'b' }, { id: 'c', prompt: 'c {{@b.text}}' });
    await at('.', 'jobs.jsonl', '-o', 'out', '--limit', '1');
    const redo = await at('.', 'redo', 'out', 'c');
    expect([redo.code, redo.stderr]).toEqual([2, expect.stringContaining('gateway-cli batch redo out b,c\n')]);
    expect(server.bodies).toHaveLength(1);
    expect(await at('.', 'redo', 'out', 'b,c')).toMatchObject({ code: 0 });
    expect(server.bodies).toHaveLength(3);
  });
});

test('an edited row that a limit leaves to a later run of batch retry is asked for by that', async ({
  at,
  folder,
  server,
}) => {
  const tell = (...prompts: string[]) => folder.jobs(...prompts.map((prompt, n) => ({ id: `p${n}`, prompt })));
  server.answer = () => ({ drop: true });
  tell('one', 'two');
  await at('.', 'jobs.jsonl', '-o', 'out', '--retries', '0');
  server.answer = () => undefined;
  tell('new one', 'new two');
  await at('.', 'retry', 'out', 'unknown', '--limit', '1');
  tell('new one', 'newest two');
  const asked = await at('.', 'again', 'out');
  expect([asked.code, asked.stderr]).toEqual([
    14,
    expect.stringContaining('1 job was edited since an earlier run sent it: p1'),
  ]);
  expect(server.bodies).toHaveLength(3);
});
