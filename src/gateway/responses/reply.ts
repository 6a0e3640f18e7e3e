import { isObject, type JsonObject, type JsonValue } from '../../library/index.ts';
import { completionsError } from '../completions/reply.ts';
import { listAt, objectAt, textAt } from '../fields/read.ts';
import {
  type ModelAnswer,
  type Candidate,
  candidateText,
  listCalls,
  type MadeImage,
  refusalText,
  sealThoughts,
  splitForStream,
  splitJson,
  wholeImages,
} from '../models/task.ts';
import { modelSeconds } from '../models/local.ts';
import { Problem } from '../problem.ts';
import type { ModelRequest, OperationStream, StreamEvent } from '../types.ts';

/** The values in a reply of fields that the request leaves out. */
const defaults: JsonObject = {
  background: false,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  store: true,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
};

/** The fields of a request that its reply repeats. */
export function repeatRequest(checked: JsonObject): JsonObject {
  const given: JsonObject = {};
  for (const [name, usual] of Object.entries(defaults)) given[name] = checked[name] ?? usual;
  return {
    ...given,
    reasoning: { effort: null, summary: null, ...objectAt(checked, 'reasoning') },
    text: { format: { type: 'text' }, verbosity: 'medium', ...objectAt(checked, 'text') },
  };
}

/** The reasons for which an answer is incomplete. */
const incompleteReasons: Partial<Record<Candidate['ended'], string>> = {
  'max-tokens': 'max_output_tokens',
  refused: 'content_filter',
};

export function responsesReply(answer: ModelAnswer, request: ModelRequest): JsonObject {
  const { id, model, candidates, blocked, bare, failure } = answer;
  const [candidate] = candidates;
  const reason = blocked || failure || !candidate ? undefined : incompleteReasons[candidate.ended];
  const status = failure ? 'failed' : reason === undefined ? 'completed' : 'incomplete';
  const output = failure || !candidate ? [] : blocked ? [refusalItem(id)] : listOutput(candidate, request, id);
  if (bare) return { object: 'response', status, output };
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: modelSeconds,
    completed_at: status === 'completed' ? modelSeconds : null,
    status,
    error: failure ? encodeFailure(failure) : null,
    incomplete_details: reason === undefined ? null : { reason },
    model,
    output,
    ...request.repeated,
    service_tier: request.tier ?? 'default',
    usage: failure ? null : encodeUsage(answer),
  };
}

function encodeFailure({ status, message }: Problem): JsonObject {
  return { code: status === 429 ? 'rate_limit_exceeded' : 'server_error', message };
}

function encodeUsage({ tokens: { input, thinking, answer } }: ModelAnswer): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: thinking + answer,
    output_tokens_details: { reasoning_tokens: thinking },
    total_tokens: input + thinking + answer,
  };
}

function refusalItem(id: string): JsonObject {
  return messageItem(id, { type: 'refusal', refusal: refusalText }, 'completed');
}

function messageItem(id: string, part: JsonObject, status: string): JsonObject {
  return { id: `msg_${id}`, type: 'message', status, role: 'assistant', content: [part] };
}

/** The items of an answer: thinking, text, images, a call. */
function listOutput(candidate: Candidate, request: ModelRequest, id: string): JsonObject[] {
  const { thinking, ended } = candidate;
  const items: JsonObject[] = [];
  if (thinking !== undefined) items.push(reasoningItem(thinking, request, id));
  const text = candidateText(candidate);
  const part = { type: 'output_text', annotations: [], logprobs: [], text };
  if (text !== '') items.push(messageItem(id, part, incompleteReasons[ended] ? 'incomplete' : 'completed'));
  for (const image of wholeImages(candidate)) items.push(imageItem(image, `${id}${items.length}`));
  for (const [index, { id: call_id, name, input, isCustom }] of listCalls(candidate, 'call_', id).entries()) {
    const called = { status: 'completed', call_id, name };
    const own = index === 0 ? id : `${id}_${index}`;
    if (isCustom) items.push({ id: `ctc_${own}`, type: 'custom_tool_call', ...called, input });
    else items.push({ id: `fc_${own}`, type: 'function_call', ...called, arguments: JSON.stringify(input) });
  }
  return items;
}

/** Thinking is shown in a summary, and goes back encrypted. */
function reasoningItem(thinking: string, { showThinking, encryptsThinking }: ModelRequest, id: string): JsonObject {
  return {
    id: `rs_${id}`,
    type: 'reasoning',
    summary: showThinking ? [{ type: 'summary_text', text: thinking }] : [],
    ...(encryptsThinking && { encrypted_content: sealThoughts(id) }),
  };
}

function imageItem({ mimeType, data, size }: MadeImage, id: string): JsonObject {
  return {
    id: `ig_${id}`,
    type: 'image_generation_call',
    status: 'completed',
    output_format: mimeType.replace('image/', ''),
    size: `${size.width}x${size.height}`,
    result: data,
  };
}

/** Events with their names, each with its number. */
export const responsesStream: OperationStream = {
  contentType: () => 'text/event-stream; charset=utf-8',
  events: responseEvents,
  encode({ data }, index) {
    if (typeof data === 'string') return data;
    return `event: ${String(data['type'])}\ndata: ${JSON.stringify({ ...data, sequence_number: index })}\n\n`;
  },
  failure: event('error', completionsError(new Problem(503, 'The model is overloaded. Please try again later.'))),
  broken: {
    data: 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":{oops\n\n',
    step: 'delta',
  },
  unknownAfter({ data }) {
    if (typeof data === 'string') return [];
    if (data['type'] === 'response.created') return [event('response.offline_note', { note: 'skip me' })];
    if (data['type'] !== 'response.content_part.added') return [];
    const { item_id = '', output_index = 0 } = data;
    return [event('response.offline_text.delta', { item_id, output_index, delta: 'skip me' })];
  },
};

/** The events of a whole response as a stream, in the order of the format: clients need each of them. */
function* responseEvents(response: JsonObject, request: Pick<ModelRequest, 'pieces'>): Generator<StreamEvent> {
  const begun = toUnfinished(response);
  yield event('response.created', { response: begun });
  yield event('response.in_progress', { response: begun });
  for (const [output_index, item] of listAt(response, 'output').filter(isObject).entries()) {
    yield event('response.output_item.added', { output_index, item: emptyItem(item) });
    yield* itemEvents(item, { item_id: item['id'] ?? '', output_index }, request);
    yield event('response.output_item.done', { output_index, item });
  }
  yield event(`response.${textAt(response, 'status')}`, { response });
}

/** The response before it has an answer. */
function toUnfinished(response: JsonObject): JsonObject {
  const none = { completed_at: null, error: null, incomplete_details: null, usage: null };
  return { ...response, status: 'in_progress', output: [], ...none };
}

/** Makes an event whose number is set when it is sent. */
function event(type: string, data: JsonObject): StreamEvent {
  const isEnd = /\.done$|^(?:response\.(?:completed|incomplete|failed)|error)$/.test(type);
  const step = type.endsWith('.delta') ? 'delta' : isEnd ? 'end' : 'start';
  return { data: { type, sequence_number: null, ...data }, step };
}

function emptyItem(item: JsonObject): JsonObject {
  const { encrypted_content: encrypted, ...begun } = item;
  switch (item['type']) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] };
    case 'reasoning':
      // A service sends the beginning of it here: only the item at its end is whole.
      return {
        ...begun,
        summary: [],
        ...(typeof encrypted === 'string' && { encrypted_content: encrypted.slice(0, 8) }),
      };
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' };
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' };
    default:
      return { ...item, status: 'in_progress', result: null };
  }
}

/** The item that an event belongs to. */
type ItemPlace = Readonly<Record<'item_id' | 'output_index', JsonValue>>;

/** The events between the beginning and the end of an item. */
function itemEvents(item: JsonObject, place: ItemPlace, request: Pick<ModelRequest, 'pieces'>): StreamEvent[] {
  switch (item['type']) {
    case 'message':
      return listAt(item, 'content')
        .filter(isObject)
        .flatMap((part, index) => contentPartEvents(part, index, place, request));
    case 'reasoning':
      return listAt(item, 'summary')
        .filter(isObject)
        .flatMap((part, index) => summaryEvents(part, index, place));
    case 'function_call':
      return inputEvents('response.function_call_arguments', 'arguments', item, place);
    case 'custom_tool_call':
      return inputEvents('response.custom_tool_call_input', 'input', item, place);
    default:
      return ['in_progress', 'generating', 'completed'].map((step) =>
        event(`response.${String(item['type'])}.${step}`, { ...place }),
      );
  }
}

function inputEvents(type: string, field: 'arguments' | 'input', item: JsonObject, place: ItemPlace): StreamEvent[] {
  const { name = '' } = item;
  const input = textAt(item, field) ?? '';
  return [
    ...splitJson(input).map((delta) => event(`${type}.delta`, { delta, ...place })),
    event(`${type}.done`, { ...(field === 'arguments' && { name }), [field]: input, ...place }),
  ];
}

function contentPartEvents(
  part: JsonObject,
  content_index: number,
  place: ItemPlace,
  request: Pick<ModelRequest, 'pieces'>,
): StreamEvent[] {
  const field = part['type'] === 'refusal' ? 'refusal' : 'text';
  const type = `response.${String(part['type'])}`;
  const text = textAt(part, field) ?? '';
  const rest: JsonObject = field === 'text' ? { logprobs: [], ...place } : place;
  return [
    event('response.content_part.added', { content_index, part: { ...part, [field]: '' }, ...place }),
    ...splitForStream(text, request).map((delta) => event(`${type}.delta`, { content_index, delta, ...rest })),
    event(`${type}.done`, { content_index, [field]: text, ...rest }),
    event('response.content_part.done', { content_index, part, ...place }),
  ];
}

function summaryEvents(part: JsonObject, summary_index: number, place: ItemPlace): StreamEvent[] {
  const text = textAt(part, 'text') ?? '';
  const type = 'response.reasoning_summary';
  return [
    event(`${type}_part.added`, { summary_index, part: { ...part, text: '' }, ...place }),
    ...splitForStream(text).map((delta) => event(`${type}_text.delta`, { summary_index, delta, ...place })),
    event(`${type}_text.done`, { summary_index, text, ...place }),
    event(`${type}_part.done`, { summary_index, part, ...place }),
  ];
}
