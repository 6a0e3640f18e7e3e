import type { Body } from '../../body.ts';
import { isObject, type JsonObject, listField, numberField, objectField, textField } from '../../json.ts';
import { toldCostEvents } from '../told-cost.ts';
import type { Decoder, DecoderInput, ReplyEvent, ReplyProgress, Usage } from '../events.ts';
import { toFailure } from '../failure.ts';
import { findErrorInEvent, findErrorInReply, type ReplyHead } from '../format.ts';
import { findReply, foreignReply, isCutData, limitAnswer, parseEventData } from '../parse-reply.ts';
import {
  beginItem,
  beginPart,
  createResponseOutput,
  listToolNames,
  endItems,
  finishItem,
  finishItems,
  growItem,
  growSound,
  type ArrivingOutput,
} from './output.ts';

/** The state of a reply while it is read. */
interface ResponseState {
  readonly asked: Body | undefined;
  readonly output: ArrivingOutput;
  hasStarted: boolean;
  progress: ReplyProgress;
}

/** Reads one reply of the format (formats 8, and deviations 72 to 78, and 80). */
export function createResponsesDecoder({ asked }: Pick<ReplyHead, 'asked'> = {}): Decoder {
  const state: ResponseState = {
    asked,
    output: createResponseOutput(asked && listToolNames(asked)),
    hasStarted: false,
    progress: 'open',
  };
  return {
    whole(json) {
      const response = findReply(json, isResponse);
      if (response === undefined) throw foreignReply(json, 'responses');
      return endResponse(response, state);
    },
    feed: (event) => feed(event, state),
    // A stream that is cut in a call has not said that the call is whole.
    end: () => [],
    get progress() {
      return state.progress;
    },
  };
}

function feed({ event, data, unterminated }: DecoderInput, state: ResponseState): ReplyEvent[] {
  const text = data.trim();
  // `[DONE]` belongs to another format: the reply ends with an event of its own (deviation 77).
  if (text === '' || text === '[DONE]' || text.startsWith(':') || state.progress === 'ended') return [];
  // Data that was cut at the end of the body says nothing (deviation 33).
  if (unterminated && isCutData(text)) return [];
  const payload = parseEventData(text);
  if (!isObject(payload)) return [];
  const events = readEvent(event, payload, state);
  limitAnswer(state.output.length);
  return events;
}

function readEvent(event: string | undefined, payload: JsonObject, state: ResponseState): ReplyEvent[] {
  const type = textField(payload, 'type') ?? event ?? '';
  const response = objectField(payload, 'response');
  switch (type) {
    case 'response.created':
    case 'response.queued':
    case 'response.in_progress':
      return startEvents(response ?? {}, state);
    case 'response.output_item.added':
      return beginItem(payload, state.output);
    case 'response.output_item.done':
      return finishItem(payload, state.output);
    case 'response.content_part.added':
    case 'response.reasoning_part.added':
      beginPart(payload, state.output);
      return [];
    case 'response.output_text.delta':
    case 'response.output_text.done':
    case 'response.refusal.delta':
    case 'response.refusal.done':
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_summary_text.done':
    case 'response.reasoning_text.delta':
    case 'response.reasoning_text.done':
    case 'response.function_call_arguments.delta':
    case 'response.function_call_arguments.done':
    case 'response.custom_tool_call_input.delta':
    case 'response.custom_tool_call_input.done':
    case 'response.audio.transcript.delta':
    case 'response.audio.transcript.done':
    case 'response.output_text.annotation.added':
      return growItem(type, payload, state.output);
    case 'response.audio.delta':
      return growSound(payload, state.output);
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
    case 'response.cancelled':
      return endResponse(response ?? payload, state);
    default:
      return otherEvents(payload, event, state);
  }
}

/** An error, in either of its shapes (deviation 78); events of an unknown kind mean nothing. */
function otherEvents(payload: JsonObject, event: string | undefined, state: ResponseState): ReplyEvent[] {
  const error = findErrorInEvent(payload, event, state.asked);
  if (!error) return [];
  throw toFailure(error, { billed: state.hasStarted ? 'unknown' : undefined });
}

function startEvents(response: JsonObject, state: ResponseState): ReplyEvent[] {
  const id = textField(response, 'id') || undefined;
  const model = textField(response, 'model') || undefined;
  // Some servers send neither id nor model before the end (deviation 75).
  if (state.hasStarted && id === undefined && model === undefined) return [];
  state.hasStarted = true;
  return [{ type: 'start', id, model }];
}

/** The end of a reply, or a whole reply: the parts of its items that did not come before, and the reason of its end. */
function endResponse(response: JsonObject, state: ResponseState): ReplyEvent[] {
  const status = textField(response, 'status');
  const started = startEvents(response, state);
  // If the last event has no items, the earlier ones are kept (deviation 74).
  const items = [...finishItems(listField(response, 'output') ?? [], state.output), ...endItems(state.output)];
  const events = [...started, ...items, ...usageEvents(response, state.output), ...tierEvents(response)];

  if (status === 'failed' || (!status && isObject(response['error']))) {
    const error = findErrorInReply({ error: response['error'] ?? 'the reply failed' }, state.asked) ?? { message: '' };
    return [...events, { type: 'broken', error: toFailure(error, { billed: 'unknown' }) }];
  }
  // A stream has no errors after its end: a failed stream does not end well.
  state.progress = 'ended';
  const { refusal } = state.output;
  const incomplete = objectField(response, 'incompleteDetails');
  const reason = (incomplete && textField(incomplete, 'reason')) || (refusal === '' ? status : 'refusal');
  return [...events, { type: 'candidate', reason, message: refusal || undefined }, { type: 'end' }];
}

function isResponse(json: JsonObject): boolean {
  return json['object'] === 'response' || Array.isArray(json['output']);
}

function tierEvents(response: JsonObject): ReplyEvent[] {
  const tier = textField(response, 'serviceTier');
  return tier ? [{ type: 'facts', facts: { serviceTier: tier } }] : [];
}

function usageEvents(response: JsonObject, { searches: found, pictures }: ArrivingOutput): ReplyEvent[] {
  const usage = objectField(response, 'usage');
  const search = objectField(objectField(response, 'toolUsage') ?? {}, 'webSearch');
  const inUsage = objectField(usage ?? {}, 'serverToolUseDetails') !== undefined;
  // If a service counts no searches, they are counted in the output.
  const searches = (search && numberField(search, 'numRequests')) ?? (inUsage ? undefined : found);
  return [
    ...(usage ? [{ type: 'facts', facts: { usage: readUsage(usage) } } as const, ...toldCostEvents(usage)] : []),
    ...(searches ? [{ type: 'facts', facts: { usage: { searches } } } as const] : []),
    ...pictureEvents(response, pictures),
  ];
}

/**
 * The usage of images that a tool made, which `usage` leaves out; without counts if the reply has none. The model that made them
 * is named in the tool, as the reply repeats it.
 */
function pictureEvents(response: JsonObject, images: number): ReplyEvent[] {
  const counts = objectField(objectField(response, 'toolUsage') ?? {}, 'imageGen') ?? {};
  const usage = numberField(counts, 'inputTokens') ? readImageUsage(counts) : {};
  if (images === 0 && usage.inputTokens === undefined) return [];
  const tool = (listField(response, 'tools') ?? []).filter(isObject).find((one) => one['type'] === 'image_generation');
  return [{ type: 'facts', facts: { otherUsage: { model: textField(tool ?? {}, 'model') ?? '', usage, images } } }];
}

/** The counts of the picture tool (npm openai 7.57.0). If it does not divide its output, all of it is images. */
function readImageUsage(counts: JsonObject): Usage {
  const [input, output] = [objectField(counts, 'inputTokensDetails'), objectField(counts, 'outputTokensDetails')];
  const cached = objectField(counts, 'cachedTokensDetails');
  const outputTokens = numberField(counts, 'outputTokens');
  return {
    inputTokens: numberField(counts, 'inputTokens'),
    outputTokens,
    cachedInputTokens: numberField(counts, 'cachedTokens'),
    imageInputTokens: input && numberField(input, 'imageTokens'),
    cachedImageInputTokens: cached && numberField(cached, 'cachedImageTokens'),
    imageOutputTokens: (output && numberField(output, 'imageTokens')) ?? outputTokens,
  };
}

/** `inputTokens` includes cached and written tokens, `outputTokens` includes thinking. */
function readUsage(usage: JsonObject): Usage {
  const input = objectField(usage, 'inputTokensDetails') ?? {};
  const output = objectField(usage, 'outputTokensDetails') ?? {};
  const cacheWriteInputTokens = numberField(input, 'cacheWriteTokens');
  // npm openai 7.57.0; all other tokens stay for half an hour.
  const cacheWriteLongInputTokens = numberField(objectField(input, 'cacheWriteTokensDetails') ?? {}, 'ttl_12h_tokens');
  const searches = numberField(objectField(usage, 'serverToolUseDetails') ?? {}, 'webSearchRequests');
  return {
    inputTokens: numberField(usage, 'inputTokens'),
    outputTokens: numberField(usage, 'outputTokens'),
    thinkingTokens: numberField(output, 'reasoningTokens'),
    cachedInputTokens: numberField(input, 'cachedTokens'),
    ...(cacheWriteInputTokens !== undefined && { cacheWriteInputTokens }),
    ...(cacheWriteLongInputTokens && { cacheWriteLongInputTokens }),
    ...(searches && { searches }),
    totalTokens: numberField(usage, 'totalTokens'),
  };
}
