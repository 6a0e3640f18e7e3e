/*
 * Beside its model, the service tier decides the price of an answer, and so do Anthropic's fast mode and its inference in the United
 * States (npm @anthropic-ai/sdk 1.14.0).
 */

/** Names of tiers, speeds and regions of the usual price. */
export const usualTiers: ReadonlySet<string> = new Set([
  '',
  'standard',
  'default',
  'on_demand',
  'on-demand',
  'unspecified',
  'global',
  'not_available',
]);

/** The keys of a price that name a service tier: a factor of its amounts, or amounts in their place. */
export const serviceTiers = ['batch', 'flex', 'priority'] as const;

/** Further keys, a speed and a region, are added to each tier. Both are factors. */
export const pricedTiers = [...serviceTiers, 'fast', 'us'] as const;

/** The speed and the region of a request; undefined if it asks for none. */
export function readAskedRates(body: Readonly<Record<string, unknown>>): { speed: unknown; region: unknown } {
  return { speed: body['speed'], region: body['inference_geo'] };
}
