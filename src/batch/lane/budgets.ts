import { access } from 'node:fs/promises';
import { type Bound, openLedger, sumAmounts } from '../../library/index.ts';
import type { BatchState } from '../folder/state.ts';
import type { CostLimit } from '../run/run-budget.ts';
import type { BatchHost } from '../types.ts';
import type { ProviderBatch } from './provider-batches.ts';

/** A budget that runs share, and that pays for provider batches. */
export interface BatchBudget {
  /** The file of the budget. */
  path: string;
  /** Opens the limit of the jobs that come into provider batches: the rest that other runs leave. It is read before the first job. */
  openLimit(): Promise<CostLimit>;
  /** Reserves the most that the jobs of a provider batch can cost. Throws GatewayError over-budget if that is too much. */
  reserve(batch: { id: string; model: string; bounds: readonly Bound[] }, signal: AbortSignal): Promise<void>;
}

/**
 * Writes the cost of a provider batch into its budget, or frees the reserved amount if nothing was billed: a batch that was not created
 * has no slot that ended. A failure is told, not thrown.
 */
export async function endProviderBatch(
  { mark, plan: { budget: path }, paid }: ProviderBatch,
  host: BatchHost,
): Promise<void> {
  if (path === undefined) return;
  if (!(await exists(path))) return host.on({ type: 'budget-not-here', path });
  const ledger = openLedger({ path, limit: { amount: '0' }, now: () => host.now() });
  const { costs, held, unknown, dearest } = paid.spending;
  const amount = sumAmounts([held, ...costs.map((cost) => cost.amount)]);
  const known = { amount, requests: paid.requests, unknown, dearest };
  const written = paid.requests > 0 ? ledger.endBatch(mark, known) : ledger.free(mark);
  await written.catch((error: unknown) => host.on({ type: 'budget-unwritten', path, error }));
}

/** Frees the amounts that earlier runs reserved for provider batches and did not come to create. */
export async function freePlanned(state: Pick<BatchState, 'providerBatches'>, host: BatchHost): Promise<void> {
  for (const providerBatch of state.providerBatches.values())
    if (providerBatch.step === 'planned') await endProviderBatch(providerBatch, host);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
