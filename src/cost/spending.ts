import { addCost, greatest } from './cost.ts';
import type { Cost, Spending } from './types.ts';

/** What was spent, with one more request whose cost is known. */
export function addSpending({ costs, unknown, dearest }: Spending, cost: Cost): Spending {
  return { costs: addCost(costs, cost), unknown, dearest: greatest([dearest, cost.amount]) };
}

/** What several spent together. */
export function joinSpendings(spendings: readonly Spending[]): Spending {
  return {
    costs: spendings.flatMap(({ costs }) => costs).reduce<readonly Cost[]>(addCost, []),
    unknown: spendings.reduce((sum, { unknown }) => sum + unknown, 0),
    dearest: greatest(spendings.map(({ dearest }) => dearest)),
  };
}
