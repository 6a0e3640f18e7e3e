import { addCost, costOfAnswer } from './cost.ts';
import type { Pricing } from './price.ts';
import type { Cost, Meter } from './types.ts';

/** A meter by the prices of the settings. */
export function createMeter(pricing: Pricing): Meter {
  let costs: readonly Cost[] = [];
  let unknown = 0;
  return {
    count(answer) {
      const cost = costOfAnswer(answer, pricing);
      if (cost === undefined) unknown++;
      else costs = addCost(costs, cost);
      return cost;
    },
    lose: () => void unknown++,
    get costs() {
      return costs;
    },
    get unknown() {
      return unknown;
    },
    get total() {
      return unknown === 0 && costs.length === 1 ? costs[0] : undefined;
    },
  };
}
