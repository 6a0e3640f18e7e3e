import { payFrom, type Payments } from '../../client/index.ts';
import { sumAmounts, createBudget, sumHeld } from '../../cost/cost.ts';
import type { Bound, Budget } from '../../cost/types.ts';
import { GatewayError } from '../../errors.ts';
import { openBounds } from '../lane/provider-batches.ts';
import type { Batch, ReadyJob } from '../types.ts';

/** The budget of this run. Amounts that earlier runs spent count as spent, and so does the most that open provider batches can cost. */
export function openRunBudget(most: string, { state }: Pick<Batch, 'state'>): Budget {
  const { costs, held, dearest } = state.spending;
  const spent = sumAmounts([costs[0]?.amount ?? '0', held, sumHeld(openBounds(state), dearest)]);
  return createBudget({ most, spent, dearest });
}

const noBound: Bound = { amount: '0', isMost: false };

/** The error of a request that could pass the limit of the run. */
export class OverLimit extends GatewayError {
  constructor() {
    super('over-budget', 'the next request could pass --max-cost', { sent: 'no', billed: 'no' });
  }
}

/** Pays for the requests of a job from the budget of the run. */
export function limitJob({ prepared, bound = noBound }: ReadyJob, budget: Budget): Payments {
  const { request: first, boundOf, costOf } = prepared;
  return {
    open: (request) =>
      payFrom(
        {
          async reserve({ post }, signal) {
            const own = post === first.post ? bound : (boundOf?.(post.body) ?? bound);
            const reserved = await budget.reserve(own, signal);
            if (reserved === undefined) throw new OverLimit();
            return {
              spend: async (answer) => reserved.spend(answer && costOf?.(answer)),
              free: async () => reserved.free(),
            };
          },
        },
        request,
      ),
  };
}
