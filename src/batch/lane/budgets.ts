import { access } from 'node:fs/promises';
import { addAmounts } from '../../cost/cost.ts';
import { openLedger } from '../../cost/ledger.ts';
import type { GatewayError } from '../../errors.ts';
import type { BatchState } from '../folder/state.ts';
import type { BatchHost, ReadyJob } from '../types.ts';
import type { Part } from './parts.ts';

/** Pays for batches of the service from budgets that runs share. */
export interface BatchBudgets {
  /** The file of the budget of a profile; undefined if it has none. */
  pathOf(profile: string): string | undefined;
  /** Whether what is left pays for another job, before it is in a batch. Returns the error if not. */
  admit(job: ReadyJob): Promise<GatewayError | undefined>;
  /** Reserves what the jobs of a part can cost. Throws GatewayError over-budget if that is too much. */
  reserve(part: Part, signal: AbortSignal): Promise<void>;
}

/** Writes down what a part cost, or gives it back. A failure is told. */
export async function endPart(
  { mark, plan: { budget: path }, paid }: Part,
  isCreated: boolean,
  host: BatchHost,
): Promise<void> {
  if (path === undefined) return;
  if (!(await exists(path))) return host.on({ type: 'budget-not-here', path });
  const ledger = openLedger({ path, limit: { amount: '0' }, now: () => host.now() });
  const { costs, held, unknown, dearest } = paid.spending;
  const amount = addAmounts(held, ...costs.map((cost) => cost.amount));
  const known = { amount, requests: paid.requests, unknown, dearest };
  const written = isCreated && paid.requests > 0 ? ledger.endBatch(mark, known) : ledger.free(mark);
  await written.catch((error: unknown) => host.on({ type: 'budget-unwritten', path, error }));
}

/** Frees what earlier runs reserved for batches that they did not come to create. */
export async function freePlanned(state: Pick<BatchState, 'parts'>, host: BatchHost): Promise<void> {
  for (const part of state.parts.values()) if (part.step === 'planned') await endPart(part, false, host);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
