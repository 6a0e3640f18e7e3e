import { GatewayError } from '../../errors.ts';
import {
  field,
  isObject,
  type JsonObject,
  type JsonValue,
  listField,
  numberField,
  objectField,
  textField,
} from '../../json.ts';
import { findSuccessor, type ModelEnd } from '../../vendors/model-rules.ts';
import { findReply, foreignReply, parseReply } from '../parse-reply.ts';
import type { Decoder, ReplyProgress, ReplyEvent, DecoderInput, Usage } from '../events.ts';
import type { ReplyHead } from '../format.ts';
import { createGroundingReader } from './grounding.ts';
import { type CallJoiner, type CallPiece, createCallJoiner } from './streamed-call.ts';
import { append, maxOf } from '../../long-lists.ts';

const replyKeys = ['candidates', 'promptFeedback', 'usageMetadata', 'modelVersion', 'responseId'];

/** The header with the tier that answered, if the body does not have it. */
const tierHeader = 'x-gemini-service-tier';

/** The mark for the end of a stream in other formats: nothing follows it (deviation 23). */
const done = '[DONE]';

/**
 * Reads a content-format reply in every spelling gateways are known to use (formats 2 and 6): snake case, nulls, missing
 * content, an array of pieces, a `response` wrapper.
 */
export function createContentDecoder(head: ReplyHead): Decoder {
  const readers: Readers = {};
  const reasons = new Map<number, boolean>();
  let first: unknown;
  let isRead = false;
  let isBlocked = false;
  let isDone = false;

  function read(values: readonly unknown[]): ReplyEvent[] {
    const pieces = values.map((value) => findReply(value, isReply)).filter((piece) => piece !== undefined);
    const tier = head.headers[tierHeader];
    const said: ReplyEvent[] = !isRead && tier !== undefined ? [{ type: 'facts', facts: { serviceTier: tier } }] : [];
    isRead ||= pieces.length > 0;
    const events = [...said, ...pieces.flatMap((piece) => replyEvents(piece, readers))];
    for (const event of events) {
      if (event.type === 'candidate')
        reasons.set(event.candidate ?? 0, reasons.get(event.candidate ?? 0) || !!event.reason);
      if (event.type === 'facts') isBlocked ||= event.facts.stopReason !== undefined;
    }
    return events;
  }

  const progress = (): ReplyProgress => {
    const isEnded = isBlocked || (reasons.size > 0 && [...reasons.values()].every(Boolean));
    if (!isEnded) return 'open';
    return isDone ? 'ended' : 'stopped';
  };

  return {
    whole(json) {
      const events = read(Array.isArray(json) ? json : [json]);
      if (!isRead) throw foreignReply(json, 'content');
      append(events, readers.calls?.end() ?? []);
      // An array is a stream without `alt=sse`: it lacks its last piece if it has no finish reason.
      if (Array.isArray(json) && progress() === 'open') events.push({ type: 'broken', error: withoutReason() });
      return events;
    },
    feed(event: DecoderInput) {
      const text = event.data.trim();
      isDone ||= text === done;
      if (text === '' || text === done || text.startsWith(':') || (event.unterminated && done.startsWith(text)))
        return [];
      const { value, cut } = parseReply({ text, cut: undefined }, head, 'content');
      first ??= value;
      const events = read(Array.isArray(value) ? value : [value]);
      return cut ? [...events, { type: 'broken', error: cut }] : events;
    },
    end() {
      if (!isRead && first !== undefined) throw foreignReply(first, 'content');
      const open = readers.calls?.end() ?? [];
      return progress() === 'open' ? open : [...open, { type: 'end' }];
    },
    get progress() {
      return progress();
    },
  };
}

/** The cause of the error when a stream ends without saying why. */
export const missingReason = 'the stream ended without a finish reason';

function withoutReason(): GatewayError {
  return new GatewayError('incomplete', missingReason, { sent: 'yes', retryable: false });
}

function isReply(json: JsonObject): boolean {
  return replyKeys.some((key) => field(json, key) !== undefined);
}

/** Readers of calls and of grounding, which need the pieces before. They are created when needed: most replies have neither. */
interface Readers {
  calls?: CallJoiner;
  readGrounding?: ReturnType<typeof createGroundingReader>;
}

function replyEvents(json: JsonObject, readers: Readers): ReplyEvent[] {
  const metadata = objectField(json, 'usageMetadata');
  const feedback = objectField(json, 'promptFeedback');
  const tier = metadata && textField(metadata, 'serviceTier');
  const status = objectField(json, 'modelStatus');
  const candidates = (listField(json, 'candidates') ?? []).filter(isObject);
  return [
    { type: 'start', id: textField(json, 'responseId'), model: textField(json, 'modelVersion') },
    ...candidates.flatMap((raw, position) => candidateEvents(raw, position, readers)),
    {
      type: 'facts',
      facts: {
        promptFeedback: feedback,
        stopReason: feedback && textField(feedback, 'blockReason'),
        usage: metadata && readUsage(metadata),
        serviceTier: tier || undefined,
        modelEnds: status && readModelStatus(status),
      },
    },
  ];
}

/** Reads the stage of a model's life, which replies of some models have since January 2026. */
function readModelStatus(status: JsonObject): Omit<ModelEnd, 'model'> {
  const retiresAt = Date.parse(textField(status, 'retirementTime') ?? '');
  return {
    endsOn: Number.isNaN(retiresAt) ? undefined : new Date(retiresAt).toISOString().slice(0, 10),
    lifecycle: textField(status, 'modelStage')?.toLowerCase(),
    successor: findSuccessor(textField(status, 'message') ?? ''),
  };
}

function candidateEvents(raw: JsonObject, position: number, readers: Readers): ReplyEvent[] {
  const content = objectField(raw, 'content') ?? {};
  const candidate = numberField(raw, 'index') ?? position;
  const token = textField(raw, 'continuationToken');
  const isGrounded = objectField(raw, 'groundingMetadata') ?? objectField(raw, 'urlContextMetadata');
  return [
    ...(listField(content, 'parts') ?? []).flatMap((part) => partEvents(part, candidate, readers)),
    {
      type: 'candidate',
      candidate,
      role: textField(content, 'role'),
      // Pieces of a stream may carry an empty finish reason before the last.
      reason: textField(raw, 'finishReason') || undefined,
      message: textField(raw, 'finishMessage'),
      ratings: listField(raw, 'safetyRatings'),
    },
    ...(candidate === 0 && isGrounded ? (readers.readGrounding ??= createGroundingReader())(raw) : []),
    ...(candidate === 0 && token ? [{ type: 'continuation', token } as const] : []),
  ];
}

/** The events of one part of a candidate. A part should hold one thing; if it holds text beside something else, both are events. */
function partEvents(raw: JsonValue, candidate: number, readers: Readers): ReplyEvent[] {
  if (!isObject(raw)) return [];
  const isThought = field(raw, 'thought') === true;
  const text = textField(raw, 'text');
  const signature = textField(raw, 'thoughtSignature');
  const call = objectField(raw, 'functionCall');
  const inline = objectField(raw, 'inlineData');
  const code = objectField(raw, 'executableCode') ?? objectField(raw, 'codeExecutionResult');
  const events: ReplyEvent[] = text === undefined ? [] : [{ type: isThought ? 'thinking' : 'text', text, candidate }];
  if (call) {
    readers.calls ??= createCallJoiner();
    return [...events, ...readers.calls.add({ ...toCallPiece(call), signature }, candidate)];
  }
  const blob =
    inline && blobEvent(inline, { draft: isThought, ...(signature !== undefined && { signature }), candidate });
  const other = blob ?? (code && codeEvent(code, candidate));
  // The signature of code that the service ran is not kept: no later turn has that code.
  if (other) events.push(other);
  else if (signature !== undefined) events.push({ type: 'signature', signature, candidate });
  return events;
}

function toCallPiece(call: JsonObject): CallPiece {
  return {
    id: textField(call, 'id'),
    name: textField(call, 'name'),
    args: field(call, 'args'),
    partialArgs: listField(call, 'partialArgs') ?? [],
    willContinue: field(call, 'willContinue') === true,
    isEnd: Object.values(call).every((value) => value === null),
  };
}

/** Code that the service ran, or its output, as Markdown: both were paid for. */
function codeEvent(code: JsonObject, candidate: number): ReplyEvent {
  const text = textField(code, 'code') ?? textField(code, 'output') ?? '';
  return { type: 'code', text: fenced(text, textField(code, 'language') ?? ''), candidate };
}

function fenced(text: string, language: string): string {
  const longest = maxOf([2, ...Array.from(text.matchAll(/`{3,}/g), ([ticks]) => ticks.length)]);
  const fence = '`'.repeat(longest + 1);
  const word = language.toLowerCase().replace(/[^a-z0-9+#-]/g, '');
  return `\n\n${fence}${word}\n${text.replace(/\n$/, '')}\n${fence}\n\n`;
}

function blobEvent(
  inline: JsonObject,
  facts: Pick<Extract<ReplyEvent, { type: 'blob' }>, 'draft' | 'signature' | 'candidate'>,
): ReplyEvent | undefined {
  const data = textField(inline, 'data');
  // An empty value counts as absent, like null.
  return data ? { type: 'blob', mimeType: textField(inline, 'mimeType'), data, ...facts } : undefined;
}

/** Counts of usageMetadata as the gateway gave them: outputTokens without thinking, cachedInputTokens within inputTokens (formats 2). */
function readUsage(metadata: JsonObject): Usage {
  const toolInputTokens = numberField(metadata, 'toolUsePromptTokenCount');
  const imageOutputTokens = sumModality(metadata, 'IMAGE', ['candidatesTokensDetails']);
  const imageInputTokens = sumModality(metadata, 'IMAGE', ofPrompt);
  const audioInputTokens = sumModality(metadata, 'AUDIO', ofPrompt);
  const audioOutputTokens = sumModality(metadata, 'AUDIO', ['candidatesTokensDetails']);
  const splitsCached = listField(metadata, 'cacheTokensDetails') !== undefined;
  const cachedOf = (modality: string): number => sumModality(metadata, modality, ['cacheTokensDetails']) ?? 0;
  const usage: Usage = {
    inputTokens: numberField(metadata, 'promptTokenCount'),
    outputTokens: numberField(metadata, 'candidatesTokenCount'),
    thinkingTokens: numberField(metadata, 'thoughtsTokenCount'),
    cachedInputTokens: numberField(metadata, 'cachedContentTokenCount'),
    ...(imageInputTokens && { imageInputTokens }),
    ...(audioInputTokens && { audioInputTokens }),
    ...(splitsCached && imageInputTokens && { cachedImageInputTokens: cachedOf('IMAGE') }),
    ...(splitsCached && audioInputTokens && { cachedAudioInputTokens: cachedOf('AUDIO') }),
    ...(audioOutputTokens && { audioOutputTokens }),
  };
  if (toolInputTokens !== undefined) usage.toolInputTokens = toolInputTokens;
  if (imageOutputTokens !== undefined) usage.imageOutputTokens = imageOutputTokens;
  usage.totalTokens = numberField(metadata, 'totalTokenCount');
  return usage;
}

const ofPrompt = ['promptTokensDetails', 'toolUsePromptTokensDetails'];

/** The tokens of one modality in some lists; undefined if none names it. */
function sumModality(metadata: JsonObject, modality: string, lists: readonly string[]): number | undefined {
  const counts = lists
    .flatMap((list) => listField(metadata, list) ?? [])
    .filter(isObject)
    .filter((one) => textField(one, 'modality') === modality)
    .flatMap((one) => numberField(one, 'tokenCount') ?? []);
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
}
