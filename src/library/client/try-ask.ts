import { GatewayError } from '../errors.ts';
import type { StreamDelta } from '../formats/events.ts';
import type { GatewayClient } from './gateway-client.ts';
import { drainDeltas } from './deltas.ts';
import type { AskOptions, Performed, PreparedRequest } from './ask.ts';

/** The result of asking a model: made when that has ended, and never changed. It has an answer or a failure. */
export interface Asked {
  readonly answer?: Omit<Performed, 'request' | 'attempts' | 'isRecorded'> | undefined;
  /** The reason why there is no answer: a failure of the service, a signal or a bug. */
  readonly failure?: unknown;
  /** The number of requests that were sent. */
  readonly attempts: number;
  /** A recording answered. */
  readonly isRecorded: boolean;
  /** One of its requests was sent and may have been billed. */
  readonly mayBeBilled: boolean;
  /** The number of requests that may have been billed, and were sent again. */
  readonly doubtful: number;
}

/** Reads the deltas of an answer while they come. */
export type ReadDeltas = (deltas: AsyncGenerator<StreamDelta[], Performed>) => Promise<Performed>;

/** Asks once: sends, pays and reads, and returns the result. Never throws: a failure of the reader is one, too. */
export async function tryAsk(
  client: Pick<GatewayClient, 'ask' | 'onEvent'>,
  request: PreparedRequest,
  options: AskOptions & { read?: ReadDeltas | undefined },
): Promise<Asked> {
  const { read = drainDeltas, onEvent = client.onEvent } = options;
  let [attempts, doubtful] = [0, 0];
  let [isRecorded, mayBeBilled, mayEarlierBeBilled] = [false, false, false];
  const followed: AskOptions = {
    ...options,
    onEvent(event) {
      if (event.type === 'sent') mayBeBilled = true;
      if (event.type === 'answered') {
        ({ attempts } = event);
        isRecorded ||= event.isRecorded;
        // A request that goes on with this answer does not change that it may be billed.
        mayEarlierBeBilled ||= !event.isRecorded;
      }
      if (event.type === 'retry' || event.type === 'resent') {
        // An attempt that cost nothing does not change that an earlier one may have been billed.
        mayEarlierBeBilled ||= event.error.billed !== 'no';
        mayBeBilled = mayEarlierBeBilled;
        if (event.error.lastBilled !== 'no') doubtful++;
      }
      return onEvent?.(event);
    },
  };
  try {
    const answer = await read(client.ask(request, followed));
    return { answer, attempts: answer.attempts, isRecorded: answer.isRecorded, mayBeBilled, doubtful };
  } catch (failure) {
    const { details } = failure instanceof GatewayError ? failure : {};
    attempts = Math.max(attempts, details?.attempts ?? 0);
    return { failure, attempts, isRecorded, mayBeBilled, doubtful };
  }
}
