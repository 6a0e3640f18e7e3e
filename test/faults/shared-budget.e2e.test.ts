import { expect, test } from 'vitest';
import { runIn, runSharing } from './shared-budget.ts';

interface Row {
  requests: number;
  unknown: number;
  amount: string;
}

test(
  'sixteen processes share a budget of 1.00, and five of them are killed: it is used to the last digit, and not passed',
  { timeout: 180_000 },
  async () => {
    const killAt = new Map([2, 5, 8, 11, 14].map((at, n) => [at, n + 1]));
    const { cwd, received, ended } = await runSharing('team:1.00', { processes: 16, jobs: 12, killAt });
    const survivors = ended.filter((_, at) => !killAt.has(at));
    const full = survivors.filter(({ code }) => code === 13);
    expect(survivors.filter(({ code }) => code !== 0 && code !== 13)).toEqual([]);
    expect(full.length).toBeGreaterThan(0);
    for (const { stderr } of full) expect(stderr).toContain('the budget team: 1 of 1.00 USD are spent');
    const sent = received.reduce((sum, count) => sum + count, 0);
    expect(sent).toBeLessThanOrEqual(100);

    const shown = JSON.parse((await runIn(cwd, ['costs', '--json'])).stdout) as { budgets: object[] };
    expect(shown.budgets).toMatchObject([{ name: 'team', limit: '1.00', spent: '1', inFlight: '0', left: '0' }]);
    for (const by of ['tag', 'model', 'service', 'day', 'lane']) {
      const { stdout } = await runIn(cwd, ['costs', 'report', '--by', by, '--since', '1d', '--json']);
      const { rows, totals } = JSON.parse(stdout) as { rows: Row[]; totals: [Row] };
      expect(totals).toMatchObject([{ requests: 100, amount: '1' }]);
      expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(100);
      expect(rows.reduce((sum, { amount }) => sum + Math.round(Number(amount) * 100), 0)).toBe(100);
      // Each of the killed ones had two requests under way at most.
      expect(totals[0].unknown).toBeLessThanOrEqual(2 * killAt.size);
      expect(totals[0].requests - totals[0].unknown).toBeLessThanOrEqual(sent);
    }
  },
);

test(
  'processes of a rate group send no more often than the rate, however many they are',
  { timeout: 180_000 },
  async () => {
    const flags = ['--rate', '25/s', '--rate-group', './rates/group.json'];
    const { received, arrivals, ended } = await runSharing('team:9.00', {
      processes: 4,
      jobs: 10,
      killAt: new Map([[1, 3]]),
      flags,
    });
    expect(ended.filter((_, at) => at !== 1).map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(received.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(30);
    // Each alone would have sent its ten in 360 ms. The first can arrive late, after others are spaced from it.
    const span = Math.max(...arrivals) - Math.min(...arrivals);
    expect(span).toBeGreaterThan((arrivals.length - 1) * 40 * 0.7);
  },
);
