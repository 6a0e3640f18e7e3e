import { sumAmounts, createBudget, sumHeld } from '../../cost/cost.ts';
import type { Budget } from '../../cost/types.ts';
import { openBounds } from '../lane/provider-batches.ts';
import type { Batch } from '../types.ts';

/** The budget of this run. What earlier runs spent is spent, and so is the most that open provider batches can cost. */
export function openRunBudget(most: string, { state }: Pick<Batch, 'state'>): Budget {
  const { costs, held, dearest } = state.spending;
  const spent = sumAmounts([costs[0]?.amount ?? '0', held, sumHeld(openBounds(state), dearest)]);
  return createBudget({ most, spent, dearest });
}
