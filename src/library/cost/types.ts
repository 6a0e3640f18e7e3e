import type { Result } from '../client/result.ts';

/** A decimal number from 0, such as "0.30". */
type Decimal = string | number;

/** Amounts for a million tokens, by their kind, for one image and for one search. */
export interface Amounts {
  input?: Decimal;
  output?: Decimal;
  cached?: Decimal;
  cacheWrite?: Decimal;
  cacheWriteLong?: Decimal;
  thinking?: Decimal;
  imageInput?: Decimal;
  audioInput?: Decimal;
  cachedImage?: Decimal;
  cachedAudio?: Decimal;
  imageOutput?: Decimal;
  audioOutput?: Decimal;
  image?: Decimal;
  search?: Decimal;
}

/** A factor of all amounts, or amounts in their place. */
type TierPrice = Decimal | Amounts;

/** The price of a model. The settings define each of these keys for the config file. */
export interface Price extends Amounts {
  /** Amounts of a request whose prompt has more tokens. */
  tiers?: (Amounts & { above: number })[];
  batch?: TierPrice;
  flex?: TierPrice;
  priority?: TierPrice;
  /** The factor of fast mode, and of answers made in the United States. */
  fast?: Decimal;
  us?: Decimal;
  currency?: string;
  /** The first and the last day on which it counts: `2026-12-01`. */
  from?: string;
  until?: string;
}

/** Prices of models, by name or pattern; a list has prices of several times. */
export type Prices = Record<string, Price | Price[]>;

/** An amount of money: a decimal number without exponent, and a code such as USD. */
export interface Cost {
  amount: string;
  currency: string;
  /** The service told the cost; absent if it is computed by prices. */
  told?: true;
}

/** The cost of many requests. */
export interface Spending {
  /** The costs by currency. */
  costs: readonly Cost[];
  /** Requests that may have been billed, with an unknown cost. */
  unknown: number;
  /** The most that those requests can cost, which counts against a limit. */
  held: string;
  /** The highest cost of one request. */
  dearest: string;
}

/** The cost of a request before its reply. */
export interface Bound {
  amount: string;
  /** Whether the amount is the most that the request can cost. Otherwise its number of tokens is unknown before the reply. */
  isMost: boolean;
}

/** The cost of requests: the known costs by currency, and the number of requests that may have been billed at an unknown cost. */
export type Spent = Pick<Spending, 'costs' | 'unknown'>;

/** A part of the budget that is reserved for one request. It ends once. */
interface Reservation {
  /** The request was answered, or may have been. An unknown cost counts with the reserved amount. */
  spend(cost: Cost | undefined): void;
  /** The request was not sent, or not billed. */
  free(): void;
}

/** A limit of costs. Requests in flight count with the most that they can cost. */
export interface Budget {
  /**
   * Reserves the most that a request can cost; waits if requests in flight have reserved the rest. Undefined if the request could
   * exceed the budget whatever the others cost. Rejects with the signal's reason.
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
