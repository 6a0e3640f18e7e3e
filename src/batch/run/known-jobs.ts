import type { Job, PreparedJob } from '../types.ts';
import { GatewayError } from '../../errors.ts';
import { isUnsure, keepEarlier } from '../folder/state.ts';
import { decide, decideOn } from './decide.ts';
import { addStray } from './moves.ts';
import type { EnteredJob, Planning, PlannedJob } from './plan.ts';

/** At most this many ids of edited jobs are listed. */
const maxNamed = 5;

/** The edited jobs that are not sent, for which a run ends before it sends any, and what all of them have in common. */
export interface ChangedJobs {
  /** The first of them, and how many there are. */
  ids: string[];
  jobs: number;
  /** All failed before; or all have an answer. */
  areFailed: boolean;
  areDone: boolean;
  /** Nothing of them was edited: they used a result that is older than that of now. */
  areStale: boolean;
  /** Of how many the last line break of a text is all that was edited, and of which text. */
  byLineBreak: number;
  lineBreakOf: string | undefined;
}

/** What is true of all jobs where there is none yet. */
export function noChangedJobs(): ChangedJobs {
  const isOfAll = { areFailed: true, areDone: true, areStale: true };
  return { ids: [], jobs: 0, ...isOfAll, byLineBreak: 0, lineBreakOf: undefined };
}

/** Whether a job is built from the same as before, and is not sent: its request need not be built to know that, nor its result be read. */
export function isLeftAsBuilt(
  row: number,
  basis: string,
  isRedone: boolean,
  { policy, state: { index } }: Pick<Planning, 'policy' | 'state'>,
): boolean {
  if (!index.hasBasis(row, basis) || index.has(row, 'atService') || index.isRenamed(row)) return false;
  const [state, incomplete] = [index.stateOf(row), index.has(row, 'incomplete')];
  return decide({ state, incomplete, same: true, atService: false, isRedone }, policy) === 'skip';
}

/** A job that the folder may know, by this id or another one, or that uses results of others. */
interface JobOfFolder extends EnteredJob {
  prepared: PreparedJob;
  parents: readonly Job[];
}

/** Decides on such a job, and writes down what was changed of it. */
export async function judgeJob(
  { job, row, prepared, known, parents, isRedone }: JobOfFolder,
  planning: Planning,
): Promise<Pick<PlannedJob, 'decision' | 'edited'>> {
  const { plan, policy, state } = planning;
  const { index } = state;
  const { digest, basis } = prepared;
  const isSame = index.digestOf(row) === digest;
  if (!known || !isSame) addStray(job, digest, planning);
  if (known && job.isNumbered) planning.hasOther ||= !isSame;

  const isStale = parents.length > 0 && (await usesOlderResult(job, row, planning));
  if (!isSame && index.stateOf(row) === 'done') plan.edited++;
  const isEdited = index.stateOf(row) !== 'new' && (isStale || !isSame);
  const mayBeBilled = state.failures.get(job.id)?.billed !== 'no';
  const edited = isEdited ? { mayBeBilled, isSame } : undefined;
  const isHeld = policy.limit !== undefined && !(await areUsable(parents, planning, isRedone));
  const { leftAgain } = plan;
  const decision = decideOn(row, digest, planning, { isRedone, isStale, isHeld });
  const isLeftByLimit = plan.leftAgain > leftAgain;
  if (isSame && basis !== undefined && !index.hasBasis(row, basis)) {
    index.setFlag(row, 'newBasis');
    plan.hasNewBasis = true;
  }
  if (isSame) index.setBasis(row, basis);
  if (edited && decision !== 'run') plan.leftEdited.add(row);
  // What a limit leaves is still to be made again, by a run that goes on with it.
  if (isSame && isStale && (decision === 'run' || isLeftByLimit)) plan.redone.add(row);
  // A limit leaves it: it is not among those whose changes have to be accepted.
  if (isRedone && isSame && isStale && decision === 'skip') planning.keeping.add(job.id);
  if (decision === 'changed') await addChanged(job, row, isSame, planning);
  return { decision, edited: isRedone && isSame ? undefined : edited };
}

async function addChanged(job: Job, row: number, isSame: boolean, planning: Planning): Promise<void> {
  const { changed, plan, state } = planning;
  const { index } = state;
  if (changed.jobs++ < maxNamed) changed.ids.push(job.id);
  changed.areFailed &&= index.stateOf(row) === 'failed';
  changed.areDone &&= index.stateOf(row) === 'done' && !index.has(row, 'atService');
  changed.areStale &&= isSame;
  if (isSame) planning.keeping.add(job.id);
  // To find out takes two further requests: it is not done for all where the first of them were edited otherwise.
  if (changed.byLineBreak === 0 && changed.jobs > 20) return;
  const earlier = { digest: index.digestOf(row), origin: plan.origin };
  const lineBreakOf = await planning.findLineBreak(job, earlier);
  if (lineBreakOf !== undefined) changed.byLineBreak++;
  changed.lineBreakOf ??= lineBreakOf;
}

/**
 * Whether a job that was sent used a result that another one has replaced since, or that this run replaces. It is found out once for
 * each: many can use one result, and once a job is to be sent again its state does not say so any more.
 */
function usesOlderResult(job: Job, row: number, planning: Planning): Promise<boolean> {
  const found = planning.older.get(row) ?? findOlderResult(job, row, planning);
  planning.older.set(row, found);
  return found;
}

async function findOlderResult(job: Job, row: number, planning: Planning): Promise<boolean> {
  const { jobs, state } = planning;
  const { index } = state;
  if (row < 0 || (index.stateOf(row) === 'new' && !index.has(row, 'atService'))) return false;
  for (const parent of job.names ? await jobs.links().parentsOf(job) : []) {
    const at = index.find(parent.id);
    // While it is unknown what became of a newer request, the earlier answer is the result.
    const sequence = state.earlier.get(at)?.sequence ?? index.sequenceOf(at);
    const isOlder = isMadeAgain(parent, at, planning) || sequence > index.sequenceOf(row);
    if (isOlder || (await usesOlderResult(parent, at, planning))) return true;
  }
  return false;
}

/**
 * Marks a job that is named to be made again. Where an earlier run sent it for that and has no answer, it is unknown again: what uses it
 * is not made again of its earlier answer, which a newer one may replace.
 */
export function markNamed({ id }: Job, row: number, { plan, redo, state }: Planning): void {
  plan.redone.add(row);
  const { index } = state;
  if (!redo?.goesOn || index.stateOf(row) !== 'done' || !isUnsure(id, state) || index.has(row, 'atService')) return;
  keepEarlier(row, state);
  index.setState(row, 'unknown');
}

/** Whether a job is sent again because it is named, and no earlier run that this one goes on with has done or may have billed that. */
export function isSentAgain(job: Job, { policy, redo, state }: Planning): boolean {
  if (!redo?.names(job)) return false;
  const isMade = state.redo?.ends.get(job.id) === 'done';
  return !redo.goesOn || !(isMade || (isUnsure(job.id, state) && !policy.retryUnknown));
}

/** Whether a job that has an answer is sent again as it is. */
function isMadeAgain(job: Job, row: number, planning: Planning): boolean {
  const { policy, state } = planning;
  const { earlier, index } = state;
  if (index.stateOf(row) !== 'done') return policy.retryUnknown === true && earlier.has(row);
  return isSentAgain(job, planning) || (policy.retryIncomplete === true && index.has(row, 'incomplete'));
}

/**
 * Whether the results of these jobs can be used in this run: each is sent in it, or is done and stays. With a limit, a job takes the place
 * of none that it waits for, and is not sent with what another run replaces. A job that is named takes results that stay though what
 * they use is newer, unless all changes are accepted.
 */
async function areUsable(parents: readonly Job[], planning: Planning, isRedone: boolean): Promise<boolean> {
  const { jobs, plan, policy, state } = planning;
  const { index } = state;
  const takesOlder = isRedone && !policy.acceptChanges;
  for (const parent of parents) {
    const at = index.find(parent.id);
    if (index.has(at, 'toSend')) continue;
    if (index.stateOf(at) !== 'done' || isMadeAgain(parent, at, planning)) return false;
    if (index.digestOf(at) !== (await jobs.links().digestJob(parent, plan.origin))) return false;
    if (!takesOlder && (await usesOlderResult(parent, at, planning))) return false;
  }
  return true;
}

/** The error for jobs that were edited since they were sent; `parts`: in what the first of them was. */
export function changedError(
  changed: Pick<ChangedJobs, 'ids' | 'jobs'> & Partial<ChangedJobs>,
  parts: readonly string[] = [],
): GatewayError {
  const { ids, jobs, areFailed, areDone, areStale, byLineBreak = 0, lineBreakOf } = changed;
  const more = jobs > ids.length ? ` and ${jobs - ids.length} more` : '';
  const names = `${ids.join(', ')}${more}`;
  const [were, them] = jobs === 1 ? ['1 job was', 'it'] : [`${jobs} jobs were`, 'them'];
  const flag = areFailed ? '--retry-failed' : '--accept-changes';
  const keep = areDone ? ['to keep the answers that are whole: --retry-incomplete'] : [];
  if (areStale) {
    const leave = 'to leave them as they are: name with --redo what is to be sent';
    return editedError(`${were} sent with a result that another job replaces: ${names}`, [
      `to make those again too, after what they use: ${flag}; ${leave}`,
      ...keep,
    ]);
  }
  const what = `${were} edited since an earlier run sent ${them}`;
  const hints = [`to send just those again: ${flag}; to keep both: another folder with -o`, ...keep];
  if (lineBreakOf !== undefined) {
    const isAll = byLineBreak === jobs;
    const again = isAll ? 'nothing again' : `just ${jobs - byLineBreak} again`;
    const how = `${isAll ? '' : `${byLineBreak} of them `}by the line break at the end of ${lineBreakOf} alone`;
    return editedError(`${what}, ${how}: ${names}`, [`to send ${again}: put the line break back as it was`, ...hints]);
  }
  if (parts.length > 0) {
    const first = jobs === 1 ? '' : 'the first ';
    return editedError(`${what}: ${names} (${first}in ${parts.join(', ')})`, hints);
  }
  const shared = 'an edit of what jobs share counts for each: the template, --defaults, -m, the profile, files';
  return editedError(`${what}: ${names}`, more ? [...hints, shared] : hints);
}

function editedError(message: string, hints: readonly string[]): GatewayError {
  return new GatewayError('batch-locked', message, { hint: hints.join('\n'), sent: 'no' });
}
