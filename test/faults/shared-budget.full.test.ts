import { expect, test } from 'vitest';
import { runIn, runSharing } from './shared-budget.ts';

test.each([1, 2, 3, 4, 5])(
  'round %i: thirty-two processes share a budget of 5.00, a third of them is killed, and the report adds up',
  { timeout: 600_000 },
  async (round) => {
    // Other processes at other moments in each round.
    const killAt = new Map(
      Array.from({ length: 11 }, (_, n) => [(3 * n + round) % 32, 1 + ((7 * n + 3 * round) % 20)]),
    );
    const { cwd, received, ended } = await runSharing('team:5.00', { processes: 32, jobs: 40, killAt });
    const sent = received.reduce((sum, count) => sum + count, 0);
    expect(sent).toBeLessThanOrEqual(500);
    for (const { code, stderr } of ended.filter((_, at) => !killAt.has(at)))
      if (code !== 0)
        expect([code, stderr]).toEqual([13, expect.stringContaining('budget team: 5 of 5.00 USD are spent')]);
    const { stdout } = await runIn(cwd, ['costs', 'report', '--by', 'tag', '--json']);
    const { rows, totals } = JSON.parse(stdout) as Record<'rows' | 'totals', { requests: number; amount: string }[]>;
    expect(totals).toMatchObject([{ requests: 500, amount: '5' }]);
    expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(500);
    expect(rows.reduce((sum, { amount }) => sum + Math.round(Number(amount) * 100), 0)).toBe(500);
  },
);
