import type { Result } from '../client/result.ts';

/** An amount of money: a decimal number without exponent, and a code such as USD. */
export interface Cost {
  amount: string;
  currency: string;
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
  /** A request was answered. */
  count(answer: MeteredAnswer): void;
  /** A request has no answer, and may have been billed. */
  lose(): void;
  /** What is known, by currency. */
  readonly costs: readonly Cost[];
  /** Requests whose cost is not known. */
  readonly unknown: number;
  /** What all requests cost together; undefined where that is not known, or where they have several currencies. */
  readonly total: Cost | undefined;
}

/** An answer, and the error that goes with it where it was cut. */
export interface MeteredAnswer {
  result: Pick<Result, 'model' | 'usage' | 'images' | 'stopReason'>;
  error: unknown;
}
