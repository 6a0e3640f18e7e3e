import type { Body } from '../body.ts';
import type { RequestLimits } from './format.ts';
import { maxOf } from '../long-lists.ts';

/**
 * The limits in a request, from fields that can have these names in `bodies`. Services read 0 as absent; if the count of
 * candidates cannot be read, there is no limit.
 */
export function readLimits(
  bodies: readonly Body[],
  names: { maxTokens: readonly string[]; candidates: readonly string[] },
): RequestLimits {
  const maxTokens = greatestCount(bodies, names.maxTokens);
  const candidates = greatestCount(bodies, names.candidates);
  return {
    maxTokens: Number.isNaN(candidates) ? undefined : maxTokens || undefined,
    candidates: candidates || 1,
  };
}

/**
 * The greatest count under some names, as a number or as text; undefined if there is none. If one is not a count, a service may
 * read it in its own way, and the result is NaN.
 */
function greatestCount(bodies: readonly Body[], names: readonly string[]): number | undefined {
  const values = bodies
    .flatMap((body) => names.map((name) => body[name]))
    .filter((value) => (value ?? undefined) !== undefined);
  if (values.length === 0) return undefined;
  const counts = values.map((value) => (typeof value === 'string' && value.trim() !== '' ? Number(value) : value));
  const areCounts = counts.every((count) => Number.isSafeInteger(count) && (count as number) >= 0);
  return areCounts ? maxOf(counts as number[]) : NaN;
}
