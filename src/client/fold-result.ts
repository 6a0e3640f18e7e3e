import { GatewayError } from '../errors.ts';
import { quote } from '../formats/quote.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { type Block, closeBlock, isReplayable } from './blocks.ts';
import type { Folded, FoldedCandidate } from './folded.ts';
import { isPicture } from './pictures.ts';
import { emptyResult, otherModelWarnings, type Result, type ResultImage } from './result.ts';
import { endedWell } from './verdict.ts';

/** The result of a reply that was folded, and why a call of it is not whole, if one is not. */
export function foldResult(folded: Folded): { result: Result; error: GatewayError | undefined } {
  const { mostCandidates, surplus, start, feedback, usage, tier } = folded;
  const candidates = [...folded.candidates.values()];
  const [first] = candidates;
  const result = resultOf(candidates, folded.model);
  result.modelVersion = start?.model;
  result.serviceTier = tier;
  result.responseId = start?.id;
  result.role = first?.said.role ?? start?.role;
  result.promptFeedback = feedback?.feedback;
  result.usage = usage && Object.values(usage).some((count) => count !== undefined) ? usage : undefined;
  result.stopReason = first?.said.reason ?? feedback?.blockReason;
  result.stopSequence = first?.said.sequence;
  result.stopDetails = first?.said.details;
  result.warnings.push(...folded.warnings, ...otherModelWarnings(result));
  result.complete = endedWell(result);
  if (surplus.size > 0) {
    const count = candidates.length + surplus.size;
    result.warnings.push(`the reply has ${count} candidates; the first ${mostCandidates} are read`);
    result.complete = false;
  }
  return { result, error: result.complete ? cutCall(candidates) : undefined };
}

function resultOf(candidates: readonly FoldedCandidate[], model: string): Result {
  const result = emptyResult(model);
  const [first] = candidates;
  for (const candidate of candidates) {
    const { index, said, blobs, blocks, picturesInText } = candidate;
    const markdown = markdownOf(blocks);
    result.candidates.push({
      index,
      text: textOf(blocks, 'text'),
      ...(markdown !== undefined && { markdown }),
      finishReason: said.reason,
      finishMessage: said.message,
      safetyRatings: said.ratings,
    });
    const files = blobs.filter((blob) => !isPicture(blob));
    result.images.push(...blobs.filter(isPicture), ...picturesInText);
    if (files.length > 0) (result.files ??= []).push(...files);
    for (const block of blocks) if (block.kind === 'tool_use') result.toolCalls.push(callOf(block));
  }
  result.images = withoutDrafts(result.images);
  result.text = result.candidates[0]?.text ?? '';
  result.thinking = (first && textOf(first.blocks, 'thinking')) || undefined;
  result.content = first?.blocks.filter(isReplayable).map(withId) ?? [];
  return result;
}

function textOf(blocks: readonly Block[], kind: 'text' | 'thinking'): string {
  return blocks.map((block) => (block.kind === kind ? block.text : '')).join('');
}

/** The text with the code that the service ran, and what that printed; undefined where it ran none. */
function markdownOf(blocks: readonly Block[]): string | undefined {
  if (!blocks.some(({ kind }) => kind === 'code')) return undefined;
  const text = blocks.map((block) => (block.kind === 'code' || block.kind === 'text' ? block.text : '')).join('');
  return text.replace(/\n{3,}(?=`{3})/g, '\n\n').trim();
}

function callOf(block: Block): Result['toolCalls'][number] {
  const { id, name = '', input = {} } = closeBlock(block) as { id?: string; name?: string; input?: JsonValue };
  return { id, name, input };
}

/** A call of which the service gave no id gets one, by which its result is joined to it. */
function withId(block: Block, position: number): JsonObject {
  const raw = closeBlock(block);
  return block.isWhole && raw['id'] === undefined ? { ...raw, id: `call_${position}` } : raw;
}

/** Drafts are kept only where a reply has no other picture; then the last of them. */
function withoutDrafts(images: readonly ResultImage[]): ResultImage[] {
  const finals = images.filter((image) => !image.draft);
  return finals.length > 0 ? finals : images.slice(-1);
}

/** A reply that ended well may lack arguments of a call that it streamed. */
function cutCall(candidates: readonly FoldedCandidate[]): GatewayError | undefined {
  const part = candidates.flatMap(({ blocks }) => blocks).find(({ isWhole }) => isWhole === false);
  if (part === undefined) return undefined;
  const name = quote(callOf(part).name, 60) || 'without a name';
  return new GatewayError('incomplete', `the call ${name} is not whole: its streamed arguments do not end`, {
    sent: 'yes',
    retryable: false,
  });
}
