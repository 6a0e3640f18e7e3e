import { GatewayError } from '../../errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { field, listField, numberField, objectField, textField, camelCase } from '../fields.ts';
import { quote } from '../quote.ts';
import type { Candidate, ContentPart, ContentReply, Usage } from './types.ts';

const replyKeys = ['candidates', 'promptFeedback', 'usageMetadata', 'modelVersion', 'responseId'];

/**
 * Reads a content-format reply in every spelling gateways are known to use (formats 2 and 6): snake case,
 * nulls, missing content, an array of pieces, a `response` wrapper. Throws bad-reply when it is no such reply at all.
 */
export function decodeContentReply(json: unknown): ContentReply {
  return mergeContentReplies(Array.isArray(json) ? json : [json]);
}

/**
 * Joins the pieces of one reply, each a parsed JSON value: parts are added to their candidate, all else that comes later
 * wins. What is no piece of a reply is skipped. Throws bad-reply when none is.
 */
export function mergeContentReplies(replies: readonly unknown[]): ContentReply {
  const reply = decodeContentPieces(replies);
  if (reply === undefined) throw notAReply(replies);
  return reply;
}

/** The same; undefined where none is a piece of a reply. */
export function decodeContentPieces(replies: readonly unknown[]): ContentReply | undefined {
  const pieces = replies.map(unwrap).filter((piece) => piece !== undefined);
  return pieces.length === 0 ? undefined : pieces.map(decodePiece).reduce(joinContentReplies);
}

/** Text of a candidate without its thoughts: its text parts, joined without a separator. */
export function contentText(candidate: Candidate): string {
  return textOf(candidate.parts, false);
}

/** The text with the code that the service ran, and what that printed; undefined where it ran none. */
export function contentMarkdown({ parts }: Candidate): string | undefined {
  if (!parts.some(({ kind }) => kind === 'code')) return undefined;
  const shown = parts.map((part) => (part.kind === 'code' ? part.markdown : textOf([part], false)));
  return shown
    .join('')
    .replace(/\n{3,}(?=`{3})/g, '\n\n')
    .trim();
}

/** What a candidate thought aloud, where the gateway shows it. */
export function contentThoughts(candidate: Candidate): string {
  return textOf(candidate.parts, true);
}

function textOf(parts: readonly ContentPart[], thought: boolean): string {
  return parts.map((part) => (part.kind === 'text' && part.thought === thought ? part.text : '')).join('');
}

function unwrap(json: unknown): JsonObject | undefined {
  if (!isObject(json)) return undefined;
  if (isReply(json)) return json;
  const inner = field(json, 'response');
  return isObject(inner) && isReply(inner) ? inner : undefined;
}

function isReply(json: JsonObject): boolean {
  return replyKeys.some((key) => field(json, key) !== undefined);
}

function notAReply(replies: readonly unknown[]): GatewayError {
  const first = replies[0];
  const keys = isObject(first) ? Object.keys(first).slice(0, 8).join(', ') : '';
  const found = keys === '' ? '' : `: it holds ${quote(keys)}`;
  return new GatewayError('bad-reply', `the reply is JSON, but not a reply of the content format${found}`, {
    reason: 'address',
    sent: 'yes',
    retryable: false,
  });
}

function decodePiece(json: JsonObject): ContentReply {
  const promptFeedback = objectField(json, 'promptFeedback');
  const metadata = objectField(json, 'usageMetadata');
  return {
    candidates: (listField(json, 'candidates') ?? []).filter(isObject).map(decodeCandidate),
    promptFeedback,
    blockReason: promptFeedback && textField(promptFeedback, 'blockReason'),
    usage: laterUsage(undefined, metadata && readContentUsage(metadata)),
    modelVersion: textField(json, 'modelVersion'),
    ...serviceTierOf(metadata),
    responseId: textField(json, 'responseId'),
  };
}

function serviceTierOf(metadata: JsonObject | undefined): Pick<ContentReply, 'serviceTier'> {
  const serviceTier = metadata && textField(metadata, 'serviceTier');
  return serviceTier ? { serviceTier } : {};
}

function decodeCandidate(raw: JsonObject, position: number): Candidate {
  const content = objectField(raw, 'content') ?? {};
  return {
    index: numberField(raw, 'index') ?? position,
    role: textField(content, 'role'),
    parts: (listField(content, 'parts') ?? []).flatMap(decodePart),
    // Pieces of a stream may carry an empty one before the last.
    finishReason: textField(raw, 'finishReason') || undefined,
    finishMessage: textField(raw, 'finishMessage'),
    safetyRatings: listField(raw, 'safetyRatings'),
  };
}

/** Adds a later piece to the reply so far, in place: both were just decoded and belong to no one else. */
export function joinContentReplies(reply: ContentReply, after: ContentReply): ContentReply {
  for (const candidate of after.candidates) addCandidate(reply.candidates, candidate);
  reply.promptFeedback = after.promptFeedback ?? reply.promptFeedback;
  reply.blockReason = after.blockReason ?? reply.blockReason;
  reply.usage = laterUsage(reply.usage, after.usage);
  reply.modelVersion = after.modelVersion ?? reply.modelVersion;
  reply.serviceTier = after.serviceTier ?? reply.serviceTier;
  reply.responseId = after.responseId ?? reply.responseId;
  return reply;
}

function addCandidate(candidates: Candidate[], added: Candidate): void {
  const candidate = candidates.find(({ index }) => index === added.index);
  if (!candidate) {
    candidates.push(added);
    return;
  }
  for (const part of added.parts) candidate.parts.push(part);
  candidate.role ??= added.role;
  candidate.finishReason = added.finishReason ?? candidate.finishReason;
  candidate.finishMessage = added.finishMessage ?? candidate.finishMessage;
  candidate.safetyRatings = added.safetyRatings ?? candidate.safetyRatings;
}

/** What one part of a candidate holds. A part should hold one thing; where it holds text beside another, both come out. */
export function decodePart(raw: JsonValue): ContentPart[] {
  if (!isObject(raw)) return [];
  const thought = field(raw, 'thought') === true;
  const text = textField(raw, 'text');
  const other = callOf(raw) ?? blobOf(raw, thought) ?? codeOf(raw);
  if (other) return text ? [{ kind: 'text', text, thought }, other] : [other];
  if (text !== undefined) return [{ kind: 'text', text, thought }];
  return [{ kind: 'other', keys: keysOf(raw) }];
}

function callOf(raw: JsonObject): ContentPart | undefined {
  const call = objectField(raw, 'functionCall');
  if (!call) return undefined;
  const name = textField(call, 'name');
  const args = field(call, 'args');
  const partialArgs = listField(call, 'partialArgs') ?? [];
  const willContinue = field(call, 'willContinue') === true;
  const id = textField(call, 'id');
  if (name !== undefined && partialArgs.length === 0 && !willContinue)
    return { kind: 'call', id, name, input: args ?? {} };
  const isEnd = keysOf(call).length === 0;
  return { kind: 'call-piece', id, name, args: isObject(args) ? args : undefined, partialArgs, willContinue, isEnd };
}

/** Code that the service ran, or what it printed, as Markdown: both were paid for. */
function codeOf(raw: JsonObject): ContentPart | undefined {
  const code = objectField(raw, 'executableCode');
  const language = (code && textField(code, 'language')) ?? '';
  if (code) return { kind: 'code', key: 'executableCode', markdown: fenced(textField(code, 'code') ?? '', language) };
  const result = objectField(raw, 'codeExecutionResult');
  if (!result) return undefined;
  return { kind: 'code', key: 'codeExecutionResult', markdown: fenced(textField(result, 'output') ?? '', '') };
}

function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  const word = language.toLowerCase().replace(/[^a-z0-9+#-]/g, '');
  return `\n\n${fence}${word}\n${text.replace(/\n$/, '')}\n${fence}\n\n`;
}

function blobOf(raw: JsonObject, thought: boolean): ContentPart | undefined {
  const inline = objectField(raw, 'inlineData');
  const data = inline && textField(inline, 'data');
  if (!inline || data === undefined) return undefined;
  return { kind: 'blob', mimeType: textField(inline, 'mimeType'), data, thought };
}

function keysOf(raw: JsonObject): string[] {
  return Object.entries(raw)
    .filter(([, value]) => value !== null)
    .map(([key]) => camelCase(key));
}

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
function laterUsage(before: Usage | undefined, after: Usage | undefined): Usage | undefined {
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
