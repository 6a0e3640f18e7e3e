import { responses } from '../../../../src/library/formats/responses/format.ts';
import { type Folded, foldStream, foldWhole } from '../accumulating.ts';

/** Feeds events in their order, each with a number as the service gives it. */
export function feedAll(events: readonly object[]): Folded {
  return foldStream(
    responses,
    events.map((event, sequence_number) => ({ data: JSON.stringify({ ...event, sequence_number }) })),
  );
}

export function readWhole(reply: object): Folded {
  return foldWhole(responses, reply);
}

/** A reply around its output. */
export function response(output: readonly object[], more: object = {}): object {
  return {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    output,
    error: null,
    incomplete_details: null,
    usage: {
      input_tokens: 40,
      input_tokens_details: { cached_tokens: 10, cache_write_tokens: 5 },
      output_tokens: 30,
      output_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 70,
    },
    service_tier: 'default',
    ...more,
  };
}

export const created = {
  type: 'response.created',
  response: { id: 'resp_1', model: 'm', status: 'in_progress', output: [] },
};

export function completed(output: readonly object[], more?: object): object {
  return { type: 'response.completed', response: response(output, more) };
}

/** A message item of one text. */
export function message(text: string, more: object = {}): object {
  return {
    type: 'message',
    id: 'msg_1',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
    ...more,
  };
}

/** The events of a text at a place of the output, but for the whole item. */
export function textEvents(pieces: readonly string[], at = 0, id = 'msg_1'): object[] {
  const place = { item_id: id, output_index: at, content_index: 0 };
  const item = { type: 'message', id, status: 'in_progress', role: 'assistant', content: [] };
  return [
    { type: 'response.output_item.added', output_index: at, item },
    { type: 'response.content_part.added', ...place, part: { type: 'output_text', text: '', annotations: [] } },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
  ];
}

export function done(at: number, item: object): object {
  return { type: 'response.output_item.done', output_index: at, item };
}

/** A part of a message begins. */
export function addedPart(content_index: number, item_id = 'msg_1'): object {
  const part = { type: 'output_text', text: '', annotations: [] };
  return { type: 'response.content_part.added', item_id, output_index: 0, content_index, part };
}

/** The pieces of thinking as vLLM sends them: each has the number of a part of its own. */
export function thinkingPieces(pieces: readonly string[]): object[] {
  const place = { item_id: 'a', output_index: 0 };
  return [
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'reasoning', id: 'a', summary: [], status: 'in_progress' },
    },
    { type: 'response.content_part.added', ...place, content_index: 0, part: { type: 'output_text', text: '' } },
    ...pieces.map((delta, at) => ({ type: 'response.reasoning_text.delta', ...place, content_index: at + 1, delta })),
  ];
}

/**
 * An answer as vLLM 0.11 sends it: the item is announced by the id and the number of the one before, and each piece has the number of a part
 * of its own, as the texts that are whole have.
 */
export function vllmEvents(pieces: readonly string[]): object[] {
  const place = { item_id: 'b', output_index: 1 };
  const text = pieces.join('');
  const after = pieces.length + 1;
  return [
    created,
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'message', id: 'a', status: 'in_progress', role: 'assistant', content: [] },
    },
    { ...addedPart(0, 'b'), output_index: 1 },
    ...pieces.map((delta, at) => ({ type: 'response.output_text.delta', ...place, content_index: at + 1, delta })),
    { type: 'response.output_text.done', ...place, content_index: after, text },
    { type: 'response.content_part.done', ...place, content_index: after + 1, part: { type: 'output_text', text } },
    { type: 'response.output_item.done', output_index: 1, item: message(text, { id: 'b' }) },
  ];
}
