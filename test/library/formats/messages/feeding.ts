import { createParser } from 'eventsource-parser';
import type { GatewayError } from '../../../../src/library/errors.ts';
import type { ReplyEvent, DecoderInput, StreamDelta } from '../../../../src/library/formats/events.ts';
import { messages } from '../../../../src/library/formats/messages/format.ts';
import type { Result } from '../../../../src/library/client/result.ts';
import { foldStream } from '../accumulating.ts';

/** What a stream of the messages format came to. */
export interface Fed {
  events: ReplyEvent[];
  deltas: StreamDelta[];
  result: Result;
  error: GatewayError | undefined;
  /** It said why it stopped, or that it is over. */
  complete: boolean;
}

/** Feeds events until one throws. A string is the data of an event without a name. */
export function feedAll(stream: readonly (string | DecoderInput)[]): Fed {
  const { progress, ...fed } = foldStream(messages, stream);
  return { ...fed, complete: progress !== 'open' };
}

/** Splits a body into its events with the parser that the product uses. */
export function splitEvents(body: string): DecoderInput[] {
  const events: DecoderInput[] = [];
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
