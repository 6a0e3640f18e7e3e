import { isObject, type JsonObject } from '../../json.ts';
import { listAt, objectAt, textAt, valueAt } from '../fields/read.ts';
import type { ModelRequest, OperationStream, StreamEvent } from '../format.ts';
import { splitWords } from '../models/tokens.ts';
import { Problem } from '../problem.ts';
import { completionsError } from './errors.ts';

/** Events without names, and `[DONE]` behind the last. */
export const completionsStream: OperationStream = {
  contentType: () => 'text/event-stream; charset=utf-8',
  events: chunksOf,
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

/** Arguments of a tool are streamed in pieces of this many characters. */
const argumentsPiece = 12;

/** A whole completion as its chunks: of each choice the role, the deltas and the finish reason, then the usage where it is asked for. */
function* chunksOf(reply: JsonObject, { streamUsage }: ModelRequest): Generator<StreamEvent> {
  const { choices, usage, ...rest } = reply;
  if (!Array.isArray(choices)) return yield { data: reply, step: 'end' };
  const withUsage = streamUsage && usage !== undefined;
  const chunk = (changed: JsonObject[], step: StreamEvent['step']): StreamEvent => ({
    data: { ...rest, object: 'chat.completion.chunk', choices: changed, ...(withUsage && { usage: null }) },
    step,
  });
  for (const choice of choices.filter(isObject)) {
    const { index = 0, message, finish_reason = null } = choice;
    const part = (delta: JsonObject, step: StreamEvent['step'], reason: JsonObject[string] = null): StreamEvent =>
      chunk([{ index, delta, logprobs: null, finish_reason: reason }], step);
    yield part({ role: 'assistant', content: openingOf(message), refusal: null }, 'start');
    for (const delta of deltasOf(message)) yield part(delta, 'delta');
    yield part({}, 'end', finish_reason);
  }
  if (withUsage) yield { data: { ...rest, object: 'chat.completion.chunk', choices: [], usage }, step: 'end' };
  yield { data: '[DONE]', step: 'done' };
}

function openingOf(message: JsonObject[string] | undefined): '' | null {
  return textAt(message, 'content') === undefined ? null : '';
}

function deltasOf(message: JsonObject[string] | undefined): JsonObject[] {
  const words = (name: string): JsonObject[] =>
    splitWords(textAt(message, name) ?? '').map((text) => ({ [name]: text }));
  const images = valueAt(message, 'images');
  const calls = listAt(message, 'tool_calls').filter(isObject).flatMap(callDeltas);
  return [
    ...words('reasoning_content'),
    ...words('content'),
    ...words('refusal'),
    ...calls.map((call) => ({ tool_calls: [call] })),
    ...(images === undefined ? [] : [{ images }]),
  ];
}

/** The call with empty arguments, then its arguments in pieces. */
function callDeltas({ id = '', type = '', ...call }: JsonObject, index: number): JsonObject[] {
  const called = objectAt(call, 'function') ?? {};
  const json = textAt(called, 'arguments') ?? '';
  const count = Math.ceil(json.length / argumentsPiece);
  const pieces = Array.from({ length: count }, (_, at) => json.slice(at * argumentsPiece, (at + 1) * argumentsPiece));
  return [
    { index, id, type, function: { ...called, arguments: '' } },
    ...pieces.map((piece) => ({ index, function: { arguments: piece } })),
  ];
}
