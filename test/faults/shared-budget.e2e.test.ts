import { expect, test, vi } from 'vitest';
import { isFull } from '../helpers/full.ts';
import { run } from '../helpers/run.ts';
import { runSharing } from './shared-budget.ts';

interface Row {
  requests: number;
  unknown: number;
  amount: string;
}

/** How many share a budget of so many requests, and which of them are killed. */
const [processes, most, killed] = isFull ? [16, 100, [2, 5, 8, 11, 14]] : [4, 20, [0, 2]];

test(
  `${processes} processes share a budget, and ${killed.length} of them are killed: it is used to the last digit, and not passed`,
  { timeout: 180_000 },
  async () => {
    const killAt = new Map(killed.map((at, n) => [at, n + 1]));
    const limit = (most / 100).toFixed(2);
    const { cwd, received, ended } = await runSharing(`team:${limit}`, { processes, jobs: 12, killAt });
    const survivors = ended.filter((_, at) => !killAt.has(at));
    const full = survivors.filter(({ code }) => code === 13);
    expect(survivors.filter(({ code }) => code !== 0 && code !== 13)).toEqual([]);
    expect(full.length).toBeGreaterThan(0);
    for (const { stderr } of full) expect(stderr).toContain(`the budget team: ${most / 100} of ${limit} USD are spent`);
    const sent = received.reduce((sum, count) => sum + count, 0);
    expect(sent).toBeLessThanOrEqual(most);

    vi.stubEnv('XDG_STATE_HOME', cwd);
    const shown = JSON.parse((await run(['costs', '--json'], { cwd })).stdout) as { budgets: object[] };
    expect(shown.budgets).toMatchObject([{ name: 'team', limit, spent: String(most / 100), inFlight: '0', left: '0' }]);
    for (const by of isFull ? ['tag', 'model', 'service', 'day', 'lane'] : ['tag']) {
      const { stdout } = await run(['costs', 'report', '--by', by, '--since', '1d', '--json'], { cwd });
      const { rows, totals } = JSON.parse(stdout) as { rows: Row[]; totals: [Row] };
      expect(totals).toMatchObject([{ requests: most, amount: String(most / 100) }]);
      expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(most);
      expect(rows.reduce((sum, { amount }) => sum + Math.round(Number(amount) * 100), 0)).toBe(most);
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
