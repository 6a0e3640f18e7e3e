import type { Lock } from '../folder/lock.ts';
import type { BatchState } from '../folder/state.ts';
import type { JobRecord, Shard, Step } from '../types.ts';
import type { LeaseTimes } from '../../files/lease.ts';
import type { BatchPlan, ResumeFlags } from './plan.ts';
import type { RequestBuilder } from '../jobs/request.ts';
import type { JobSource, SourceFlags } from '../jobs/source.ts';
import type { Context } from '../../cli/context.ts';
import type { ConnectionFlags } from '../../cli/run/settings.ts';

/** Flags of `batch run`, as they were typed. */
export type BatchFlags = ConnectionFlags &
  SourceFlags &
  ResumeFlags & {
    output?: string;
    concurrency?: number;
    rate?: number;
    rateGroup?: string;
    shard?: string;
    failFast?: true;
    maxFailures?: number;
    maxTokensTotal?: number;
    maxCost?: string;
    ordered?: true;
    stream?: true;
    maxImages?: number;
    strict?: true;
    requireComplete?: true;
    requireModel?: true;
    dryRun?: true;
    estimate?: true;
    /** False by `--no-wait`. */
    wait?: boolean;
    poll?: number;
  };

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
