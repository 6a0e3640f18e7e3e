import { expect } from 'vitest';
import { decideRetry } from '../../../src/library/transport/retry.ts';
import { manyJobs, test as batchTest } from '../../batch/with-batch.ts';
import { test, textReply } from '../../helpers/with-server.ts';

const busy = { status: 503, headers: { 'retry-after-ms': '1' }, body: { error: { code: 503, message: 'overloaded' } } };
const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 };
const prices = '{"m":{"input":"1","output":"10","flex":"0.5"}}';

test.for([
  ['content', 'text', 'serviceTier'],
  ['content', 'chat', 'serviceTier'],
  ['completions', 'text', 'service_tier'],
  ['completions', 'chat', 'service_tier'],
] as const)('in the %s format, %s --lane flex asks for the tier', async ([format, command, field], { cli }) => {
  const ran = await cli([command, 'hi', '-m', 'm', '--format', format, '--lane', 'flex', '--dry-run', '--json']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect((JSON.parse(ran.stdout) as { body: object }).body).toMatchObject({ [field]: 'flex' });
});

test.for([
  [
    ['chat', 'hi', '-m', 'm', '--lane', 'flex'],
    '--lane flex (flag --lane): the messages format',
    'the content format, the completions format and',
  ],
  [
    ['text', 'hi', '--lane', 'batch'],
    'not for text',
    '\n  for half price here: --lane flex; for many: gateway-cli batch',
  ],
  [
    ['chat', 'hi', '--lane', 'batch'],
    'not for chat',
    '\n  for many: gateway-cli batch jobs.jsonl -o out --lane batch\n',
  ],
  [['text', 'hi', '--lane-fallback', 'live'], '--lane-fallback is for the flex lane', 'add --lane flex'],
  [['text', 'hi', '--lane', 'slow'], '--lane', 'flex'],
] as const)('%s is exit 2, and nothing is sent', async ([argv, message, hint], { cli, server }) => {
  const ran = await cli(argv);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain(hint);
  expect(server.requests).toEqual([]);
});

test('the tier of the reply is in the result and decides the price, from the body or from the header', async ({
  cli,
  server,
}) => {
  const argv = ['text', 'hi', '--lane', 'flex', '--json', '--prices', prices];
  server.reply({ body: textReply('a', { usageMetadata: { ...usageMetadata, serviceTier: 'flex' } }) });
  const half = { serviceTier: 'flex', cost: { amount: '0.0000115' } };
  expect(JSON.parse((await cli(argv)).stdout)).toMatchObject(half);
  server.reply({ headers: { 'x-gemini-service-tier': 'flex' }, body: textReply('a') });
  expect(JSON.parse((await cli(argv)).stdout)).toMatchObject(half);
  server.reply({ headers: { 'x-gemini-service-tier': 'standard' }, body: textReply('a') });
  expect(JSON.parse((await cli(argv)).stdout)).toMatchObject({ cost: { amount: '0.000023' } });
});

test.for([
  [429, 41, true],
  [503, 59, true],
  [503, 60, false],
  [500, 3, false],
] as const)('in the flex lane, a %d is retried for long only while it says busy', ([status, attempt, retry]) => {
  const policy = { retries: 2, maxWaitMs: 900_000, safeOnly: false, busyRetries: 59 };
  const failure = { kind: 'reply', status, headers: {} } as const;
  expect(decideRetry({ attempt, waitedMs: 0, failure, policy, now: 0, random: 0 })).toMatchObject({ retry });
});

test('--lane-fallback live goes on at full price and says so', async ({ cli, server }) => {
  server.reply(busy);
  server.reply({ body: textReply('a') });
  const ran = await cli(['text', 'hi', '--lane', 'flex', '--lane-fallback', 'live', '--retries', '0']);
  expect(ran).toMatchObject({ code: 0, stdout: 'a\n' });
  expect(ran.stderr).toBe('1 request was sent at full price: the flex lane stayed busy\n');
  const bodies = server.requests.map(({ body }) => JSON.parse(String(body)) as { serviceTier?: string });
  expect(bodies.map(({ serviceTier }) => serviceTier)).toEqual(['flex', undefined]);
});

test('a quota that is spent is not asked for at full price', async ({ cli, server }) => {
  const error = { message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' };
  server.reply({ status: 429, body: { error } });
  const ran = await cli(['text', 'hi', '--format', 'completions', '--lane', 'flex', '--lane-fallback', 'live']);
  expect([ran.code, server.requests.length]).toEqual([5, 1]);
});

batchTest('a batch goes on in another lane: what is done stays done', async ({ batch, folder, server }) => {
  const tier = { ...usageMetadata, serviceTier: 'flex' };
  server.answer = () => ({ body: textReply('a', { usageMetadata: tier }) });
  folder.jobs(...manyJobs(2));
  expect((await batch(['--lane', 'flex', '--prices', prices])).code).toBe(0);
  expect(server.bodies.map(({ body }) => body['serviceTier'])).toEqual(['flex', 'flex']);
  const ends = folder.lines('journal.jsonl').filter(({ t }) => t === 'done');
  expect(ends).toMatchObject([{ tier: 'flex', cost: { amount: '0.0000115' } }, { tier: 'flex' }]);
  folder.jobs(...manyJobs(3));
  expect((await batch()).code).toBe(0);
  expect(server.bodies).toHaveLength(3);
});

batchTest('a batch tells how many of its jobs went at full price', async ({ batch, folder, server }) => {
  server.answer = (_, count) => (count === 1 ? busy : undefined);
  folder.jobs(...manyJobs(3));
  const ran = await batch(['--lane', 'flex', '--lane-fallback', 'live', '--retries', '0']);
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('3 requests were sent at full price: the flex lane stayed busy');
  expect(folder.lines('results.jsonl').map(({ attempts }) => attempts)).toEqual([2, 2, 2]);
});
