import { responses } from '../../../src/formats/responses/format.ts';
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
