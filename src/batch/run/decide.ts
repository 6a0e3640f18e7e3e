import type { Batch, BatchPolicy, JobState } from '../types.ts';
import { keepEarlier } from '../folder/state.ts';

/** Whether a job is sent or left, or the run stops because it was edited. */
export type Decision = 'run' | 'skip' | 'changed';

/** What is known about a job when a run begins. */
interface KnownJob {
  state: JobState;
  /** It is done, though its answer may not be whole. */
  incomplete: boolean;
  /** The request is the one that the journal knows. */
  same: boolean;
  /** A batch of the service holds it. */
  atService: boolean;
  /** It is sent again whatever became of it. */
  isRedone: boolean;
}

/** The one place that decides whether a job is paid for again: it is sent or left, or the run stops because it was edited. */
export function decide({ state, incomplete, same, atService, isRedone }: KnownJob, policy: BatchPolicy): Decision {
  if (atService) return same || policy.acceptChanges ? 'skip' : 'changed';
  if (state === 'new' || isRedone) return 'run';
  // A higher token limit changes every job; jobs with whole answers are not sent again.
  if (state === 'done' && policy.retryIncomplete) return incomplete ? 'run' : 'skip';
  // A failed job is edited to be sent again.
  if (state === 'failed' && policy.retryFailed) return 'run';
  if (!same) return policy.acceptChanges ? 'run' : 'changed';
  if (state === 'sent' || state === 'unknown') return policy.retryUnknown ? 'run' : 'skip';
  return 'skip';
}

/** Decides whether a job is sent, and counts it then. The index has its request from then on. */
export function decideOn(
  row: number,
  digest: string,
  { plan, policy, state }: Pick<Batch, 'plan' | 'policy' | 'state'>,
  { isRedone = false, isStale = false, isHeld = false } = {},
): Decision {
  const { index } = state;
  const known = index.stateOf(row);
  const same = index.digestOf(row) === digest && !isStale;
  const atService = index.has(row, 'atService');
  const incomplete = index.has(row, 'incomplete');
  const decision = decide({ state: known, incomplete, same, atService, isRedone }, policy);
  if (decision === 'skip' && atService && !same) plan.editedAtService.add(row);
  if (decision !== 'run') return decision;
  if (isHeld || (policy.limit !== undefined && plan.toSend >= policy.limit)) {
    if (known === 'new') plan.left++;
    else plan.leftAgain++;
    return 'skip';
  }
  plan.toSend++;
  if (known !== 'new') plan.again++;
  keepEarlier(row, state);
  // The state of the old version says nothing about the edited job.
  if (index.digestOf(row) !== digest) index.setState(row, 'new');
  index.setDigest(row, digest);
  return decision;
}
