import type { BatchBudget, BatchPlan, CostLimit } from '../../../batch/index.ts';
import { createBudget, subtractAmounts, sumAmounts } from '../../../library/index.ts';
import { ownSettings } from './own-settings.ts';
import type { Context } from '../../context.ts';
import {
  readBudgetLeft,
  type OpenBudget,
  openSharedBudget,
  overBudget,
  reserveBatch,
  type Tag,
} from '../../run/budget.ts';

/** The budgets that pay for provider batches, by the gateways that have one. Gateways with the same budget share its rest. */
export async function openBatchBudgets(
  gateways: BatchPlan['gateways'],
  tags: readonly Tag[] | undefined,
  context: Context,
): Promise<ReadonlyMap<string, BatchBudget>> {
  const budgets = new Map<string, BatchBudget>();
  const limits = new Map<string, Promise<CostLimit>>();
  for (const [profile, gateway] of gateways) {
    const budget = await openSharedBudget(ownSettings(gateway), tags, context);
    if (budget === undefined) continue;
    const { path } = budget;
    budgets.set(profile, {
      path,
      openLimit() {
        const limit = limits.get(path) ?? limitToLeft(budget);
        limits.set(path, limit);
        return limit;
      },
      reserve: (batch, signal) => reserveBatch(budget, batch, signal),
    });
  }
  return budgets;
}

/** Limits jobs to what is left of a budget. */
async function limitToLeft(shared: OpenBudget): Promise<CostLimit> {
  const { left, dearest } = await readBudgetLeft(shared);
  const taken = subtractAmounts(shared.setting.amount, left);
  const budget = createBudget({ most: left, spent: '0', dearest });
  return { budget, refuse: ({ model }) => overBudget(shared, model, sumAmounts([taken, budget.spent])) };
}
