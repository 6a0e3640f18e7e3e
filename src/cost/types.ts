import type { Result } from '../client/result.ts';

/** An amount of money: a decimal number without exponent, and a code such as USD. */
export interface Cost {
  amount: string;
  currency: string;
}

/** What many requests cost. */
export interface Spending {
  /** By currency. */
  costs: readonly Cost[];
  /** Requests that may have been billed, and whose cost is not known. */
  unknown: number;
  /** What those count with against a limit: what each could cost. */
  held: string;
  /** The greatest amount that one of them cost. */
  dearest: string;
}

/** What a request can cost. */
export interface Bound {
  /** It can cost this much. */
  amount: string;
  /** And no more. Else nobody knows its tokens before it is answered. */
  isMost: boolean;
}

/** Adds up what the requests of a command cost. */
export interface Meter {
  /** A request was answered. Returns what it cost, where that is known. */
  count(answer: MeteredAnswer): Cost | undefined;
  /** A request has no answer, and may have been billed. */
  lose(): void;
  /** What is known, by currency. */
  readonly costs: readonly Cost[];
  /** Requests whose cost is not known. */
  readonly unknown: number;
  /** What all requests cost together; undefined where that is not known, or where they have several currencies. */
  readonly total: Cost | undefined;
}

/** Room for one request within a budget. */
export interface Reservation {
  /** It was answered: what it cost, or undefined where nobody knows. Then it counts with what it could cost. */
  spend(cost: Cost | undefined): void;
  /** It did not go out, or was not billed. */
  free(): void;
}

/** What may be spent. Requests under way count with what they can cost. */
export interface Budget {
  /**
   * Takes room for a request, and waits where those under way have it. Undefined where the request could pass the budget
   * whatever they cost. Rejects with the signal's reason.
   */
  reserve(bound: Bound, signal?: AbortSignal): Promise<Reservation | undefined>;
  /** The amount that is spent; of what nobody knows the cost of, what it could cost. */
  readonly spent: string;
}

/** An answer, and the error that goes with it where it was cut. */
export interface MeteredAnswer {
  result: Pick<Result, 'model' | 'modelVersion' | 'serviceTier' | 'usage' | 'stopReason'> & {
    images: readonly unknown[];
    /** Told why the cost is unknown although the requested model has a price. */
    warnings?: string[];
  };
  error: unknown;
}
