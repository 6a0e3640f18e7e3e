import type { ReplyEvent, ReplyFacts, Usage } from '../../library/formats/events.ts';
import { formatFacts } from '../../library/formats/format.ts';
import type { FormatName } from '../../library/formats/types.ts';
import { classifyReason, imageFacts, isObject, type JsonObject, type JsonValue } from '../../library/index.ts';
import { objectAt, textAt, valueAt } from '../fields/read.ts';
import type { AnswerPart, Candidate, ModelAnswer, ModelCall } from './task.ts';

/** A call as far as it came: `json` is the text of its input. */
interface ArrivingCall extends ModelCall {
  index: number | undefined;
  json: string;
}

/** A candidate as far as it came. */
interface OpenCandidate {
  thinking: string;
  parts: AnswerPart[];
  calls: ArrivingCall[];
  reason: string | undefined;
  sequence: string | undefined;
}

/**
 * The answer in a reply of a format, by the events that the decoder of the format makes of it. `reply` of an operation writes an
 * answer down: the two are a pair.
 */
export function readAnswer(
  events: readonly ReplyEvent[],
  format: FormatName,
): ModelAnswer & { tier?: string | undefined } {
  const arriving = new Map<number, OpenCandidate>();
  const facts: ReplyFacts = {};
  const start: Partial<Extract<ReplyEvent, { type: 'start' }>> = {};
  for (const event of events) {
    if (event.type === 'start') Object.assign(start, withoutUndefined(event));
    else if (event.type === 'facts') Object.assign(facts, withoutUndefined(event.facts));
    else addEvent(event, arriving);
  }
  const tokens = readTokens(facts.usage ?? {}, format);
  const candidates = [...arriving.entries()]
    .toSorted(([one], [other]) => one - other)
    .map(([, each]) => endCandidate(each));
  return {
    model: start.model ?? facts.modelVersion ?? '',
    id: start.id ?? facts.responseId ?? '',
    candidates,
    drawn: candidates.some(({ parts }) => parts.some(({ image }) => image)),
    tokens,
    ...(facts.promptFeedback !== undefined && candidates.length === 0 && { blocked: true }),
    tier: facts.serviceTier,
  };
}

function readTokens({ inputTokens = 0, outputTokens = 0, thinkingTokens = 0 }: Usage, format: FormatName) {
  const { outputHasThinking } = formatFacts[format].billing;
  return {
    input: inputTokens,
    thinking: thinkingTokens,
    answer: outputTokens - (outputHasThinking ? thinkingTokens : 0),
  };
}

function withoutUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Partial<T>;
}

function addEvent(event: ReplyEvent, candidates: Map<number, OpenCandidate>): void {
  const number = 'candidate' in event ? (event.candidate ?? 0) : 0;
  const candidate = candidates.get(number) ?? {
    thinking: '',
    parts: [],
    calls: [],
    reason: undefined,
    sequence: undefined,
  };
  if (!('candidate' in event) && !inFirst.has(event.type)) return;
  candidates.set(number, candidate);
  switch (event.type) {
    case 'text':
    case 'code':
      return addText(event.text, candidate);
    case 'thinking':
      candidate.thinking += event.text;
      return;
    case 'block-start':
      return beginBlock(event.raw, event.index, candidate);
    case 'tool-input':
      return addInput(event, candidate);
    case 'call':
      candidate.calls.push({ id: event.id, name: event.name, input: event.input, index: undefined, json: '' });
      return;
    case 'blob':
      return addImage(event, candidate);
    case 'candidate':
      candidate.reason = event.reason ?? candidate.reason;
      candidate.sequence = event.sequence ?? candidate.sequence;
  }
}

/** Events without a candidate belong to the first candidate. */
const inFirst = new Set(['text', 'code', 'thinking', 'block-start', 'tool-input', 'call', 'blob', 'candidate']);

function addText(text: string, { parts }: OpenCandidate): void {
  const last = parts.at(-1);
  if (text === '') return;
  if (last?.text === undefined) parts.push({ text });
  else parts[parts.length - 1] = { ...last, text: last.text + text };
}

function beginBlock(raw: JsonObject, index: number | undefined, candidate: OpenCandidate): void {
  const source = objectAt(raw, 'source');
  const data = textAt(source, 'data');
  if (raw['type'] === 'image' && data !== undefined)
    addImage({ mimeType: textAt(source, 'media_type'), data }, candidate);
  if (raw['type'] === 'text') addText(textAt(raw, 'text') ?? '', candidate);
  if (raw['type'] === 'thinking') candidate.thinking += textAt(raw, 'thinking') ?? '';
  if (raw['type'] !== 'tool_use') return;
  const input = valueAt(raw, 'input') ?? {};
  candidate.calls.push({ id: textAt(raw, 'id'), name: textAt(raw, 'name') ?? '', input, index, json: '' });
}

function addInput({ json, index, isAll }: Extract<ReplyEvent, { type: 'tool-input' }>, { calls }: OpenCandidate): void {
  const call = calls.findLast((each) => index === undefined || each.index === index);
  if (call) call.json = isAll ? json : call.json + json;
}

function addImage(
  { mimeType, data, draft: isDraft }: Pick<Extract<ReplyEvent, { type: 'blob' }>, 'mimeType' | 'data' | 'draft'>,
  candidate: OpenCandidate,
): void {
  const { width = 0, height = 0, mimeType: found } = imageFacts(Buffer.from(data, 'base64'));
  const image = { mimeType: mimeType ?? found ?? 'application/octet-stream', data, size: { width, height } };
  candidate.parts.push({ image: isDraft ? { ...image, isDraft: true } : image });
}

function endCandidate({ thinking, parts, calls, reason = '', sequence }: OpenCandidate): Candidate {
  const meaning = classifyReason(reason);
  const stopped = meaning === 'stopped' ? 'refused' : sequence !== undefined ? 'stop-sequence' : undefined;
  return {
    thinking: thinking === '' ? undefined : thinking,
    parts,
    calls: calls.length === 0 ? undefined : calls.map(endCall),
    ended: meaning === 'cut' ? 'max-tokens' : (stopped ?? (calls.length > 0 ? 'call' : 'end')),
    stopSequence: sequence,
    usage: { thinking: 0, answer: 0 },
  };
}

function endCall({ id, name, input, json }: ArrivingCall): ModelCall {
  return { id, name, input: json === '' ? input : parseInput(json) };
}

/** The input of a call; a text that is no JSON stays a text. */
function parseInput(json: string): JsonValue {
  try {
    const value = JSON.parse(json) as JsonValue;
    return isObject(value) ? value : json;
  } catch {
    return json;
  }
}
