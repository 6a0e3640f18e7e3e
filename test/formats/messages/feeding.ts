import { createParser } from 'eventsource-parser';
import { GatewayError } from '../../../src/errors.ts';
import { createMessageAssembler } from '../../../src/formats/messages/events.ts';
import type { ServerEvent } from '../../../src/formats/messages/events.ts';
import type { MessageReply, StreamDelta } from '../../../src/formats/messages/types.ts';

/** What an assembler made of a stream. */
export interface Fed {
  deltas: StreamDelta[];
  reply: MessageReply;
  error: GatewayError | undefined;
  complete: boolean;
}

/** Feeds events until one throws. A string is the data of an event without a name. */
export function feedAll(events: readonly (string | ServerEvent)[]): Fed {
  const assembler = createMessageAssembler();
  const deltas: StreamDelta[] = [];
  let error: GatewayError | undefined;
  try {
    for (const event of events) deltas.push(...assembler.feed(typeof event === 'string' ? { data: event } : event));
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    error = thrown;
  }
  return { deltas, reply: assembler.finish(), error, complete: assembler.complete };
}

/** Splits a body into its events with the parser that the product uses. */
export function splitEvents(body: string): ServerEvent[] {
  const events: ServerEvent[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event, data }) });
  parser.feed(body);
  return events;
}

/** Data of events that many tests need. */
export const sample = {
  start:
    '{"type":"message_start","message":{"id":"msg_1","role":"assistant","model":"m","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}',
  stop: '{"type":"message_stop"}',
  end: '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}',
  blockStop: (index = 0) => `{"type":"content_block_stop","index":${index}}`,
  block: (block: object, index = 0) => JSON.stringify({ type: 'content_block_start', index, content_block: block }),
  delta: (delta: object, index = 0) => JSON.stringify({ type: 'content_block_delta', index, delta }),
  text: (text: string, index = 0) => sample.delta({ type: 'text_delta', text }, index),
};
