import {
  type Bound,
  type Budget,
  createBudget,
  GatewayError,
  joinPayments,
  payFrom,
  type Payments,
  sumAmounts,
  sumHeld,
} from '../../library/index.ts';
import { openBounds } from '../lane/provider-batches.ts';
import type { Batch, ReadyJob } from '../types.ts';

/** The amount that the jobs of this run can still cost, and the error of a request that could cost more. */
export interface CostLimit {
  budget: Budget;
  refuse(request: { model: string }): GatewayError;
}

/** The limit of this run. Amounts that earlier runs spent count as spent, and so does the most that open provider batches can cost. */
export function openRunLimit({ state, policy }: Pick<Batch, 'state' | 'policy'>): CostLimit | undefined {
  const { maxCost: most } = policy;
  if (most === undefined) return undefined;
  const { costs, held, dearest } = state.spending;
  const spent = sumAmounts([costs[0]?.amount ?? '0', held, sumHeld(openBounds(state), dearest)]);
  return { budget: createBudget({ most, spent, dearest }), refuse: () => new OverLimit() };
}

class OverLimit extends GatewayError {
  constructor() {
    super('over-budget', 'the next request could pass --max-cost', { sent: 'no', billed: 'no' });
  }
}

/** The stop that an error means: the limit of the run or a shared budget did not pay for a request. */
export function findCostStop(error: unknown): 'cost' | GatewayError | undefined {
  if (error instanceof OverLimit) return 'cost';
  return error instanceof GatewayError && error.details.reason === 'budget' ? error : undefined;
}

/** The bound of a request whose model has no price. */
export const noBound: Bound = { amount: '0', isMost: false };

/** Pays for the requests of a job within limits; undefined if there are none. */
export function limitJob(job: ReadyJob, limits: readonly (CostLimit | undefined)[]): Payments | undefined {
  return joinPayments(limits.map((limit) => limit && payWithin(limit, job)));
}

function payWithin({ budget, refuse }: CostLimit, { prepared, bound = noBound }: ReadyJob): Payments {
  const { request: first, boundOf, costOf } = prepared;
  return {
    open: (request) =>
      payFrom(
        {
          async reserve({ post, model }, signal) {
            const own = post === first.post ? bound : (boundOf?.(post.body) ?? bound);
            const reserved = await budget.reserve(own, signal);
            if (reserved === undefined) throw refuse({ model });
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
