import type { Usage } from '../../formats/events.ts';

/** Adds token counts to a sum; a count that neither of the two has stays unknown. */
export function addUsage(sum: Usage, more: Usage = {}): Usage {
  const counts = sum as Record<string, number>;
  for (const [name, count] of Object.entries(more) as [string, unknown][])
    if (typeof count === 'number' && Number.isFinite(count)) counts[name] = (counts[name] ?? 0) + count;
  return sum;
}

/** All tokens of a usage: what the gateway calls the total, else in and out together. */
export function totalTokens({ totalTokens: total, inputTokens = 0, outputTokens = 0 }: Usage): number {
  return total ?? inputTokens + outputTokens;
}

/** Whether a limit of tokens is reached: no job is taken then. */
export function isSpent(usage: Usage, limit: number | undefined): boolean {
  return limit !== undefined && totalTokens(usage) >= limit;
}
