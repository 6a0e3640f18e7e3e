import type { JsonObject } from '../../json.ts';
import type { Usage } from '../content/types.ts';
import { numberField, objectField } from '../fields.ts';

/** Counts of a usage object as the gateway gave them; each may be absent (deviation 34). */
export interface MessageCounts {
  input?: number | undefined;
  output?: number | undefined;
  thinking?: number | undefined;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
}

/** Counts of a later usage object over earlier ones: usage in a stream is cumulative, field by field (formats 4). */
export function addCounts(before: MessageCounts, usage: JsonObject | undefined): MessageCounts {
  if (!usage) return before;
  const details = objectField(usage, 'outputTokensDetails');
  return {
    input: numberField(usage, 'inputTokens') ?? before.input,
    output: numberField(usage, 'outputTokens') ?? before.output,
    thinking: (details && numberField(details, 'thinkingTokens')) ?? before.thinking,
    cacheRead: numberField(usage, 'cacheReadInputTokens') ?? before.cacheRead,
    cacheWrite: numberField(usage, 'cacheCreationInputTokens') ?? before.cacheWrite,
  };
}

/** The counts as both formats name them. The total counts the cache too, which inputTokens of this format leaves out (formats 3). */
export function usageOf(counts: MessageCounts): Usage | undefined {
  const { input, output, thinking, cacheRead, cacheWrite } = counts;
  if (Object.values(counts).every((count) => count === undefined)) return undefined;
  const known = input !== undefined && output !== undefined;
  return {
    inputTokens: input,
    outputTokens: output,
    thinkingTokens: thinking,
    cachedInputTokens: cacheRead,
    ...(cacheWrite !== undefined && { cacheWriteInputTokens: cacheWrite }),
    totalTokens: known ? input + output + (cacheRead ?? 0) + (cacheWrite ?? 0) : undefined,
  };
}
