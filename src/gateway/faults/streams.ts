import type { JsonObject } from '../../json.ts';
import { event, type StreamEvent } from '../messages/events.ts';
import { contentError, messagesError, Problem } from '../problem.ts';
import type { Reply } from '../types.ts';
import type { FaultTable } from './fault.ts';

/** Deltas that come before a stream goes wrong. */
const goodDeltas = 5;

/** Streams that go wrong, or are only odd. */
export const streamFaults: FaultTable = {
  'fault-error-event': {
    description: 'the stream breaks off with an error: an overloaded_error event, or UNAVAILABLE',
    commands: ['chat'],
    exitCode: 6,
    before: ({ stream }) => {
      if (!stream) throw new Problem(529, 'Overloaded');
    },
    events: function* (events) {
      yield* begin(events);
      yield event(messagesError(new Problem(529, 'Overloaded')));
    },
    pieces: function* (pieces) {
      yield* firstPieces(pieces);
      yield contentError(new Problem(503, 'The model is overloaded. Please try again later.'));
    },
  },
  'fault-no-end': {
    description: 'the stream ends without a finish reason or stop reason',
    commands: ['chat'],
    exitCode: 11,
    events: begin,
    pieces: firstPieces,
  },
  'fault-bad-event': {
    description: 'an event in the middle of the stream is not JSON',
    commands: ['chat'],
    exitCode: 9,
    events: function* (events) {
      yield* begin(events);
      const literal = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{oops\n\n';
      yield { ...event({ type: 'content_block_delta' }), literal };
      yield event({ type: 'message_stop' });
    },
    pieces: function* (pieces) {
      yield* firstPieces(pieces);
      yield '{"candidates":[{"content":{oops';
    },
  },
  'fault-no-message-stop': {
    description: 'the stream has its stop reason, but no message_stop',
    commands: ['chat'],
    exitCode: 0,
    events: function* (events) {
      for (const each of events) if (each.name !== 'message_stop') yield each;
    },
  },
  'fault-unknown-events': {
    description: 'events, blocks and deltas that nobody knows, between the good ones',
    commands: ['chat'],
    exitCode: 0,
    events: function* (events) {
      for (const each of events) {
        yield each;
        if (each.name === 'message_start') yield event({ type: 'offline_note', note: 'skip me' });
        if (each.name === 'content_block_start') yield unknownDelta(each);
      }
    },
  },
  'fault-odd-framing': {
    description: 'CRLF line ends, comments, no event names, and [DONE] at the end',
    commands: ['chat'],
    exitCode: 0,
    reply: (reply) =>
      reply.headers['content-type']?.startsWith('text/event-stream')
        ? { ...reply, body: oddFraming(reply.body) }
        : reply,
  },
};

function unknownDelta({ data }: StreamEvent): StreamEvent {
  return event({
    type: 'content_block_delta',
    index: data['index'] ?? 0,
    delta: { type: 'offline_delta', note: 'skip me' },
  });
}

/** The pieces up to the first few; the last of all, which has the finish reason, is not among them. */
function* firstPieces(pieces: Iterable<JsonObject>): Generator<JsonObject> {
  let count = 0;
  for (const piece of pieces) {
    if (piece['usageMetadata'] !== undefined || count++ === goodDeltas) return;
    yield piece;
  }
}

/** The events up to the first few deltas. */
function* begin(events: Iterable<StreamEvent>): Generator<StreamEvent> {
  let deltas = 0;
  for (const each of events) {
    if (each.name === 'content_block_stop' || each.name === 'message_delta') return;
    yield each;
    if (each.name === 'content_block_delta' && ++deltas === goodDeltas) return;
  }
}

async function* oddFraming(body: Reply['body']): AsyncGenerator<string> {
  yield ': OFFLINE PROCESSING\r\n\r\n';
  if (typeof body === 'string' || body instanceof Uint8Array) return;
  for await (const chunk of body)
    yield String(chunk)
      .replace(/^event: .*\n/, '')
      .replaceAll(/\r?\n/g, '\r\n');
  yield 'data: [DONE]\r\n\r\n';
}
