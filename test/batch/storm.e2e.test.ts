import { describe, expect } from 'vitest';
import { GatewayError } from '../../src/library/errors.ts';
import { manyJobs, test } from './with-batch.ts';

describe('many workers, one gateway', () => {
  test('a 429 is asked again before any further job', async ({ server, folder, batch }) => {
    const order: string[] = [];
    server.answer = (prompt) => {
      order.push(prompt);
      return order.length === 1 ? { status: 429, headers: { 'retry-after-ms': '20' }, body: {} } : undefined;
    };
    folder.jobs(...manyJobs(5));
    expect((await batch(['--concurrency', '1'])).code).toBe(0);
    expect(order).toEqual(['p1', 'p1', 'p2', 'p3', 'p4', 'p5']);
  });

  test('no job goes on while one waits', async ({ server, folder, batch }) => {
    const order: string[] = [];
    server.answer = (prompt, count) => {
      order.push(prompt);
      return prompt === 'p8' && count === 1
        ? { status: 429, headers: { 'retry-after-ms': '800' }, body: {} }
        : undefined;
    };
    folder.jobs(...manyJobs(200));
    expect((await batch(['--concurrency', '4'])).code).toBe(0);
    // Without the pause all the others would be through by then; those already sent do not matter.
    const between = order.lastIndexOf('p8') - order.indexOf('p8') - 1;
    expect(between).toBeLessThan(60);
    expect(order).toHaveLength(201);
  });

  test('the budget of retries ends a storm: no more requests than jobs and budget', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = () => ({ status: 503, headers: { 'retry-after-ms': '0' }, body: {} });
    folder.jobs(...manyJobs(100));
    const { code, stdout } = await batch(['--concurrency', '16', '--retries', '50', '--json']);
    expect(code).toBe(13);
    expect(JSON.parse(stdout)).toMatchObject({ done: 0, failed: 100 });
    expect(server.bodies.length).toBeLessThanOrEqual(110);
    expect(server.bodies.length).toBeGreaterThan(100);
  }, 180_000);

  test('--rate leaves the other jobs for their turn, however many workers there are', async ({
    server,
    folder,
    batch,
  }) => {
    const stop = new AbortController();
    folder.jobs(...manyJobs(6));
    const running = batch(['--rate', '1/h', '--concurrency', '6', '--json'], { signal: stop.signal });
    await server.received(1);
    stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
    expect(JSON.parse((await running).stdout)).toMatchObject({ done: 1, unknown: 0, pending: 5 });
    expect(server.bodies).toHaveLength(1);
  });
});
