import type { Lock } from '../folder/lock.ts';
import type { BatchState } from '../folder/state.ts';
import type { JobRecord, Shard, Step } from '../types.ts';
import type { LeaseTimes } from '../../files/lease.ts';
import type { BatchPlan } from './plan.ts';
import type { RequestBuilder } from '../jobs/request.ts';
import type { JobSource } from '../jobs/source.ts';
import type { Context } from '../../cli/context.ts';
import type { BatchFlags } from '../flags.ts';

/** Reachable from tests only. */
export interface BatchHooks {
  step?: Step | undefined;
  /** Instead of the ten seconds that jobs under way have after a signal. */
  graceMs?: number | undefined;
  /** Instead of the minute after which another machine may take over. */
  lease?: LeaseTimes | undefined;
  /** Instead of the minute after which a batch that the service does not list does not exist. */
  settleMs?: number | undefined;
}

/** Everything that a run works with, once its jobs are checked. */
export interface Batch {
  flags: BatchFlags;
  context: Context;
  source: JobSource;
  builder: RequestBuilder;
  outdir: string;
  lock: Lock;
  shard: Shard | undefined;
  state: BatchState;
  lostEnds: readonly JobRecord[];
  plan: BatchPlan;
  /** Monotonic clock at the start, in ms. */
  startedAt: number;
}
