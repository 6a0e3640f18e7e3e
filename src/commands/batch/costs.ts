import { priceOf, type Pricing } from '../../cost/price.ts';
import type { Bound, Budget, Cost, Meter, Spending } from '../../cost/types.ts';
import type { CheckedJob } from './request.ts';
import type { Batch } from './types.ts';

/** What a batch counts costs with. */
export interface Costs {
  createMeter(pricing: Pricing): Meter;
  addSpending(spending: Spending, cost: Cost): Spending;
  /** What a job can cost; nobody looks where there is no budget. */
  boundOf(job: Pick<CheckedJob, 'built' | 'settings'>): Bound | undefined;
  /** `--max-cost`, of which earlier runs have spent a part. */
  budget: Budget | undefined;
}

/** Loads decimal arithmetic where some job has a price. */
export async function openCosts({ plan, flags, state }: Batch): Promise<Costs | undefined> {
  if (!plan.hasPrices) return undefined;
  const [{ boundOf }, { createMeter }, { addSpending }, { createBudget }] = await Promise.all([
    import('../../cost/cost.ts'),
    import('../../cost/meter.ts'),
    import('../../cost/spending.ts'),
    import('../../cost/budget.ts'),
  ]);
  const { maxCost: most } = flags;
  const { costs, dearest } = state.spending;
  const budget = most === undefined ? undefined : createBudget({ most, spent: costs[0]?.amount ?? '0', dearest });
  return {
    createMeter,
    addSpending,
    boundOf({ built, settings: { prices, use } }) {
      const price = budget && priceOf(prices, built.model);
      return price && boundOf(built.post.body, price, use);
    },
    budget,
  };
}
