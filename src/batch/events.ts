import type { BatchInfo, GatewayError, LockOwner, Spending, Usage } from '../library/index.ts';
import type { ProviderBatch } from './lane/provider-batches.ts';

/** Counts and sums of a run so far. */
export interface RunProgress {
  ended: number;
  failed: number;
  /** ms until a pause that the service asked for is over. */
  pausedMs: number;
  /** Usage and spending of all runs together. */
  usage: Usage;
  spending: Spending;
}

/** An event of a run, for its host. */
export type BatchEvent =
  /** The folder was locked by a run that is dead. */
  | { type: 'took-over'; owner: LockOwner }
  /** Replies that an earlier run could not write are in the results now. */
  | { type: 'replies-added'; jobs: number }
  | { type: 'sending'; jobs: number; progress: () => RunProgress }
  /** No job is in flight any more. */
  | { type: 'sent-all' }
  /** A signal came: jobs in flight have `graceMs` to end. */
  | { type: 'stopping'; inFlight: () => number; graceMs: number }
  /** A reply that could not be written is in a recovery file, which the hint of the error names. */
  | { type: 'reply-kept'; error: GatewayError }
  /** The request of a job went out, and its result is not on the disk. Told from the second such job on, as the first one ends the run. */
  | { type: 'result-lost'; id: string; error: GatewayError }
  /** The file of a budget is not on this machine, or was removed: the cost of a provider batch is not in it. */
  | { type: 'budget-not-here'; path: string }
  | { type: 'budget-unwritten'; path: string; error: unknown }
  /** Some jobs have a cost without a bound. */
  | { type: 'unbounded'; jobs: number }
  | { type: 'submitted'; jobs: number; batch: string }
  /** The creation of a provider batch was not answered. */
  | { type: 'creation-unanswered' }
  /** Jobs of a provider batch that the service does not list are sent again, at the user's word. */
  | { type: 'sent-again'; jobs: number; names: string }
  /** Jobs are left at the service, in provider batches that are known to be there or may be. */
  | { type: 'left-at-service'; jobs: number; isCreated: boolean; isWaitedFor: boolean }
  | { type: 'polling'; batches: () => readonly ProviderBatch[] }
  | { type: 'polled'; mark: string; info: BatchInfo }
  /** All provider batches were polled, and the next poll is not due yet. */
  | { type: 'polled-all' }
  | { type: 'polling-ended' }
  /** A provider batch cannot be polled with this API key, or for now. */
  | { type: 'poll-failed'; error: GatewayError }
  | { type: 'not-found'; what: string }
  /** A provider batch was not found for so long that its jobs are unknown now. */
  | { type: 'given-up'; what: string }
  /** The service sent results of no job of their provider batch, or results that came twice. */
  | { type: 'unmatched-results'; unknown: number; doubled: number };
