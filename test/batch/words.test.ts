import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { GatewayError } from '../../src/library/errors.ts';
import { run } from '../helpers/run.ts';
import { startCountingServer } from './counting-server.ts';
import { createFolder, environmentFor, firstRequest, manyJobs, test } from './with-batch.ts';

describe('what a batch says', () => {
  test('the first five failures are reported with their reasons, and where the others are', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = () => ({ status: 400, body: { error: { message: 'no cats' } } });
    folder.jobs(...manyJobs(7));
    const { code, stderr } = await batch(['--concurrency', '1']);
    expect(code).toBe(13);
    const told = stderr.split('\n').filter((line) => /^p\d: rejected: .*no cats/.test(line));
    expect(told.map((line) => line.slice(0, 2))).toEqual(['p1', 'p2', 'p3', 'p4', 'p5']);
    expect(stderr).toContain('and 2 more: gateway-cli batch export out\n');
    expect((await batch(['--quiet'])).stderr).not.toContain('p1: rejected');
  });

  test('status names the command that lists all failures, as jobs whose state is unknown have no line in the results', async ({
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(22));
    await batch();
    folder.loseEnds(...Array.from({ length: 22 }, (_, at) => `p${at + 1}`));
    const { stdout } = await batch(['status', 'out']);
    expect(stdout).toContain('\nand 2 more: gateway-cli batch export out\n');
  });

  test.each([
    ['out', 'cp -r out out-before', []],
    ['./out/', 'cp -r out out-before-3', ['out-before', 'out-before-2']],
  ])('of edited rows: how to keep the table of before, in the folder %s', async (name, copy, taken) => {
    const { cwd, jobs } = createFolder();
    for (const path of taken) mkdirSync(join(cwd, path));
    jobs({ id: 'a', prompt: 'one' });
    await run(['batch', 'jobs.jsonl', '-o', name, '--offline'], { cwd });
    jobs({ id: 'a', prompt: 'uno' });
    const { code, stderr } = await run(['batch', 'again', name], { cwd });
    expect([code, stderr]).toEqual([14, expect.stringContaining(`copy it first: ${copy}\n`)]);
  });

  test.each([
    [
      'a job',
      [Buffer.from('{"prompt":"a"}\n{"prompt":"b\xff"}\n', 'latin1'), 'jobs.jsonl'],
      'iconv -f WINDOWS-1252 -t UTF-8 jobs.jsonl > utf8-jobs.jsonl',
    ],
    [
      'a prompt',
      [Buffer.from('a\nb\xff', 'latin1'), '--prompts', 'jobs.jsonl'],
      'iconv -f WINDOWS-1252 -t UTF-8 jobs.jsonl > utf8-jobs.jsonl',
    ],
    ['UTF-16', [Buffer.from('a\n\ufeff{}\n', 'utf16le'), '--prompts', 'jobs.jsonl'], 'iconv -f UTF-16 -t UTF-8'],
  ] as const)('%s with bytes that are not text is not sent', async (_, [content, ...words], hint) => {
    const server = await startCountingServer();
    onTestFinished(() => server.close());
    const { cwd, write } = createFolder();
    write('jobs.jsonl', content);
    const { code, stderr } = await run(['batch', ...words, '-o', 'out'], { cwd, env: environmentFor(server) });
    expect(code).toBe(2);
    expect(stderr).toContain('jobs.jsonl:2: it is not UTF-8 text');
    expect(stderr).toContain(hint);
    expect(server.bodies).toEqual([]);
  });

  test('everything that is wrong with a job file is reported at once, ten lines of it', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs({ prompt: 'x' }, '{', { promt: 'x' }, { id: '1', prompt: 'y' }, {}, { prompt: 'z' });
    const { code, stderr } = await batch();
    expect(code).toBe(2);
    const places = [...stderr.matchAll(/^ +(jobs\.jsonl:\d+: .{6})/gm)].map(([, place]) => place?.slice(0, 12));
    expect(places).toEqual(['jobs.jsonl:2', 'jobs.jsonl:3', 'jobs.jsonl:4', 'jobs.jsonl:5']);
    expect(stderr).toContain('4 lines of jobs.jsonl');
    expect(stderr).not.toContain('more');
    folder.jobs(...Array.from({ length: 13 }, () => ({ id: 'same', prompt: 'x' })));
    const many = (await batch()).stderr;
    expect(many.match(/jobs\.jsonl:\d+: the id "same" is already used in line 1/g)).toHaveLength(10);
    expect(many).toContain('and 2 more');
    expect(server.bodies).toEqual([]);
    expect(folder.ls('.')).toEqual(['jobs.jsonl']);
  });

  test('a file without jobs or prompts is answered with what a line of it is', async ({ folder, batch }) => {
    folder.write('empty', '\n');
    const prompts = await batch(['run', '--prompts', 'empty', '-o', 'out']);
    expect([prompts.code, prompts.stderr]).toEqual([
      2,
      expect.stringMatching(/^.*empty contains no jobs\n {2}write one prompt per line\n$/),
    ]);
    const jobs = await batch(['run', 'empty', '-o', 'out']);
    expect([jobs.code, jobs.stderr]).toEqual([
      2,
      expect.stringMatching(/^.*empty contains no jobs\n {2}write one JSON object per line\n$/),
    ]);
    const asFolder = await batch(['run', '--prompts', '.', '-o', 'out']);
    expect(asFolder.stderr).toContain("--prompts '.' is a folder\n  name a file with one prompt per line\n");
  });

  test('a mistyped command is not taken for a job file', async ({ folder, batch }) => {
    const { code, stderr } = await batch(['staus', 'out']);
    expect(code).toBe(2);
    expect(stderr).toContain('did you mean: gateway-cli batch status out');
    folder.write('staus', '{"prompt":"x"}');
    expect((await batch(['staus', '-o', 'out'])).code).toBe(0);
  });

  test('batch without arguments prints its help, and says what is missing (code 2)', async ({ batch }) => {
    const { code, stdout, stderr } = await batch(['run', '--json']);
    expect([code, JSON.parse(stdout)]).toMatchObject([2, { error: { class: 'usage', message: 'there are no jobs' } }]);
    expect(stderr).toContain('Usage: gateway-cli batch [jobs.jsonl|-] -o <dir> [flags]');
    expect(stderr).toContain('gallery  write a page');
    const half = await batch(['run', '-o', 'out']);
    expect([half.code, half.stdout]).toEqual([2, '']);
    expect(half.stderr).toMatch(
      /^gateway-cli: usage: there are no jobs\n {2}for example: gateway-cli batch jobs.jsonl -o out\n$/,
    );
  });

  test('the help of the group is that of its default command', async ({ batch }) => {
    const { stdout } = await batch(['-h']);
    for (const part of ['gateway-cli batch jobs.jsonl -o out', '--concurrency', 'gallery', 'Ctrl-C takes no further'])
      expect(stdout).toContain(part);
    expect(stdout).toContain('Usage: gateway-cli batch [jobs.jsonl|-] -o <dir> [flags]');
  });

  test('after Ctrl-C a batch says what it waits for', async ({ server, folder, batch }) => {
    const stop = new AbortController();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    server.answer = () => ({ after: released });
    folder.jobs(...manyJobs(5));
    const running = batch(['--concurrency', '2'], { signal: stop.signal });
    await server.received(2);
    stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
    release();
    expect((await running).stderr).toContain('waiting for 2 requests, 10 s at most; Ctrl-C again stops\n');
  });

  test('where some jobs are unknown and some were not sent, the next step of both is named', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = () => ({ drop: true });
    folder.jobs(...manyJobs(2));
    const both =
      /1 unknown: gateway-cli batch retry out unknown  # may be billed twice\n *1 not sent yet: gateway-cli batch again out\n/;
    expect((await batch(['--max-failures', '1', '--concurrency', '1'])).stderr).toMatch(both);
    expect((await batch(['status', 'out'])).stdout).toMatch(both);
    await batch();
    const told = '2 unknown: gateway-cli batch retry out unknown  # may be billed twice\n';
    expect((await batch()).stderr).toContain(told);
    expect((await batch(['status', 'out'])).stdout).toContain(told);
  });

  test('to send again what failed and was paid for may be billed again', async ({ server, folder, batch }) => {
    server.answer = (prompt) =>
      prompt === 'p1' ? { body: '{"candidates":[{"content":{"parts":[{"text":"ha' } : undefined;
    folder.jobs(...manyJobs(2));
    const told = '1 failed: gateway-cli batch retry out  # may be billed twice\n';
    expect((await batch()).stderr).toContain(told);
    expect(folder.lines('results.jsonl')).toContainEqual(
      expect.objectContaining({ id: 'p1', error: expect.objectContaining({ billed: 'yes' }) as object }),
    );
    expect((await batch(['status', 'out'])).stdout).toContain(told);
    server.answer = () => ({ status: 400, body: {} });
    await batch(['--retry', 'failed']);
    expect((await batch(['status', 'out'])).stdout).toContain('1 failed: gateway-cli batch retry out\n');
  });

  test('so may what a service failed at, after it had the request', async ({ server, folder, batch }) => {
    server.answer = () => ({ status: 500, body: {} });
    folder.jobs(...manyJobs(1));
    const told = '1 failed: gateway-cli batch retry out  # may be billed twice\n';
    expect((await batch(['--retries', '0'])).stderr).toContain(told);
    expect((await batch(['status', 'out'])).stdout).toContain(told);
    server.answer = () => undefined;
    await batch(['retry', 'out']);
    server.answer = () => ({ status: 500, body: {} });
    const again = '1 to make again: gateway-cli batch redo out p1  # may be billed twice\n';
    expect((await batch(['redo', 'out', '1', '--retries', '0'])).stderr).toContain(again);
    expect((await batch(['status', 'out'])).stdout).toContain(again);
  });

  test('Ctrl-C before the first request says that nothing was sent', async ({ server, folder, batch }) => {
    const stop = new AbortController();
    stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
    folder.jobs(...manyJobs(5));
    const told = 'no job was sent: run the same command again\n';
    expect(await batch([], { signal: stop.signal })).toMatchObject({ code: 130, stderr: told });
    expect(server.bodies).toEqual([]);
  });

  test('a count of one is singular, and every other count is plural', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(1));
    expect((await batch(['--dry-run'])).stdout).toBe(
      `1 job checked, 1 to send\ntext with m at ${server.url}: 1 job\n${firstRequest}`,
    );
    await batch();
    expect((await batch(['status', 'out'])).stdout).toBe('1 job: 1 done\n');
    server.answer = () => ({ status: 400, body: {} });
    folder.jobs(...manyJobs(4));
    const { stderr } = await batch(['--max-failures', '2', '--concurrency', '1']);
    expect(stderr).toContain('1 done, 3 not sent yet; 3 are sent now');
    expect(stderr).toContain('stopped by --max-failures 2: 1 done, 2 failed, 1 not sent yet');
    folder.jobs(...manyJobs(4).map((job) => ({ ...job, prompt: 'edited' })));
    expect((await batch()).stderr).toContain('1 job was edited since an earlier run sent it: p1');
  });

  test('a job that is sent again is in the state that it has until then', async ({ server, folder, batch }) => {
    server.answer = (prompt) => (prompt === 'p1' ? { status: 400, body: {} } : undefined);
    folder.jobs(...manyJobs(1));
    await batch();
    expect((await batch(['--retry', 'failed'])).stderr).toContain('0 done, 1 failed; 1 is sent again\n');
    folder.jobs(...manyJobs(3));
    const both = '0 done, 1 failed, 2 not sent yet; 1 is sent again, 2 for the first time\n';
    expect((await batch(['--retry', 'failed'])).stderr).toContain(both);
    expect((await batch(['--retry', 'failed'])).stderr).toContain('2 done, 1 failed; 1 is sent again\n');
  });

  test('unknown jobs are sent again after a search of the replies that were kept since the batch began', async ({
    server,
    folder,
    batch,
  }) => {
    for (const name of ['XDG_STATE_HOME', 'TMPDIR']) vi.stubEnv(name, folder.cwd);
    onTestFinished(() => void vi.unstubAllEnvs());
    const lists = 'were kept since this batch began: gateway-cli recover lists them';
    server.answer = () => ({ drop: true });
    folder.jobs(...manyJobs(1));
    await batch();
    mkdirSync(join(folder.cwd, 'gateway-cli/recovered'), { recursive: true });
    const keep = (stamp: string, outdir: string, job = 'p1') => {
      const head = { schema: 'gateway-cli/recovery@1', savedAt: '', command: 'text', ...(job && { job }) };
      const of = { folder: join(folder.cwd, outdir), request: '0', isResult: false };
      const saved = { ...head, printsText: true, ...(job && { batch: of }), document: [] };
      folder.write(`gateway-cli/recovered/gateway-cli-${stamp}-1a2b3c4d.json`, JSON.stringify(saved));
    };
    keep('20200101T000000', 'out');
    keep('29990101T000001', 'gateway-cli');
    keep('29990101T000002', '', '');
    expect((await batch()).stderr).not.toContain(lists);
    // The folder of the batch had another name.
    for (const outdir of ['out', 'gone']) {
      keep('29990101T000000', outdir);
      expect((await batch()).stderr).toContain(lists);
      expect((await batch(['status', 'out'])).stdout).toContain(lists);
    }
  });
});

test.for([
  [['--data', 'rows.xlsx'], "--data 'rows.xlsx': rows of a workbook cannot be read", '--data rows.csv'],
  [['rows.xlsx'], '"rows.xlsx" is a table, not a file of jobs', '--data rows.xlsx'],
  [['--data', 'zip.csv'], 'zip.csv: it is a workbook or an archive, not text', 'save it as CSV'],
  [
    ['--data', 'old.csv'],
    'old.csv: it is not UTF-8 text; it looks like WINDOWS-1252',
    'iconv -f WINDOWS-1252 -t UTF-8 old.csv > utf8-old.csv',
  ],
] as const)(
  'a table that cannot be read says how to save it as text: %s',
  async ([argv, message, hint], { batch, folder }) => {
    folder.write('rows.xlsx', 'PK\u0003\u0004');
    folder.write('zip.csv', Buffer.from('PK\u0003\u0004\u0000\xff', 'latin1'));
    folder.write('old.csv', Buffer.from('city\nK\xf6ln\n', 'latin1'));
    const ran = await batch(['run', ...argv, '-o', 'out', '--defaults', '{"prompt":"to {{city}}"}']);
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(ran.stderr).toContain(hint);
  },
);
