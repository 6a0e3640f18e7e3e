import { type JsonObject, type JsonValue, textField, valueCost } from '../../json.ts';
import type { Body } from '../../body.ts';

/** DeepSeek and Moonshot refuse a turn of theirs that comes back without the field that its thinking came in. */
const reasoningContent = 'reasoning_content';

/**
 * Adds one of OpenRouter's `reasoning_details`. In a stream the text of one comes in pieces, its signature with the last of
 * them, and all of them go back as one. Says how many characters more are kept.
 */
export function addDetail(details: JsonObject[], piece: JsonObject, isWhole: boolean): number {
  const detail = Object.fromEntries(Object.entries(piece).filter(([, value]) => value !== null));
  const last = details.at(-1);
  const key = 'summary' in { ...last, ...detail } ? 'summary' : 'text';
  if (isWhole || !last || 'data' in detail || last['type'] !== piece['type'] || last['index'] !== piece['index'])
    details.push(detail);
  else Object.assign(last, detail, { [key]: (textField(last, key) ?? '') + (textField(detail, key) ?? '') });
  return valueCost + JSON.stringify(detail).length;
}

/** The text of details, for a service whose thinking is there alone. */
export function detailsText(details: readonly JsonObject[]): string {
  return details.map((detail) => textField(detail, 'text') ?? textField(detail, 'summary') ?? '').join('');
}

/**
 * What thinking needs to go back to its service, as the signature of its block: the details that came with it, as JSON, or the
 * name of the field that its text came in.
 */
export function signatureOf(details: readonly JsonObject[], isReasoningContent: boolean): string | undefined {
  if (details.length > 0) return JSON.stringify(details);
  return isReasoningContent ? reasoningContent : undefined;
}

/** The fields of a message in which the thinking of a block goes back. */
export function thinkingFields(block: JsonObject): Body {
  const signature = block['type'] === 'thinking' ? textField(block, 'signature') : undefined;
  if (signature === undefined) return {};
  if (signature === reasoningContent) return { [reasoningContent]: textField(block, 'thinking') ?? '' };
  try {
    const details: unknown = JSON.parse(signature);
    return Array.isArray(details) ? { reasoning_details: details as JsonValue[] } : {};
  } catch {
    return {};
  }
}
