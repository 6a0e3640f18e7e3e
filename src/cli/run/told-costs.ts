import { byDefault } from '../../settings/sources.ts';
import type { MeteredAnswer } from '../../cost/types.ts';
import type { Report } from '../context.ts';

/** Opens a meter without prices for an answer whose cost the service told: it is loaded only for that. */
export async function meterToldCost(
  { result, hops = [] }: MeteredAnswer,
  report: Pick<Report, 'meter'>,
): Promise<void> {
  if (report.meter || ![result, ...hops.map((hop) => hop.result)].some(({ toldCost }) => toldCost !== undefined))
    return;
  const { createMeter } = await import('../../cost/cost.ts');
  report.meter = createMeter({ prices: {}, format: byDefault('content') });
}
