import { isObject, type JsonObject, type JsonValue } from '../../library/index.ts';
import type { ModelRequest, OperationStream, StreamEvent, Path } from '../types.ts';
import {
  type ModelAnswer,
  type Candidate,
  candidateText,
  listCalls,
  refusalText,
  splitJson,
  splitForStream,
  type ModelCall,
  wholeImages,
} from '../models/task.ts';
import { listAt, objectAt, textAt, valueAt } from '../fields/read.ts';
import { modelSeconds } from '../models/local.ts';
import { Problem } from '../problem.ts';
import { type Breach, pathText } from '../fields/rule.ts';

/** `error.type` and `error.code` of an HTTP status; other statuses below 500 are requests that are not valid. */
const kinds: Readonly<Record<number, readonly [type: string, code: string | null]>> = {
  401: ['invalid_request_error', 'invalid_api_key'],
  402: ['insufficient_quota', 'insufficient_quota'],
  429: ['requests', 'rate_limit_exceeded'],
};

/** The error body of the completions format; a stream that breaks off ends with it. */
export function completionsError({ status, message, extra }: Problem): JsonObject {
  const [usualType, usualCode] = kinds[status] ?? [status < 500 ? 'invalid_request_error' : 'server_error', null];
  const { type = usualType, errorCode = usualCode, param = null } = extra;
  return { error: { message, type, param, code: errorCode } };
}

/** A 400 reply that names a parameter. */
export function badParameter(param: string | undefined, code: string | null, message: string): Problem {
  return new Problem(400, message, { ...(param !== undefined && { param }), errorCode: code });
}

/** The 404 reply to a model that does not exist. */
export function unknownModel(model: string, more = ''): Problem {
  const message = `The model \`${model}\` does not exist or you do not have access to it.${more}`;
  return new Problem(404, message, { errorCode: 'model_not_found' });
}

/** The 400 reply that names the field. */
export function completionsViolation(path: Path, breach: Breach): Problem {
  const at = pathText(path);
  switch (breach.kind) {
    case 'unknown':
      return badParameter(at, 'unknown_parameter', `Unknown parameter: '${pathText([...path, breach.name])}'.`);
    case 'missing':
      return badParameter(at, 'missing_required_parameter', `Missing required parameter: '${at}'.`);
    case 'type':
      return badParameter(at, 'invalid_type', `Invalid type for '${at}': expected ${breach.expected}.`);
    default:
      return badParameter(at, 'invalid_value', `Invalid '${at}': ${breach.text}`);
  }
}

const finishReasons: Readonly<Record<Candidate['ended'], string>> = {
  end: 'stop',
  'stop-sequence': 'stop',
  call: 'tool_calls',
  'max-tokens': 'length',
  refused: 'content_filter',
  'no-image': 'stop',
};

/** A chat completion: one choice for each answer. */
export function completionsReply(answer: ModelAnswer, request: ModelRequest): JsonObject {
  const { id, model, candidates, blocked, bare } = answer;
  const choices = candidates.map((candidate, index) => ({
    index,
    message: blocked
      ? { role: 'assistant', content: null, refusal: refusalText, annotations: [] }
      : encodeMessage(candidate, request, index === 0 ? id : `${id}${index}`),
    logprobs: null,
    finish_reason: blocked ? 'stop' : chooseFinishReason(candidate, request),
  }));
  if (bare) return { object: 'chat.completion', created: modelSeconds, choices };
  return {
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created: modelSeconds,
    model,
    choices,
    usage: encodeUsage(answer),
    service_tier: request.tier ?? 'default',
    system_fingerprint: null,
  };
}

function chooseFinishReason({ ended }: Candidate, { functionCalls }: ModelRequest): string {
  return ended === 'call' && functionCalls === true ? 'function_call' : finishReasons[ended];
}

function encodeUsage({ tokens: { input, thinking, answer } }: ModelAnswer): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: thinking + answer,
    total_tokens: input + thinking + answer,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: thinking,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function encodeMessage(candidate: Candidate, { showThinking, functionCalls }: ModelRequest, id: string): JsonObject {
  const { thinking } = candidate;
  const calls = listCalls(candidate, 'call_', id);
  const text = candidateText(candidate);
  const images = wholeImages(candidate).map(({ mimeType, data }, index) => ({
    type: 'image_url',
    image_url: { url: `data:${mimeType};base64,${data}` },
    index,
  }));
  const [first] = calls;
  const isEmpty = text === '' && (first !== undefined || candidate.parts.length === 0);
  return {
    role: 'assistant',
    content: isEmpty ? null : text,
    refusal: null,
    annotations: [],
    ...(showThinking && thinking && { reasoning_content: thinking }),
    ...(first && functionCalls && { function_call: toFunction(first) }),
    ...(first && !functionCalls && { tool_calls: calls.map(encodeCall) }),
    ...(images.length > 0 && { images }),
  };
}

function encodeCall(call: ModelCall & { id: string }): JsonObject {
  const { id, name, input, isCustom } = call;
  if (isCustom) return { id, type: 'custom', custom: { name, input } };
  return { id, type: 'function', function: toFunction(call) };
}

function toFunction({ name, input }: ModelCall): JsonObject {
  return { name, arguments: JSON.stringify(input) };
}

/** Events without names, and `[DONE]` after the last. */
export const completionsStream: OperationStream = {
  contentType: () => 'text/event-stream; charset=utf-8',
  events: splitIntoChunks,
  encode: ({ data }) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
  failure: {
    data: completionsError(new Problem(503, 'The model is overloaded. Please try again later.')),
    step: 'end',
  },
  broken: { data: '{"choices":[{"index":0,"delta":{oops', step: 'delta' },
  unknownAfter({ data, step }) {
    if (step !== 'start' || !isObject(data)) return [];
    const delta = { offline_delta: 'skip me' };
    return [
      { data: { ...data, choices: [], offline_note: 'skip me' }, step },
      { data: { ...data, choices: [{ index: 0, delta, finish_reason: null }] }, step },
    ];
  },
};

/** The chunks of a whole completion: of each choice the role, the deltas and the finish reason, then the usage if it was requested. */
function* splitIntoChunks(reply: JsonObject, request: ModelRequest): Generator<StreamEvent> {
  const { streamUsage } = request;
  const { choices, usage, ...rest } = reply;
  if (!Array.isArray(choices)) return yield { data: reply, step: 'end' };
  const withUsage = streamUsage && usage !== undefined;
  for (const choice of choices.filter(isObject)) {
    const { index = 0, message, finish_reason = null } = choice;
    const toChunk = (delta: JsonObject, reason: JsonValue = null): JsonObject => ({
      ...rest,
      object: 'chat.completion.chunk',
      choices: [{ index, delta, logprobs: null, finish_reason: reason }],
      ...(withUsage && { usage: null }),
    });
    const content = textAt(message, 'content') === undefined ? null : '';
    yield { data: toChunk({ role: 'assistant', content, refusal: null }), step: 'start' };
    for (const name of ['reasoning_content', 'content', 'refusal']) {
      for (const piece of splitForStream(textAt(message, name) ?? '', request))
        yield { data: toChunk({ [name]: piece }), step: 'delta' };
    }
    for (const delta of listOtherDeltas(message)) yield { data: toChunk(delta), step: 'delta' };
    yield { data: toChunk({}, finish_reason), step: 'end' };
  }
  if (withUsage) yield { data: { ...rest, object: 'chat.completion.chunk', choices: [], usage }, step: 'end' };
  yield { data: '[DONE]', step: 'done' };
}

/** The deltas of images and other parts that are not text. */
function listOtherDeltas(message: JsonValue | undefined): JsonObject[] {
  const images = valueAt(message, 'images');
  const calls = listAt(message, 'tool_calls').filter(isObject).flatMap(callDeltas);
  return [
    ...functionDeltas(objectAt(message, 'function_call')).map((call) => ({ function_call: call })),
    ...calls.map((call) => ({ tool_calls: [call] })),
    ...(images === undefined ? [] : [{ images }]),
  ];
}

function callDeltas({ id = '', type = '', ...call }: JsonObject, index: number): JsonObject[] {
  const kind = type === 'custom' ? 'custom' : 'function';
  const [first = {}, ...others] = functionDeltas(objectAt(call, kind));
  return [{ index, id, type, [kind]: first }, ...others.map((delta) => ({ index, [kind]: delta }))];
}

/** A call without its arguments, or its input, then these in pieces. */
function functionDeltas(called: JsonObject | undefined): JsonObject[] {
  if (called === undefined) return [];
  const field = 'input' in called ? 'input' : 'arguments';
  const pieces = splitJson(textAt(called, field) ?? '');
  return [{ ...called, [field]: '' }, ...pieces.map((piece) => ({ [field]: piece }))];
}
