import type { JsonObject } from '../../json.ts';
import { numberField } from '../fields.ts';
import type { Usage } from './types.ts';

/** Counts of usageMetadata as the gateway gave them: outputTokens without thinking, cachedInputTokens within inputTokens (formats 2). */
export function readContentUsage(metadata: JsonObject): Usage {
  return {
    inputTokens: numberField(metadata, 'promptTokenCount'),
    outputTokens: numberField(metadata, 'candidatesTokenCount'),
    thinkingTokens: numberField(metadata, 'thoughtsTokenCount'),
    cachedInputTokens: numberField(metadata, 'cachedContentTokenCount'),
    totalTokens: numberField(metadata, 'totalTokenCount'),
  };
}

/** Counts of a later piece over those of an earlier one, count by count; undefined when nothing is known. */
export function laterUsage(before: Usage | undefined, after: Usage | undefined): Usage | undefined {
  const usage: Usage = {
    inputTokens: after?.inputTokens ?? before?.inputTokens,
    outputTokens: after?.outputTokens ?? before?.outputTokens,
    thinkingTokens: after?.thinkingTokens ?? before?.thinkingTokens,
    cachedInputTokens: after?.cachedInputTokens ?? before?.cachedInputTokens,
    totalTokens: after?.totalTokens ?? before?.totalTokens,
  };
  return Object.values(usage).some((count) => count !== undefined) ? usage : undefined;
}
