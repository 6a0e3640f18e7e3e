import type { Bound, Spending } from '../../cost/types.ts';
import type { AuthUse, FormatName } from '../../formats/types.ts';

/**
 * A record of a part: the jobs that one batch of the service holds. `planned`: what they have in common; records `ready` of its
 * jobs follow. `creating`: from here on the batch may exist. `dropped`: it certainly does not. `lost`: the service cannot say. `ended`: all of
 * its results are recorded.
 */
export interface PartRecord {
  type: 'part';
  mark: string;
  step: 'planned' | 'creating' | 'created' | 'dropped' | 'lost' | 'ended';
  at: number;
  /** Of `planned`. */
  plan?: PartPlan | undefined;
  /** Of `created`: its id at the service, and how long it has from its creation on, in ms. */
  batch?: string | undefined;
  lastsMs?: number | undefined;
}

/** What a part was cut of. */
export interface PartPlan {
  /** The profile of its jobs, and where they go. */
  profile: string;
  origin: string;
  format: FormatName;
  use: AuthUse;
  model: string;
  /** The newest batch of the service before it, where batches have no names. */
  after?: string | undefined;
  /** The file of the budget that it is paid from. */
  budget?: string | undefined;
  /** Digest of the key that it is submitted with, and of its mark. */
  key?: string | undefined;
}

/** A part as it is known. */
export interface Part {
  mark: string;
  step: PartRecord['step'];
  plan: PartPlan;
  /** The rows of its jobs. */
  rows: number[];
  /** While it is planned, the hashes of their requests; from `creating` to `created`, those that the jobs had before. */
  requests: string[];
  /** What each of its jobs can cost, where its model has a price. */
  bounds: (Bound | undefined)[];
  /** What those of its jobs cost that have ended, and how many of them were billed or may have been; counted for its budget alone. */
  paid: { spending: Spending; requests: number };
  /** Wall clock of its creation, ms since 1970. */
  at: number;
  batch: string | undefined;
  lastsMs: number | undefined;
}
