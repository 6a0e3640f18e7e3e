import { expect, vi } from 'vitest';
import { manyJobs, test } from './with-batch.ts';

test('a wall clock that jumps changes no wait, no duration and no resume', async ({ server, folder, batch }) => {
  const jumps = [-3_600_000, 40_000_000_000, -80_000_000_000, 7];
  let off = 0;
  const real = Date.now;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + off);
  server.answer = (prompt, count) => {
    off += jumps[server.bodies.length % jumps.length] as number;
    return prompt === 'p3' && count === 1 ? { status: 429, headers: { 'retry-after-ms': '20' }, body: {} } : undefined;
  };
  try {
    folder.jobs(...manyJobs(20));
    const { code, stdout } = await batch(['--concurrency', '3', '--json']);
    expect(code).toBe(0);
    const { durationMs } = JSON.parse(stdout) as { durationMs: number };
    expect(durationMs).toBeGreaterThanOrEqual(0);
    expect(durationMs).toBeLessThan(3_600_000);
    for (const line of folder.lines('results.jsonl')) {
      expect(line['durationMs']).toBeGreaterThanOrEqual(0);
      expect(line['durationMs']).toBeLessThan(3_600_000);
    }
    expect(JSON.parse((await batch(['status', 'out', '--json'])).stdout)).toMatchObject({ done: 20 });
    expect((await batch()).code).toBe(0);
    expect(server.bodies).toHaveLength(21);
  } finally {
    clock.mockRestore();
  }
});
