import { expect } from 'vitest';
import { run } from '../../helpers/run.ts';
import { manyJobs } from '../with-batch.ts';
import { test } from './with-lane.ts';

test('a batch that cannot be cancelled is reported, the others are cancelled, and the exit code says so', async ({
  open,
}) => {
  const { batch, folder, server, env } = await open('messages');
  server.pollsToEnd = 1000;
  folder.jobs(...manyJobs(3).map((job, at) => ({ ...job, model: `m${at % 2}` })));
  expect((await batch(['--no-wait'])).code).toBe(0);
  server.fault = (kind, count) => (kind === 'cancel' && count === 1 ? 'refuse' : undefined);
  const ran = await run(['batch', 'cancel', 'out'], { cwd: folder.cwd, env });
  expect([ran.code, ran.stdout]).toEqual([4, 'msgbatch_2: 1 job, cancelled as far as they are not done\n']);
  expect(ran.stderr).toContain('warning: msgbatch_1: the gateway answered 400');
  expect(server.batches.map(({ state }) => state)).toEqual(['cancelled', 'running']);
  server.fault = (kind) => (kind === 'cancel' ? 'drop' : undefined);
  const lost = await run(['batch', 'cancel', 'out', '--retries', '0'], { cwd: folder.cwd, env });
  expect([lost.code, lost.stderr]).toEqual([8, expect.stringContaining('run the same command again')]);
  expect(lost.stderr).not.toContain('may have been billed');
  server.fault = () => undefined;
  const again = await run(['batch', 'cancel', 'out', '--json'], { cwd: folder.cwd, env });
  expect(JSON.parse(again.stdout)).toMatchObject({ ok: true, cancelled: [{ jobs: 2 }, { jobs: 1 }] });
});

test('jobs whose results are written are not at the service, whatever the journal lacks', async ({ open }) => {
  const { batch, folder, env } = await open('messages');
  folder.jobs(...manyJobs(3));
  expect((await batch()).code).toBe(0);
  const { slot: first } = folder.lines('results.jsonl').find(({ id }) => id === 'p1') ?? {};
  const kept = folder
    .lines('journal.jsonl')
    .filter(({ t, slot, step }) => step !== 'ended' && (t !== 'done' || slot === first));
  expect(kept).toHaveLength(folder.lines('journal.jsonl').length - 3);
  folder.writeLines('out/journal.jsonl', kept);
  const status = await run(['batch', 'status', 'out'], { cwd: folder.cwd, env });
  expect(status.stdout).toContain('3 jobs: 3 done\n');
  const cancel = await run(['batch', 'cancel', 'out'], { cwd: folder.cwd, env });
  expect([cancel.code, cancel.stderr]).toEqual([0, 'no jobs of out are at the service\n']);
});

test('a batch is cancelled with the key in the form in which it was created', async ({ open }) => {
  const { batch, folder, server, env } = await open('content');
  server.pollsToEnd = 1000;
  folder.jobs({ id: '1', command: 'image gen', prompt: 'a' });
  const work = { baseUrl: server.url, apiKey: env['GATEWAY_API_KEY'], auth: { text: 'api-key', image: 'bearer' } };
  folder.write('config.json', JSON.stringify({ profiles: { work } }));
  const ofProfile = { ...env, GATEWAY_BASE_URL: '', GATEWAY_API_KEY: '', GATEWAY_CONFIG: 'config.json' };
  expect((await batch(['--no-wait', '--profile', 'work'], { env: ofProfile })).code).toBe(0);
  expect((await run(['batch', 'cancel', 'out'], { cwd: folder.cwd, env: ofProfile })).code).toBe(0);
  expect(server.withBearer).toEqual(new Set(['create', 'poll', 'cancel']));
});

test('without the flags of the run, cancel says which lead to the service where the jobs are', async ({ open }) => {
  const { folder, server, env } = await open('messages');
  server.pollsToEnd = 1000;
  folder.jobs(...manyJobs(1));
  const flags = ['--service', 'anthropic', '--base-url', server.url];
  const cli = (argv: string[]) =>
    run(['batch', ...argv], { cwd: folder.cwd, env: { GATEWAY_API_KEY: env['GATEWAY_API_KEY'] ?? '' } });
  const submit = ['jobs.jsonl', '-o', 'out', '--lane', 'batch', '--no-wait', '-m', 'm'];
  expect((await cli([...submit, ...flags])).code).toBe(0);
  const lost = await cli(['cancel', 'out']);
  expect(lost.code).toBe(14);
  const hint = `  give the connection flags with which they were submitted, such as --base-url ${server.url}\n`;
  expect(lost.stderr).toContain(hint);
  expect(await cli(['cancel', 'out', '--base-url', server.url])).toMatchObject({ code: 0 });

  const journal = folder.read('out/journal.jsonl').replaceAll(server.url, 'https://api.anthropic.com');
  folder.write('out/journal.jsonl', journal);
  expect((await cli(['cancel', 'out'])).stderr).toContain('such as --service anthropic\n');
});
