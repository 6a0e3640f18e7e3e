import { join } from 'node:path';
import { expect } from 'vitest';
import { run } from '../../helpers/run.ts';
import { canaryKey } from '../../helpers/with-server.ts';
import { manyJobs } from '../with-batch.ts';
import { apiNames } from './batch-server.ts';
import { hurriedClock, test } from './with-lane.ts';

test.for(apiNames)('%s: a list that cannot be read leaves the search to the next run', async (api, { open }) => {
  const { batch, folder, server } = await open(api);
  let garbled = 0;
  server.fault = (kind) => {
    if (kind === 'create') return 'drop';
    return kind === 'list' && server.batches.length > 0 && garbled++ === 0 ? 'garble' : undefined;
  };
  folder.jobs(...manyJobs(2));
  expect((await batch()).code).toBe(9);
  expect(folder.lines('summary.json')).toMatchObject([{ unknown: 0, submitted: 2 }]);
  expect((await batch()).code).toBe(0);
  expect([...server.counts.values()]).toEqual([1, 1]);
});

test('the results of another batch that cannot be read do not end the search', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.fault = (kind, count) => {
    if (kind === 'create') return 'drop';
    if (kind === 'list' && count === 2)
      server.batches.unshift({
        ...server.batches[0]!,
        id: 'msgbatch_other',
        entries: [{ key: 'k', prompt: 'p', body: {} }],
      });
    return kind === 'results' && count === 1 ? 'not-found' : undefined;
  };
  folder.jobs(...manyJobs(1));
  expect((await batch()).code).toBe(0);
  expect(server.requests).toContain('results /v1/messages/batches/msgbatch_other/results');
});

test('a journal that lacks the record of a batch is exit 14, and nothing is sent', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  folder.jobs(...manyJobs(2));
  expect((await batch(['--no-wait'])).code).toBe(0);
  const kept = folder.lines('journal.jsonl').filter(({ step }) => step !== 'planned');
  folder.writeLines('out/journal.jsonl', kept);
  const ran = await batch();
  expect([ran.code, ran.stderr]).toEqual([14, expect.stringContaining('no record that this version knows')]);
  expect(server.batches).toHaveLength(1);
});

test('an edited job whose batch was refused is sent by the next run', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.endingOf = () => ({ error: 'bad field' });
  folder.jobs(...manyJobs(2));
  expect((await batch()).code).toBe(13);
  server.endingOf = () => ({ text: 'fine' });
  folder.jobs(...manyJobs(2).map((job) => ({ ...job, temperature: 1 })));
  server.fault = (kind, count) => (kind === 'create' && count === 2 ? 'refuse' : undefined);
  expect((await batch(['--accept-changes'])).code).toBe(4);
  const again = await batch();
  expect(again).toMatchObject({ code: 0 });
  expect(folder.lines('summary.json')).toMatchObject([{ done: 2, failed: 0 }]);
});

test('an edited job whose batch is given up is sent by the run that gives it up', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.endingOf = () => ({ error: 'bad field' });
  folder.jobs(...manyJobs(2));
  expect((await batch()).code).toBe(13);
  server.endingOf = () => ({ text: 'fine' });
  folder.jobs(...manyJobs(2).map((job) => ({ ...job, temperature: 1 })));
  await batch(['--accept-changes']);
  const journal = folder.lines('journal.jsonl');
  const creating = journal.findLastIndex(({ step }) => step === 'creating');
  folder.writeLines('out/journal.jsonl', journal.slice(0, creating + 1));
  folder.write('out/results.jsonl', '');
  server.batches.length = 0;
  expect((await batch([], { clock: hurriedClock() })).code).toBe(8);
  const ran = await batch(['--retry', 'unknown']);
  const note = '2 jobs of a batch that the service does not list are sent again: p1 (row 1), p2 (row 2)\n';
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining(note)]);
  expect(folder.lines('summary.json')).toMatchObject([{ done: 2, failed: 0 }]);
});

test.for(['content', 'completions'] as const)(
  '%s: a batch that the service lists without its mark is found by its results',
  async (api, { open }) => {
    const { batch, folder, server } = await open(api);
    server.fault = (kind) => (kind === 'create' ? 'drop' : undefined);
    server.reshape = (kind, text) =>
      kind === 'list'
        ? text
            .replaceAll(/"metadata":\{"gateway_cli":"\w+"\}|"displayName":"\w+"/g, '"nothing":1')
            .replaceAll(/"created_at":\d+/g, `"created_at":${Math.trunc(Date.now() / 1000)}`)
            .replaceAll(/"createTime":"[^"]+"/g, `"createTime":"${new Date().toISOString()}"`)
        : undefined;
    folder.jobs(...manyJobs(2));
    await batch([], { clock: hurriedClock() });
    server.fault = () => undefined;
    expect((await batch([], { clock: hurriedClock() })).code).toBe(0);
    expect([...server.counts.values()]).toEqual([1, 1]);
  },
);

test.for(['a key', 'the key of a command'])(
  'a batch of %s is not submitted again with another one, which does not find it',
  async (kind, { open }) => {
    const { batch, folder, server } = await open('completions');
    const keyed = (key: string): object => {
      if (kind === 'a key') return { GATEWAY_API_KEY: key };
      const profiles = { a: { baseUrl: server.url, apiKeyCommand: ['echo', key] } };
      folder.write('config.json', JSON.stringify({ profile: 'a', profiles }));
      return { GATEWAY_API_KEY: '', GATEWAY_CONFIG: join(folder.cwd, 'config.json') };
    };
    server.fault = (asked) => (asked === 'create' ? 'drop' : undefined);
    server.reshape = (asked) => (asked === 'list' ? '<html>' : undefined);
    folder.jobs(...manyJobs(2));
    expect((await batch([], { env: { ...keyed(canaryKey) } })).code).toBe(9);
    server.fault = () => undefined;
    server.reshape = (asked) => (asked === 'list' ? '{"data":[],"has_more":false}' : undefined);
    const other = { clock: hurriedClock(), env: { ...keyed('another-key-of-another-account') } };
    const ran = await batch([], other);
    expect([ran.code, ran.stderr]).toEqual([14, expect.stringContaining('went with another key')]);
    expect(folder.read('out/journal.jsonl')).not.toContain(canaryKey);
    expect(server.batches).toHaveLength(1);
    expect((await batch(['--retry', 'unknown'], other)).stderr).toContain(
      '2 jobs of a batch that the service does not list',
    );
  },
);

test('a batch that another key does not find is not given up', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  folder.jobs(...manyJobs(2));
  expect((await batch(['--no-wait'])).code).toBe(0);
  server.fault = (kind) => (kind === 'poll' ? 'not-found' : undefined);
  const other = { clock: hurriedClock(2_000_000), env: { GATEWAY_API_KEY: 'another-key-of-another-account' } };
  const ran = await batch([], other);
  expect([ran.code, ran.stderr]).toEqual([14, expect.stringContaining('2 jobs went with another key')]);
  expect((await batch(['--retry', 'unknown'], other)).stderr).toContain('2 unknown (may have been billed)');
});

test('a batch that another key does not find keeps no run from collecting the others', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  folder.jobs(...manyJobs(1));
  expect((await batch(['--no-wait'])).code).toBe(0);
  Object.assign(server.batches[0] as object, { id: 'of-another-account' });
  folder.jobs(...manyJobs(2));
  const ran = await batch([], { clock: hurriedClock(), env: { GATEWAY_API_KEY: 'another-key-of-another-account' } });
  expect([ran.code, ran.stderr]).toEqual([
    14,
    expect.stringMatching(/1 job went with another key.*; polling goes on\n/),
  ]);
  expect(folder.lines('summary.json')).toMatchObject([{ done: 1, submitted: 1 }]);
});

test('a batch is not looked for at another address that its profile has now', async ({ open }) => {
  const { batch, folder, server } = await open('completions');
  const elsewhere = await open('completions');
  const profile = (baseUrl: string): object => ({ baseUrl, format: 'completions', apiKey: canaryKey });
  const configure = (url: string): void =>
    folder.write('config.json', JSON.stringify({ profiles: { a: profile(server.url), b: profile(url) } }));
  const env = {
    GATEWAY_CONFIG: join(folder.cwd, 'config.json'),
    GATEWAY_API_KEY: '',
    GATEWAY_BASE_URL: '',
    GATEWAY_FORMAT: '',
  };
  folder.jobs({ id: '1', prompt: 'p1', profile: 'a' }, { id: '2', prompt: 'p2', profile: 'b' });
  const third = await open('completions');
  configure(elsewhere.server.url);
  expect((await batch(['--no-wait'], { env })).code).toBe(0);
  configure(third.server.url);
  const ran = await batch(['--accept-changes'], { env });
  expect([ran.code, ran.stderr]).toEqual([
    14,
    expect.stringContaining(`went to ${elsewhere.server.url}, not to ${third.server.url}`),
  ]);
});

test('a stream sends no job that is at the service', async ({ open }) => {
  const { batch, env, folder } = await open('messages');
  folder.jobs(...manyJobs(2));
  expect((await batch(['--no-wait'])).code).toBe(0);
  const argv = ['batch', '-', '--stream', '-o', 'out', '--retry', 'unknown,failed'];
  const stdin = [...manyJobs(1), { id: 'p2', prompt: 'edited' }].map((job) => JSON.stringify(job)).join('\n');
  const { code, stdout } = await run(argv, { cwd: folder.cwd, env, stdin });
  const errors = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { error: object }).error);
  expect([code, errors[0]]).toMatchObject([13, { class: 'no-reply', sent: 'yes' }]);
  expect((await batch()).code).toBe(0);
  expect(folder.lines('summary.json')).toMatchObject([{ done: 2 }]);
});

test('jobs whose batch is not known yet are said to be so, and cannot be cancelled', async ({ open }) => {
  const { batch, env, folder, server } = await open('messages');
  server.pollsToEnd = 1000;
  server.fault = (kind) => (kind === 'create' ? 'drop' : undefined);
  folder.jobs(...manyJobs(2));
  const { code, stderr } = await batch(['--no-wait'], { clock: hurriedClock() });
  expect([code, stderr]).toEqual([0, expect.stringContaining('2 jobs may be at the service, and be billed')]);
  expect(stderr).not.toContain('will be billed');
  const cancelled = await run(['batch', 'cancel', 'out'], { cwd: folder.cwd, env });
  expect([cancelled.code, cancelled.stderr.match(/is not answered yet/g)?.length]).toEqual([8, 1]);
});

test.for(apiNames)('%s: a batch whose form is not known is not created again', async (api, { open }) => {
  const { batch, folder, server } = await open(api);
  const strange = (text: string): string => text.replaceAll(/"(?:batches\/b|msgbatch_|batch_)/g, '$& ');
  server.reshape = (kind, text) => (kind === 'create' || kind === 'list' ? strange(text) : undefined);
  folder.jobs(...manyJobs(2));
  const ran = await batch([], { clock: hurriedClock() });
  expect([ran.code, ran.stderr]).toEqual([8, expect.stringContaining('2 jobs may be at the service, and be billed')]);
  expect((await batch([], { clock: hurriedClock() })).code).toBe(8);
  expect([...server.counts.values()]).toEqual([1, 1]);
});

test('a batch whose results show no key may be the one that was not answered', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.pollsToEnd = 1;
  server.fault = (kind) => (kind === 'create' ? 'drop' : undefined);
  server.reshape = (kind) => (kind === 'results' ? '<html>\n' : undefined);
  folder.jobs(...manyJobs(2));
  const ran = await batch([], { clock: hurriedClock() });
  expect([ran.code, ran.stderr]).toEqual([8, expect.stringContaining('2 jobs may be at the service, and be billed')]);
  expect((await batch([], { clock: hurriedClock() })).code).toBe(8);
  expect([...server.counts.values()]).toEqual([1, 1]);
});

test('status says why a batch was not created, above what to do', async ({ open }) => {
  const { batch, folder, env, server } = await open('completions');
  server.fault = (kind) => (kind === 'create' ? 'refuse' : undefined);
  folder.jobs(...manyJobs(1));
  expect((await batch()).code).toBe(4);
  const { stdout } = await run(['batch', 'status', 'out'], { cwd: folder.cwd, env });
  expect(stdout).toMatch(/^1 job: 0 done, 1 not sent yet\nlast run: the gateway answered 400 [^\n]*\n./);
});

test.for(apiNames)(
  '%s: a batch that the service lists only after minutes is not created twice',
  async (api, { open }) => {
    const { batch, folder, server } = await open(api);
    server.fault = (kind) => (kind === 'create' ? 'drop' : undefined);
    server.reshape = (kind) =>
      kind === 'list' ? (api === 'content' ? '{}' : '{"data":[],"has_more":false}') : undefined;
    folder.jobs(...manyJobs(2));
    const ran = await batch([], { clock: hurriedClock() });
    expect([ran.code, ran.stderr]).toEqual([
      8,
      expect.stringContaining('to look for it later: gateway-cli batch again out\n'),
    ]);
    expect(ran.stderr).toContain('which may bill them twice: gateway-cli batch retry out unknown');
    expect((await batch(['--no-wait'])).code).toBe(8);
    server.fault = () => undefined;
    server.reshape = () => undefined;
    expect((await batch()).code).toBe(0);
    expect([...server.counts.values()]).toEqual([1, 1]);
  },
);

test('the answer to a row that was edited at the service is kept, and the row asks anew', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  folder.jobs({ id: '1', prompt: 'Hi' });
  expect((await batch(['--no-wait'])).code).toBe(0);
  folder.jobs({ id: '1', prompt: 'Hello', model: 'm2' });
  expect((await batch()).code).toBe(14);
  expect((await batch(['--accept-changes'])).code).toBe(0);
  const texts = folder.lines('results.jsonl').map(({ text }) => text);
  expect(texts.toSorted()).toEqual(['answer to Hello', 'answer to Hi']);
  expect([...server.counts.values()]).toEqual([1, 1]);
  // Going back is free.
  folder.jobs({ id: '1', prompt: 'Hi' });
  expect((await batch()).code).toBe(0);
  expect([...server.counts.values()]).toEqual([1, 1]);
});
