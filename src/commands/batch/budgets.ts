import { type Batch, type BatchBudgets, gatewayKey } from '../../batch/index.ts';
import { sumAmounts, createBudget, subtractAmounts } from '../../cost/cost.ts';
import type { Bound, Budget } from '../../cost/types.ts';
import type { Context } from '../../cli/context.ts';
import {
  readBudgetLeft,
  type OpenBudget,
  openSharedBudget,
  overBudget,
  reserveBatch,
  type Tag,
} from '../../cli/run/budget.ts';

const noBound: Bound = { amount: '0', isMost: false };

/** The rest of a budget that this run can submit. `taken`: the amount that was spent or reserved before. */
async function openRoom(budget: OpenBudget): Promise<{ budget: Budget; taken: string }> {
  const { left, dearest } = await readBudgetLeft(budget);
  const taken = subtractAmounts(budget.setting.amount, left);
  return { budget: createBudget({ most: left, spent: '0', dearest }), taken };
}

/** Opens the budgets of a run; undefined if it pays nothing from a budget. */
export async function openBatchBudgets(
  { plan, state }: Pick<Batch, 'plan' | 'state'>,
  tags: readonly Tag[] | undefined,
  context: Context,
): Promise<BatchBudgets | undefined> {
  const isPaid = [...plan.gateways.values()].some(({ settings }) => settings.budget !== undefined);
  const wasPaid = [...state.providerBatches.values()].some((providerBatch) => providerBatch.plan.budget !== undefined);
  if (!isPaid && !wasPaid) return undefined;
  const budgets = new Map<string, OpenBudget>();
  for (const [profile, { settings }] of plan.gateways) {
    const budget = await openSharedBudget(settings, tags, context);
    if (budget !== undefined) budgets.set(profile, budget);
  }
  const rooms = new Map<string, Awaited<ReturnType<typeof openRoom>>>();

  return {
    pathOf: (profile) => budgets.get(profile)?.path,
    async admit({ prepared: { settings, request }, bound = noBound }) {
      const budget = budgets.get(gatewayKey(settings));
      if (budget === undefined) return undefined;
      const room = rooms.get(budget.path) ?? (await openRoom(budget));
      rooms.set(budget.path, room);
      const reservation = await room.budget.reserve(bound);
      if (reservation === undefined)
        return overBudget(budget, request.model, sumAmounts([room.taken, room.budget.spent]));
      reservation.spend(undefined);
      return undefined;
    },
    async reserve({ mark, plan: { profile, model }, slots }, signal) {
      const budget = budgets.get(profile);
      if (budget === undefined) return;
      const bounds = slots.map((slot) => state.bounds.get(slot) ?? noBound);
      await reserveBatch(budget, { id: mark, model, bounds }, signal);
    },
  };
}
