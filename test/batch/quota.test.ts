import { describe, expect } from 'vitest';
import { manyJobs, test } from './with-batch.ts';

const spent = {
  status: 429,
  body: {
    error: {
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      message: 'You exceeded your current quota',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
          violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }],
        },
      ],
    },
  },
};
const comeBackLater = { status: 429, headers: { 'retry-after': '3600' }, body: { error: { message: 'slow down' } } };

describe('a quota that is spent', () => {
  test('ends the batch with what is left, and the same command goes on', async ({ server, folder, batch }) => {
    server.answer = (prompt) => (prompt === 'p1' ? undefined : spent);
    folder.jobs(...manyJobs(100));
    const ran = await batch(['--concurrency', '1', '--json']);
    expect(ran.code).toBe(13);
    expect(JSON.parse(ran.stdout)).toMatchObject({ done: 1, failed: 0, unknown: 0, pending: 99 });
    expect(ran.stderr).toContain('You exceeded your current quota');
    expect(ran.stderr).toContain('99 not sent yet: gateway-cli batch again out\n');
    expect(server.bodies).toHaveLength(2);
    server.answer = () => undefined;
    const again = await batch(['--json']);
    expect([again.code, JSON.parse(again.stdout)]).toMatchObject([0, { done: 100, skipped: 1 }]);
    expect(server.bodies).toHaveLength(101);
  });

  test.for([
    [402, {}],
    [400, { code: 'insufficient_quota' }],
  ] as const)(
    'a reply with status %i that says so is a spent quota, too',
    async ([status, error], { server, folder, batch }) => {
      server.answer = () => ({ status, body: { error: { message: 'no credit', ...error } } });
      folder.jobs(...manyJobs(20));
      const ran = await batch(['--concurrency', '2', '--json']);
      expect(JSON.parse(ran.stdout)).toMatchObject({ exitCode: 13, failed: 0, pending: 20 });
      expect(server.bodies.length).toBeLessThanOrEqual(2);
    },
  );

  test('ends a stream, and the hint says what to do', async ({ server, batch }) => {
    server.answer = () => spent;
    const { code, stderr } = await batch(['-', '--stream'], { stdin: '{"prompt":"p1"}\n' });
    expect([code, stderr]).toEqual([13, expect.stringMatching(/a job without a line was not sent\n {2}\S.{20}/)]);
  });
});

describe('a wait that is longer than a job may wait', () => {
  test('a wait that is longer than a job may wait fails that job alone, and holds up no other', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = (prompt) => (prompt === 'p3' ? comeBackLater : undefined);
    folder.jobs(...manyJobs(20));
    const ran = await batch(['--concurrency', '2', '--json']);
    expect(JSON.parse(ran.stdout)).toMatchObject({ exitCode: 13, done: 19, failed: 1, pending: 0 });
    expect(ran.stderr).toContain('come back after 3600 s');
  });

  test('a wait too long for a job that a later request gets too ends the batch', async ({ server, folder, batch }) => {
    server.answer = (prompt) => (prompt === 'p1' ? undefined : comeBackLater);
    // One is done before: if it is answered after others were refused, the next refusal is the first one again.
    folder.jobs(...manyJobs(1));
    await batch();
    folder.jobs(...manyJobs(100));
    const ran = await batch(['--concurrency', '4', '--json']);
    const { done, failed, pending } = JSON.parse(ran.stdout) as Record<string, number>;
    expect([ran.code, done, (failed ?? 0) + (pending ?? 0)]).toEqual([13, 1, 99]);
    expect(failed).toBeLessThanOrEqual(8);
    expect(server.bodies.length).toBeLessThanOrEqual(9);
  });

  test('the longest wait of a job is what --retry-max-time says', async ({ server, folder, batch }) => {
    const wait = { ...comeBackLater, headers: { 'retry-after-ms': '30' } };
    server.answer = (_prompt, count) => (count === 1 ? wait : undefined);
    folder.jobs(...manyJobs(2));
    const short = await batch(['--concurrency', '1', '--retry-max-time', '20ms', '--json']);
    expect(JSON.parse(short.stdout)).toMatchObject({ exitCode: 13, done: 0 });
    const long = await batch(['--retry', 'failed', '--json']);
    expect(JSON.parse(long.stdout)).toMatchObject({ exitCode: 0, done: 2 });
  });
});
