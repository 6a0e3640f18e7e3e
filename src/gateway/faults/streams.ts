import type { StreamEvent, GatewayReply } from '../types.ts';
import { Problem } from '../problem.ts';
import type { FaultTable } from './table.ts';

/** Deltas that come before a stream goes wrong. */
const goodDeltas = 5;

/** Faults of streams, and streams that are only unusual. */
export const streamFaults: FaultTable = {
  'fault-error-event': {
    before: ({ stream }) => {
      if (!stream) throw new Problem(529, 'Overloaded');
    },
    events: function* (events, { failure }) {
      yield* takeFirstEvents(events);
      yield failure;
    },
  },
  'fault-no-end': {
    events: takeFirstEvents,
  },
  'fault-bad-event': {
    events: function* (events, { broken }) {
      const all = [...events];
      yield* takeFirstEvents(all);
      yield broken;
      yield* all.filter(({ step }) => step === 'done');
    },
  },
  'fault-no-message-stop': {
    events: function* (events) {
      for (const event of events) if (event.step !== 'done') yield event;
    },
  },
  'fault-unknown-events': {
    events: function* (events, { unknownAfter }) {
      for (const event of events) {
        yield event;
        yield* unknownAfter?.(event) ?? [];
      }
    },
  },
  'fault-odd-framing': {
    reply: (reply) =>
      reply.headers['content-type']?.startsWith('text/event-stream')
        ? { ...reply, body: oddFraming(reply.body) }
        : reply,
  },
};

/** The events up to the first few deltas. */
function* takeFirstEvents(events: Iterable<StreamEvent>): Generator<StreamEvent> {
  let deltas = 0;
  for (const event of events) {
    if (event.step === 'end') return;
    yield event;
    if (event.step === 'delta' && ++deltas === goodDeltas) return;
  }
}

async function* oddFraming(body: GatewayReply['body']): AsyncGenerator<string> {
  yield ': OFFLINE PROCESSING\r\n\r\n';
  for await (const chunk of body)
    yield String(chunk)
      .replaceAll(/^(?:event: .*|data: \[DONE\]\n)\n/gm, '')
      .replaceAll(/\r?\n/g, '\r\n');
  yield 'data: [DONE]\r\n\r\n';
}
