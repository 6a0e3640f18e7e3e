import { isObject, type JsonObject, numberField, objectField } from '../../json.ts';
import type { ReplyEvent, Usage } from '../events.ts';

/** The counts of a reply or of a chunk, in every place where services put them. */
export function usageEvents(json: JsonObject, choices: readonly JsonObject[]): ReplyEvent[] {
  const holders = [...choices, json, objectField(json, 'xGroq')];
  const usages = holders.map((holder) => holder?.['usage']).filter(isObject);
  return usages.map((usage) => ({ type: 'usage', usage: readUsage(usage) }));
}

/** Counts of a completion, or as the images operations name them. `outputTokens` has those of thinking. */
function readUsage(usage: JsonObject): Usage {
  const input = objectField(usage, 'promptTokensDetails') ?? objectField(usage, 'inputTokensDetails') ?? {};
  const output = objectField(usage, 'completionTokensDetails') ?? objectField(usage, 'outputTokensDetails') ?? {};
  const inputTokens = numberField(usage, 'promptTokens') ?? numberField(usage, 'inputTokens');
  const outputTokens = numberField(usage, 'completionTokens') ?? numberField(usage, 'outputTokens');
  const thinkingTokens = numberField(output, 'reasoningTokens');
  const totalTokens = numberField(usage, 'totalTokens');
  const cachedInputTokens = numberField(input, 'cachedTokens') ?? numberField(usage, 'promptCacheHitTokens');
  const imageOutputTokens = numberField(output, 'imageTokens');
  const sum = (outputTokens ?? 0) + (thinkingTokens ?? 0);
  return {
    inputTokens,
    // xAI counts thinking beside the answer, as its total shows.
    outputTokens: totalTokens === (inputTokens ?? 0) + sum ? sum : outputTokens,
    thinkingTokens,
    cachedInputTokens: cachedInputTokens ?? numberField(usage, 'cachedTokens'),
    ...(imageOutputTokens !== undefined && { imageOutputTokens }),
    totalTokens,
  };
}
