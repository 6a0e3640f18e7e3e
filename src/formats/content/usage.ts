import { isObject, type JsonObject } from '../../json.ts';
import { listField, numberField, textField } from '../fields.ts';
import type { Usage } from './types.ts';

/** Counts of usageMetadata as the gateway gave them: outputTokens without thinking, cachedInputTokens within inputTokens (formats 2). */
export function readContentUsage(metadata: JsonObject): Usage {
  const toolInputTokens = numberField(metadata, 'toolUsePromptTokenCount');
  const imageOutputTokens = imageTokens(metadata);
  return {
    inputTokens: numberField(metadata, 'promptTokenCount'),
    outputTokens: numberField(metadata, 'candidatesTokenCount'),
    thinkingTokens: numberField(metadata, 'thoughtsTokenCount'),
    cachedInputTokens: numberField(metadata, 'cachedContentTokenCount'),
    ...(toolInputTokens !== undefined && { toolInputTokens }),
    ...(imageOutputTokens !== undefined && { imageOutputTokens }),
    totalTokens: numberField(metadata, 'totalTokenCount'),
  };
}

function imageTokens(metadata: JsonObject): number | undefined {
  const details = listField(metadata, 'candidatesTokensDetails')?.filter(isObject);
  const image = details?.find((one) => textField(one, 'modality') === 'IMAGE');
  return image && numberField(image, 'tokenCount');
}

/** Counts of a later piece over those of an earlier one, count by count; undefined when nothing is known. */
export function laterUsage(before: Usage | undefined, after: Usage | undefined): Usage | undefined {
  const toolInputTokens = after?.toolInputTokens ?? before?.toolInputTokens;
  const imageOutputTokens = after?.imageOutputTokens ?? before?.imageOutputTokens;
  const usage: Usage = {
    inputTokens: after?.inputTokens ?? before?.inputTokens,
    outputTokens: after?.outputTokens ?? before?.outputTokens,
    thinkingTokens: after?.thinkingTokens ?? before?.thinkingTokens,
    cachedInputTokens: after?.cachedInputTokens ?? before?.cachedInputTokens,
    ...(toolInputTokens !== undefined && { toolInputTokens }),
    ...(imageOutputTokens !== undefined && { imageOutputTokens }),
    totalTokens: after?.totalTokens ?? before?.totalTokens,
  };
  return Object.values(usage).some((count) => count !== undefined) ? usage : undefined;
}
