import type { Result } from '../client/index.ts';

/** An amount of money: a decimal number without exponent, and a code such as USD. */
export interface Cost {
  amount: string;
  currency: string;
  /** The service said it; absent where it is computed by prices. */
  told?: true;
}

/** What many requests cost. */
export interface Spending {
  /** By currency. */
  costs: readonly Cost[];
  /** Requests that may have been billed, with an unknown cost. */
  unknown: number;
  /** The amount that those can cost, which counts against a limit. */
  held: string;
  /** The highest cost of one request. */
  dearest: string;
}

/** The cost of a request before its reply. */
export interface Bound {
  amount: string;
  /** Whether it cannot cost more. Otherwise its number of tokens is unknown before the reply. */
  isMost: boolean;
}

/** What requests cost: the known costs, by currency, and how many may have been billed at an unknown one. */
export type Spent = Pick<Spending, 'costs' | 'unknown'>;

/** A part of the budget that is reserved for one request. */
export interface Reservation {
  /** The request was answered. An unknown cost counts with the reserved amount, and so does each of `doubtful` attempts before it. */
  spend(cost: Cost | undefined, doubtful?: number): void;
  /** The request was not sent, or not billed. */
  free(): void;
  /**
   * Another request follows for the same answer; false if both could exceed the budget. `known`: what those before it cost. Waits for
   * no other.
   */
  grow(more: Bound, known?: KnownCosts): boolean;
  /** The last request may have been billed, and is sent again; false if both could exceed the budget. Waits for no other. */
  repeat(): boolean;
}

/** What several requests cost together, and the dearest of them. */
export interface KnownCosts {
  amount: string;
  dearest: string;
}

/** A limit of costs. Requests in flight count with the amount that they can cost. */
export interface Budget {
  /**
   * Reserves the amount that a request can cost; waits if requests in flight have reserved it. Undefined if the request could
   * exceed the budget whatever those cost. Rejects with the signal's reason.
   */
  reserve(bound: Bound, signal?: AbortSignal): Promise<Reservation | undefined>;
  /** The spent amount; an unknown cost counts with the reserved amount. */
  readonly spent: string;
}

/** An answer, and its error if it was cut. */
export interface MeteredAnswer {
  result: Pick<
    Result,
    'model' | 'modelVersion' | 'serviceTier' | 'usage' | 'otherUsage' | 'stopReason' | 'toldCost'
  > & {
    images: readonly unknown[];
  };
  error: unknown;
  /** The requests of an answer that took several. */
  hops?: readonly (MeteredAnswer & { isFree: boolean })[];
}
