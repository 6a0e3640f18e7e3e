import { GatewayError } from '../errors.ts';
import type { Signal } from './client-types.ts';
import type { Performed, PreparedRequest } from './ask.ts';

/** The payments for the requests of a client. */
export interface Payments {
  /** The payment for one request; undefined if the request costs nothing. */
  open(request: PayableRequest): Payment | undefined;
  /** The reason that requests to a model cannot be paid for; undefined if they can. */
  refuse?(model: string): GatewayError | undefined;
}

/** The parts of a request that decide its cost: the model, the one that may answer in its place, format and body. */
export type PayableRequest = Pick<PreparedRequest, 'model' | 'fallback'> & {
  post: Pick<PreparedRequest['post'], 'format' | 'body'>;
};

/** One request that is paid for. */
export interface Payment {
  /**
   * Reserves the most that the request can cost, once; awaited right before the request is sent. Throws GatewayError over-budget
   * if that is too much.
   */
  reserve(signal: Signal): Promise<void>;
  /** An attempt failed, and another one follows. */
  retry(error: GatewayError): void;
  /** Writes down the cost, once. A failure to write is a warning: the reserved amount then counts. */
  end(end: PaidEnd, signal?: Signal): Promise<void>;
  /** Cancels the payment of a request that is not sent. Does nothing after `end`. */
  cancel(): Promise<void>;
}

/** The end of a request that is paid for: with an answer or an error; with neither if its reader stopped. */
export interface PaidEnd {
  answer?: PaidAnswer;
  error?: unknown;
}

/** An answer, and the facts that decide its cost. */
export type PaidAnswer = Omit<Performed, 'request'>;

/** The money that requests are paid from: a budget that runs share, or the limit of one run. */
export interface Fund {
  /** Reserves the most that a request can cost. `isAgain`: an attempt before may have been billed. Throws GatewayError over-budget. */
  reserve(request: PayableRequest, signal: Signal, isAgain: boolean): Promise<ReservedAmount>;
  /** Records an answer for which nothing was reserved, as a recording had it. */
  record?(request: PayableRequest, answer: PaidAnswer): Promise<void>;
}

/** An amount that is reserved for one request. It ends once. */
interface ReservedAmount {
  /** Spends the cost that the answer tells; the reserved amount counts if the cost is unknown. */
  spend(answer?: PaidAnswer, signal?: Signal): Promise<void>;
  free(signal?: Signal): Promise<void>;
}

/** Pays for one request from a fund. */
export function payFrom(fund: Fund, request: PayableRequest): Payment {
  let reserved: ReservedAmount | undefined;
  let isDoubtful = false;
  const take = (): { taken: ReservedAmount | undefined; wasDoubtful: boolean } => {
    const now = { taken: reserved, wasDoubtful: isDoubtful };
    [reserved, isDoubtful] = [undefined, false];
    return now;
  };
  return {
    async reserve(signal) {
      if (reserved !== undefined && !isDoubtful) return;
      // The attempt before may have been billed, and this one is paid for too.
      const { taken } = take();
      await taken?.spend();
      reserved = await fund.reserve(request, signal, taken !== undefined);
    },
    retry(error) {
      isDoubtful ||= error.lastBilled !== 'no';
    },
    async end({ answer, error }, signal) {
      const { taken, wasDoubtful } = take();
      if (taken === undefined) return answer && fund.record?.(request, answer);
      const isUnbilled =
        answer === undefined && !wasDoubtful && error instanceof GatewayError && error.lastBilled === 'no';
      const isFree = isUnbilled || answer?.isRecorded === true;
      return isFree ? taken.free(signal) : taken.spend(answer, signal);
    },
    async cancel() {
      await take().taken?.free();
    },
  };
}

/** Pays for each request from all of these: if one of them refuses, none pays. */
export function joinPayments(all: readonly (Payments | undefined)[]): Payments | undefined {
  const payments = all.filter((one) => one !== undefined);
  if (payments.length < 2) return payments[0];
  return {
    open: (request) => joinPayment(payments.flatMap((one) => one.open(request) ?? [])),
    refuse: (model) => payments.map((one) => one.refuse?.(model)).find((error) => error !== undefined),
  };
}

/** One payment of several. An end without an answer gives back what some reserved before another one refused. */
export function joinPayment(payments: readonly Payment[]): Payment | undefined {
  if (payments.length < 2) return payments[0];
  return {
    async reserve(signal) {
      for (const payment of payments) await payment.reserve(signal);
    },
    retry(error) {
      for (const payment of payments) payment.retry(error);
    },
    async end(end, signal) {
      for (const payment of payments) await payment.end(end, signal);
    },
    async cancel() {
      for (const payment of payments) await payment.cancel();
    },
  };
}
