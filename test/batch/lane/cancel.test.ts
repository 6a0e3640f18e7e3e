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
  const told = await run(['batch', 'cancel', 'out'], { cwd: folder.cwd, env });
  expect(told.stderr).toContain('collected by gateway-cli batch again out --lane batch\n');
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
  expect(server.withBearer).toEqual(new Set(['upload-start', 'upload', 'create', 'poll', 'cancel']));
});

test('cancel goes where the command of the folder leads, and asks where only the folder says so', async ({ open }) => {
  const { folder, server, env } = await open('messages');
  server.pollsToEnd = 1000;
  folder.jobs(...manyJobs(1));
  const key = env['GATEWAY_API_KEY'] ?? '';
  const config = { profiles: { work: { service: 'anthropic', baseUrl: server.url, apiKey: key } } };
  folder.write('config.json', JSON.stringify(config));
  const cli = (argv: string[], more = {}) => run(['batch', ...argv], { cwd: folder.cwd, env: more });
  const submit = ['jobs.jsonl', '--lane', 'batch', '--no-wait', '-m', 'm'];
  const profiles = { GATEWAY_CONFIG: 'config.json' };
  expect((await cli([...submit, '-o', 'out', '--profile', 'work'], profiles)).code).toBe(0);
  expect(await cli(['cancel', 'out'], profiles)).toMatchObject({ code: 0 });
  const here = ['--service', 'anthropic', '--base-url', server.url];
  expect((await cli([...submit, '-o', 'typed', ...here], { GATEWAY_API_KEY: key })).code).toBe(0);
  const asked = await cli(['cancel', 'typed'], { GATEWAY_API_KEY: key });
  expect([asked.code, asked.stderr]).toEqual([
    2,
    expect.stringContaining(`type it again: gateway-cli batch cancel typed --base-url ${server.url}`),
  ]);
  expect(await cli(['cancel', 'typed', ...here], { GATEWAY_API_KEY: key })).toMatchObject({ code: 0 });
});

test('a batch that another service has is not looked for at this one: cancel says which flag leads there', async ({
  open,
}) => {
  const { folder, server, env } = await open('messages');
  server.pollsToEnd = 1000;
  folder.jobs(...manyJobs(1));
  const cli = (argv: string[]) =>
    run(['batch', ...argv], { cwd: folder.cwd, env: { GATEWAY_API_KEY: env['GATEWAY_API_KEY'] ?? '' } });
  const here = ['--service', 'anthropic', '--base-url', server.url];
  await cli(['jobs.jsonl', '-o', 'out', '--lane', 'batch', '--no-wait', '-m', 'm', ...here]);
  const lost = await cli(['cancel', 'out', '--service', 'openai', '--base-url', 'http://127.0.0.1:1']);
  expect(lost.code).toBe(14);
  const hint = `  give the connection flags with which they were submitted, such as --base-url ${server.url}\n`;
  expect(lost.stderr).toContain(hint);
  const journal = folder.read('out/journal.jsonl').replaceAll(server.url, 'https://api.anthropic.com');
  folder.write('out/journal.jsonl', journal);
  expect((await cli(['cancel', 'out', ...here])).stderr).toContain('such as --service anthropic\n');
});
