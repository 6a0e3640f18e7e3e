import type { GatewayError } from '../errors.ts';
import type { StreamDelta } from '../formats/events.ts';
import type { Performed } from './send.ts';

/** How a request that is paid from a budget ended: answered, or with an error; neither if its reader left. */
export interface PaidEnd {
  answer?: Performed;
  error?: unknown;
}

/** One request that is paid from a budget. */
export interface Payment {
  /** Reserves what it can cost, once; awaited right before the request is sent. Throws GatewayError batch-failed if that is too much. */
  reserve(signal: AbortSignal): Promise<void>;
  /** An attempt failed, and another one follows. */
  retry(error: GatewayError): void;
  /** Writes down what it cost, once. A failure is a warning: the request counts with what was reserved. */
  end(end: PaidEnd): Promise<void>;
  /** It is not sent after all. Does nothing after `end`. */
  cancel(): Promise<void>;
}

/** Passes deltas on, and writes down what came of the request. */
export async function* endPayment(
  payment: Payment,
  deltas: AsyncGenerator<StreamDelta[], Performed>,
): AsyncGenerator<StreamDelta[], Performed> {
  let end: PaidEnd = {};
  try {
    const answer = yield* deltas;
    end = { answer };
    return answer;
  } catch (error) {
    end = { error };
    throw error;
  } finally {
    await payment.end(end);
  }
}
