import { access } from 'node:fs/promises';
import { addAmounts, createBudget, subtractAmounts } from '../../cost/cost.ts';
import { openLedger } from '../../cost/ledger.ts';
import type { Bound, Budget } from '../../cost/types.ts';
import { leftOf, type OpenBudget, openBudget, overBudget, reserveBatch } from '../../cli/run/budget.ts';
import { type GatewayError, messageOf } from '../../errors.ts';
import { gatewayKey } from '../run/plan.ts';
import type { ReadyJob, Batch } from '../types.ts';
import type { Context } from '../../cli/context.ts';
import type { BatchState } from '../folder/state.ts';
import type { Part } from './parts.ts';

/** Pays for batches of the service from budgets that runs share. */
export interface LaneBudgets {
  /** The file of the budget of a profile; undefined if it has none. */
  pathOf(profile: string): string | undefined;
  /** Whether what is left pays for another job, before it is in a batch. Returns the error if not. */
  admit(job: ReadyJob): Promise<GatewayError | undefined>;
  /** Reserves what the jobs of a part can cost. Throws GatewayError over-budget if that is too much. */
  reserve(part: Part, signal: AbortSignal): Promise<void>;
  /** Writes down what a part cost, or gives it back. A failure is a warning. */
  end(part: Part, isCreated: boolean): Promise<void>;
}

const noBound: Bound = { amount: '0', isMost: false };

/** The rest of a budget that this run can submit. `taken` is what was spent or reserved before. */
async function openRoom(budget: OpenBudget): Promise<{ budget: Budget; taken: string }> {
  const { left, dearest } = await leftOf(budget);
  const taken = subtractAmounts(budget.setting.amount, left);
  return { budget: createBudget({ most: left, spent: '0', dearest }), taken };
}

/** Opens the budgets of a run. Parts of earlier runs name theirs. */
export async function openLaneBudgets({ plan, flags, context }: Batch): Promise<LaneBudgets> {
  const budgets = new Map<string, OpenBudget>();
  for (const [profile, { settings }] of plan.gateways) {
    const budget = await openBudget(settings, flags.tag, context);
    if (budget !== undefined) budgets.set(profile, budget);
  }
  const rooms = new Map<string, Awaited<ReturnType<typeof openRoom>>>();

  return {
    pathOf: (profile) => budgets.get(profile)?.path,
    async admit({ prepared: { settings, operation }, bound = noBound }) {
      const budget = budgets.get(gatewayKey(settings));
      if (budget === undefined) return undefined;
      const room = rooms.get(budget.path) ?? (await openRoom(budget));
      rooms.set(budget.path, room);
      const reservation = await room.budget.reserve(bound);
      if (reservation === undefined)
        return overBudget(budget, operation.model, addAmounts(room.taken, room.budget.spent));
      reservation.spend(undefined);
      return undefined;
    },
    async reserve({ mark, plan: { profile, model }, bounds }, signal) {
      const budget = budgets.get(profile);
      if (budget === undefined) return;
      await reserveBatch(budget, { id: mark, model, bounds: bounds.map((bound) => bound ?? noBound) }, signal);
    },
    end: (part, isCreated) => endPart(part, isCreated, context),
  };
}

async function endPart(
  { mark, plan: { budget: path }, paid }: Part,
  isCreated: boolean,
  { io, ui }: Context,
): Promise<void> {
  if (path === undefined) return;
  if (!(await exists(path)))
    return ui.warn(`the budget ${path} is not on this machine: what its batch cost is written down in none`);
  const ledger = openLedger({ path, limit: { amount: '0' }, now: () => io.now() });
  const { costs, held, unknown, dearest } = paid.spending;
  const amount = addAmounts(held, ...costs.map((cost) => cost.amount));
  const known = { amount, requests: paid.requests, unknown, dearest };
  const written = isCreated && paid.requests > 0 ? ledger.endBatch(mark, known) : ledger.free(mark);
  await written.catch((error: unknown) => {
    const counts = 'its jobs count with what they can cost';
    return ui.warn(`${messageOf(error)}, so ${counts} in the budget ${path}`);
  });
}

/** Frees what earlier runs reserved for batches that they did not come to create. */
export async function freePlanned(state: Pick<BatchState, 'parts'>, context: Context): Promise<void> {
  for (const part of state.parts.values()) if (part.step === 'planned') await endPart(part, false, context);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
