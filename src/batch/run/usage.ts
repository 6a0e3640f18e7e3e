import type { Usage } from '../../formats/content/types.ts';

/** Token counts added up; what neither of the two says stays unknown. */
export function addUsage(sum: Usage, more: Usage | undefined): Usage {
  if (more === undefined) return sum;
  const added: Record<string, number> = { ...(sum as Record<string, number>) };
  for (const [name, count] of Object.entries(more)) {
    if (typeof count === 'number' && Number.isFinite(count)) added[name] = (added[name] ?? 0) + count;
  }
  return added;
}

/** All tokens of a usage: what the gateway calls the total, else in and out together. */
export function totalTokens({ totalTokens: total, inputTokens = 0, outputTokens = 0 }: Usage): number {
  return total ?? inputTokens + outputTokens;
}

/** Whether a limit of tokens is reached: no job is taken then. */
export function isSpent(usage: Usage, limit: number | undefined): boolean {
  return limit !== undefined && totalTokens(usage) >= limit;
}
