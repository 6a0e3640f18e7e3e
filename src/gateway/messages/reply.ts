import { isObject, type JsonObject, type JsonValue } from '../../library/index.ts';
import type { ModelRequest, StreamEvent, OperationStream, Path } from '../types.ts';
import {
  type ModelAnswer,
  type Candidate,
  candidateText,
  listCalls,
  sealThoughts,
  splitJson,
  splitForStream,
  wholeImages,
} from '../models/task.ts';
import { listAt, objectAt, textAt } from '../fields/read.ts';
import { Problem } from '../problem.ts';
import type { Breach } from '../fields/rule.ts';

/** `error.type` of an HTTP status. */
const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** The `error` event and the error body share this shape. */
export function messagesError({ status, message, extra }: Problem, requestId?: string): JsonObject {
  const type = extra.type ?? types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  const details = extra.errorCode !== undefined && { details: { error_code: extra.errorCode } };
  const error = { type, message, ...details };
  return { type: 'error', error, ...(requestId !== undefined && { request_id: requestId }) };
}

/** The 400 reply that names the field. */
export function messagesViolation(path: Path, breach: Breach): Problem {
  const at = path.join('.');
  switch (breach.kind) {
    case 'unknown':
      return new Problem(400, `${[...path, breach.name].join('.')}: Extra inputs are not permitted`);
    case 'missing':
      return new Problem(400, `${at}: Field required`);
    case 'type':
      return new Problem(400, `${at}: Input should be a valid ${breach.expected}`);
    default:
      return new Problem(400, `${at}: ${breach.text}`);
  }
}

const stopReasons: Readonly<Record<Candidate['ended'], string>> = {
  end: 'end_turn',
  'max-tokens': 'max_tokens',
  'stop-sequence': 'stop_sequence',
  call: 'tool_use',
  refused: 'refusal',
  'no-image': 'end_turn',
};

const refusal: JsonObject = {
  type: 'refusal',
  category: 'general_harms',
  explanation: 'This offline model refuses everything.',
};

/** A reply of the messages format. */
export function messagesReply(answer: ModelAnswer, request: ModelRequest): JsonObject {
  const { id, model, candidates, blocked, bare, tokens } = answer;
  const [candidate] = candidates;
  const isRefused = blocked || candidate?.ended === 'refused';
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: candidate && !blocked ? contentBlocks(candidate, request, id) : [],
    stop_reason: stopReasons[blocked ? 'refused' : (candidate?.ended ?? 'end')],
    stop_sequence: candidate?.stopSequence ?? null,
    stop_details: isRefused ? refusal : null,
    ...(!bare && { usage: encodeUsage(tokens, request) }),
  };
}

function encodeUsage({ input, thinking, answer }: ModelAnswer['tokens'], { task, tier }: ModelRequest): JsonObject {
  return {
    input_tokens: input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: thinking + answer,
    ...(task.thinking && { output_tokens_details: { thinking_tokens: thinking } }),
    service_tier: tier ?? 'standard',
    inference_geo: 'not_available',
  };
}

function contentBlocks(candidate: Candidate, { showThinking }: ModelRequest, id: string): JsonObject[] {
  const blocks: JsonObject[] = [];
  if (candidate.thinking !== undefined) {
    const shown = showThinking ? candidate.thinking : '';
    blocks.push({ type: 'thinking', thinking: shown, signature: sealThoughts(id) });
  }
  const text = candidateText(candidate);
  if (text !== '') blocks.push({ type: 'text', text });
  // Anthropic has no such block: gateways in front of models that draw send it.
  for (const { mimeType, data } of wholeImages(candidate))
    blocks.push({ type: 'image', source: { type: 'base64', media_type: mimeType, data } });
  for (const call of listCalls(candidate, 'toolu_', id))
    blocks.push({ type: 'tool_use', id: call.id, name: call.name, input: call.input });
  return blocks;
}

/** Events with their names. JSON has no line breaks, so no text can end a field early. */
export const messagesStream: OperationStream = {
  contentType: () => 'text/event-stream; charset=utf-8',
  events: messageEvents,
  encode: ({ data }) => (typeof data === 'string' ? data : frameEvent(data)),
  failure: { data: messagesError(new Problem(529, 'Overloaded')), step: 'end' },
  broken: {
    data: 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{oops\n\n',
    step: 'delta',
  },
  unknownAfter({ data }) {
    if (typeof data === 'string') return [];
    const note = { note: 'skip me' };
    if (data['type'] === 'message_start') return [event({ type: 'offline_note', ...note })];
    if (data['type'] !== 'content_block_start') return [];
    const delta = { type: 'offline_delta', ...note };
    return [event({ type: 'content_block_delta', index: data['index'] ?? 0, delta })];
  },
};

function frameEvent(data: JsonObject): string {
  const json = data['type'] === 'ping' ? '{"type": "ping"}' : JSON.stringify(data);
  return `event: ${textAt(data, 'type') ?? 'message'}\ndata: ${json}\n\n`;
}

const unfinished: JsonObject = { stop_reason: null, stop_sequence: null, stop_details: null };

/**
 * A whole message as the events of its stream, in the order of the format: message_start, a ping after the first block
 * has begun, the deltas of each block, message_delta with the cumulative usage, message_stop.
 */
function* messageEvents(message: JsonObject, request: ModelRequest): Generator<StreamEvent> {
  const blocks = listAt(message, 'content').filter(isObject);
  const usage = objectAt(message, 'usage') ?? {};
  const { stop_reason = null, stop_sequence = null, stop_details = null } = message;
  const begun = { ...message, content: [], ...unfinished, usage: { ...usage, output_tokens: 1 } };
  yield event({ type: 'message_start', message: begun });
  if (blocks.length === 0) yield event({ type: 'ping' });
  for (const [index, block] of blocks.entries()) {
    yield event({ type: 'content_block_start', index, content_block: emptyBlock(block) });
    if (index === 0) yield event({ type: 'ping' });
    for (const delta of listDeltas(block, request)) yield event({ type: 'content_block_delta', index, delta });
    yield event({ type: 'content_block_stop', index });
  }
  const { cache_creation: _creation, service_tier: _tier, inference_geo: _place, ...counts } = usage;
  yield event({ type: 'message_delta', delta: { stop_reason, stop_sequence, stop_details }, usage: counts });
  yield event({ type: 'message_stop' });
}

const steps: Readonly<Record<string, StreamEvent['step']>> = {
  content_block_delta: 'delta',
  content_block_stop: 'end',
  message_delta: 'end',
  message_stop: 'done',
};

function event(data: JsonObject): StreamEvent {
  return { data, step: steps[textAt(data, 'type') ?? ''] ?? 'start' };
}

function emptyBlock(block: JsonObject): JsonObject {
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'tool_use':
      return { ...block, input: {} };
    default:
      return block;
  }
}

function listDeltas(block: JsonObject, request: ModelRequest): JsonObject[] {
  switch (block['type']) {
    case 'text':
      return toDeltas('text_delta', 'text', splitForStream(textAt(block, 'text') ?? '', request));
    case 'thinking':
      return [
        ...toDeltas('thinking_delta', 'thinking', splitForStream(textAt(block, 'thinking') ?? '')),
        ...toDeltas('signature_delta', 'signature', [textAt(block, 'signature') ?? '']),
      ];
    case 'tool_use':
      return toDeltas('input_json_delta', 'partial_json', inputPieces(block['input'] ?? {}));
    default:
      return [];
  }
}

function toDeltas(type: string, field: string, pieces: readonly string[]): JsonObject[] {
  return pieces.map((piece) => ({ type, [field]: piece }));
}

/** The first piece is empty, and input without fields stays empty, as on the wire. */
function inputPieces(input: JsonValue): string[] {
  const isEmpty = isObject(input) && Object.keys(input).length === 0;
  return isEmpty ? [''] : ['', ...splitJson(JSON.stringify(input))];
}
