import { longestTimerMs } from '../clock.ts';

/** What the user allows. */
export interface RetryPolicy {
  /** Further attempts after the first one. */
  retries: number;
  /** Longest time spent waiting, all waits together. */
  maxWaitMs: number;
  /** Repeat only what surely was not billed (`--retry-safe-only`). */
  safeOnly: boolean;
}

export const defaultRetryPolicy: Readonly<RetryPolicy> = { retries: 2, maxWaitMs: 60_000, safeOnly: false };

/** How an attempt failed, as far as repeating it is concerned. */
export type Outcome =
  | { kind: 'not-sent'; retryable: boolean }
  | {
      kind: 'reply';
      status: number;
      headers: Readonly<Record<string, string>>;
      /** RetryInfo of the body in ms. */
      bodyHintMs?: number | undefined;
      /** The body says that money or the day's quota is used up. */
      quotaSpent?: boolean | undefined;
    }
  /** Sent without a reply, or a reply that began and broke: never repeated. */
  | { kind: 'final' };

/** Everything a decision depends on. */
export interface RetryQuestion {
  /** Number of the attempt that failed, from 1. */
  attempt: number;
  /** Time spent waiting so far, in ms. */
  spentMs: number;
  outcome: Outcome;
  policy: RetryPolicy;
  /** Wall clock in ms. */
  now: number;
  /** 0 ≤ x < 1 */
  random: number;
}

/** Wait so long and try again, or give up; `overBudget` when only the length of the gateway's hint forbids it. */
export type RetryDecision =
  | { retry: true; waitMs: number }
  | { retry: false; retryAfterMs?: number | undefined; overBudget?: true };

const safeStatuses = new Set([429, 503, 529]);
/** A reply came, but the work may have been done and billed. */
const doubtfulStatuses = new Set([408, 500, 502, 504]);

/** Decides whether and when a failed attempt is repeated. */
export function decideRetry({ attempt, spentMs, outcome, policy, now, random }: RetryQuestion): RetryDecision {
  const hint =
    outcome.kind === 'reply' ? retryHintMs(outcome.headers, { now, bodyHintMs: outcome.bodyHintMs }) : undefined;
  if (attempt > policy.retries || !isRetryable(outcome, policy.safeOnly)) return { retry: false, retryAfterMs: hint };
  const left = policy.maxWaitMs - spentMs;
  if (hint !== undefined && hint > left) return { retry: false, retryAfterMs: hint, overBudget: true };
  const waitMs = retryDelay(attempt, hint, random);
  if (waitMs <= left) return { retry: true, waitMs };
  return hint === undefined ? { retry: false } : { retry: true, waitMs: left };
}

/** ms to wait after failed attempt number `attempt`: half of the backoff is random, a hint is a minimum and up to 10 % longer. */
export function retryDelay(attempt: number, hintMs: number | undefined, random: number): number {
  const backoff = Math.min(30_000, 1000 * 2 ** (attempt - 1));
  const wait = backoff / 2 + (random * backoff) / 2;
  return Math.ceil(Math.max(wait, (hintMs ?? 0) * (1 + random / 10)));
}

function isRetryable(outcome: Outcome, safeOnly: boolean): boolean {
  if (outcome.kind === 'final') return false;
  if (outcome.kind === 'not-sent') return outcome.retryable;
  const { status, headers, quotaSpent = false } = outcome;
  if (quotaSpent) return false;
  if (safeOnly && !safeStatuses.has(status) && (status >= 500 || status === 408)) return false;
  const wish = headers['x-should-retry']?.trim().toLowerCase();
  if (wish === 'true' || wish === 'false') return wish === 'true';
  return safeStatuses.has(status) || doubtfulStatuses.has(status);
}

interface HintOptions {
  /** Wall clock in ms, used where the reply has no Date. */
  now: number;
  /** RetryInfo of the body in ms, where it had one. */
  bodyHintMs?: number | undefined;
}

/** How long the gateway wants us to wait, in ms: retry-after-ms, retry-after, then the body's RetryInfo. Nonsense is ignored. */
export function retryHintMs(
  headers: Readonly<Record<string, string>>,
  { now, bodyHintMs }: HintOptions,
): number | undefined {
  return (
    clamped(decimal(headers['retry-after-ms'])) ??
    clamped(retryAfterMs(headers, now)) ??
    clamped(bodyHintMs === undefined ? undefined : Math.ceil(bodyHintMs))
  );
}

function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const text = headers['retry-after'];
  const seconds = decimal(text);
  if (seconds !== undefined) return seconds * 1000;
  const until = httpDate(text);
  // The clocks of both machines may differ by days: the reply's own Date is the one that counts.
  return until === undefined ? undefined : Math.max(0, until - (httpDate(headers['date']) ?? now));
}

function decimal(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}

/** `Date.parse` takes almost anything for a date; an HTTP-date begins with the name of a day. */
function httpDate(text: string | undefined): number | undefined {
  if (text === undefined || !/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

function clamped(ms: number | undefined): number | undefined {
  if (ms === undefined || Number.isNaN(ms) || ms < 0) return undefined;
  return Math.min(Math.ceil(ms), longestTimerMs);
}
