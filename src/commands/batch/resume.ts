import {
  type Batch,
  type BatchPlan,
  formatCount,
  idsWithoutImage,
  listStuck,
  listVariations,
  isTokenLimitReached,
  type LostEnds,
  parseVariedId,
  sentBefore,
} from '../../batch/index.ts';
import type { Context } from '../../cli/context.ts';
import { describeCosts } from '../../cost/price.ts';
import { shellWord } from '../../shell-word.ts';
import type { RunningBatch } from './batch.ts';
import type { JobSource } from './jobs/source.ts';
import type { BatchPlanFacts } from './plan.ts';
import { missingImageStep, nameSome } from './summary.ts';

/** What people are told of a batch that goes on, before anything of it is sent. */
export async function noteResume(batch: RunningBatch): Promise<void> {
  const { plan, facts, context, source, flags, state } = batch;
  const before = sentBefore(plan) + plan.again;
  if (before > 0) {
    const stuck = plan.parents.size > 0 ? listStuck({ plan, state }).size : 0;
    const isSpent = isTokenLimitReached(state.usage, flags.maxTokensTotal);
    const next = describeNext(plan, isSpent ? plan.toSend : stuck);
    await context.ui.note(`${before} of ${formatCount(plan.jobs, 'job')} ${be(before, 'was')} sent before; ${next}`);
  }
  const edited = describeEdited(facts);
  if (edited !== undefined) await context.ui.note(edited);
  const made = describeMade(plan, state);
  if (made !== undefined) await context.ui.note(made);
  const stale = describeStale(plan);
  if (stale !== undefined) await context.ui.note(stale);
  for (const line of describeMoves(plan, source)) await context.ui.note(line);
  if (plan.removed.length > 0) await context.ui.warn(describeRemoved(batch));
}

/** How many jobs are sent, without those that are held back, and how many of them a second time: those may be paid for twice. */
function describeNext({ toSend, again }: BatchPlan, held: number): string {
  const now = toSend - held;
  if (held > 0 || again === 0) return `${now} ${be(now, 'is')} sent now`;
  const first = toSend - again;
  return `${again} ${be(again, 'is')} sent again${first > 0 ? `, ${first} for the first time` : ''}`;
}

/** The jobs that are sent again because they were edited, and the most that they can cost. */
export function describeEdited({ edited: { ids, jobs, stale, billed, most } }: BatchPlanFacts): string | undefined {
  if (jobs === 0) return undefined;
  const names = `${ids.join(', ')}${jobs > ids.length ? ` and ${jobs - ids.length} more` : ''}`;
  const cost = most === undefined || most.length === 0 ? '' : `, for at most ${describeCosts(most)}`;
  // Jobs that failed and were not billed are paid for once.
  const some = billed > 0 ? ` (${billed} of them ${be(billed, 'is')} paid for again)` : '';
  const next = billed === jobs ? 'paid for again' : `sent again${some}`;
  const [edited, use] = [`${be(jobs, 'was')} edited`, `${jobs === 1 ? 'uses' : 'use'} a newer result`];
  const why = stale === 0 ? edited : stale === jobs ? use : `${edited} or ${use}`;
  return `${formatCount(jobs, 'job')} ${why} and ${be(jobs, 'is')} ${next}${cost}: ${names}`;
}

/** Jobs that `--redo` names, and that an earlier run with the same words made again. */
export function describeMade({ redo }: BatchPlan, state: Pick<Batch['state'], 'index' | 'redo'>): string | undefined {
  const { index } = state;
  const made = [...(state.redo?.ends ?? [])].filter(([, end]) => end === 'done').map(([id]) => id);
  // One that was edited since can be sent all the same.
  const ids = made.filter((id) => !index.has(index.find(id), 'toSend'));
  if (!redo?.goesOn || ids.length === 0) return undefined;
  const [are, them] = ids.length === 1 ? ['is', 'it'] : ['are', 'them'];
  const what = `${formatCount(ids.length, 'job')} of --redo ${be(ids.length, 'was')} made again before, and ${are} not sent again`;
  return `${what}: ${nameSome(ids)}; to make ${them} once more, name ${them} alone`;
}

/** Jobs that `--redo` does not name, and that use what it makes again. */
export function describeStale({ leftStale }: BatchPlan): string | undefined {
  const ids = [...leftStale];
  if (ids.length === 0) return undefined;
  const [keep, they] = ids.length === 1 ? ['keeps', 'it'] : ['keep', 'they'];
  const what = `${formatCount(ids.length, 'job')} ${keep} what ${they} made of an earlier result: ${nameSome(ids)}`;
  return `${what}; to make those again too: --accept-changes`;
}

/** Jobs that have another place or another id in the file, and are the same. */
export function describeMoves({ moves, moved }: BatchPlan, { name, nameJobs }: JobSource): string[] {
  const renamed = moves.flatMap(({ to }) => to ?? []);
  const lines: string[] = [];
  if (moved > 0)
    lines.push(
      `${formatCount(moved, 'job')} moved in ${name}, known by what was sent: not paid for again; ${nameJobs}`,
    );
  const [first] = renamed;
  if (first === undefined) return lines;
  const what = `${formatCount(renamed.length, 'job')} of ${name} with another id than before: not paid for again`;
  lines.push(`${what}; to send ${renamed.length === 1 ? 'it' : 'one'} again: --redo ${shellWord(first)}`);
  return lines;
}

/** Jobs that left the file; where all of them did because --vary has fewer values, that is said instead. */
export function describeRemoved({
  plan: { removed },
  policy,
  source: { name },
  state,
}: Pick<RunningBatch, 'plan' | 'policy' | 'source' | 'state'>): string {
  const now = listVariations(policy.vary);
  const before = [...now, ...[...state.varied.values()].flatMap(listVariations)];
  const hasLeft = (id: string): boolean => {
    const suffix = parseVariedId(id, before)?.variation.suffix;
    return suffix !== undefined && now.every((one) => one.suffix !== suffix);
  };
  const isDropped = state.varied.size > 0 && removed.every(hasLeft);
  const where = isDropped ? 'of values that --vary no longer has' : `no longer in ${name}`;
  const what = `${formatCount(removed.length, 'job')} of the journal ${be(removed.length, 'is')} ${where}`;
  return `${what}: reports leave ${removed.length === 1 ? 'it' : 'them'} out, but for --all`;
}

/** Ids decide what is sent again: a column counts only if it is named, and a folder keeps the ids that it began with. */
export async function noteIdColumn({ name, nameJobs }: JobSource, { ui }: Context): Promise<void> {
  await ui.note(`the jobs of ${name} are named by the numbers of their rows; ${nameJobs}`);
}

/** Rows of empty cells, which are no jobs. */
export async function noteEmptyRows({ name, emptyRows = 0 }: JobSource, { ui }: Context): Promise<void> {
  await ui.note(`${formatCount(emptyRows, 'row')} of ${name} without a value ${be(emptyRows, 'is')} left out`);
}

/** Jobs that are done, and whose images were removed since. */
export async function noteGone(ends: LostEnds, state: Batch['state'], { ui }: Context): Promise<void> {
  const { index } = state;
  const isLeft = (row: number): boolean => index.has(row, 'inFile') && !index.has(row, 'toSend');
  const step = missingImageStep(
    idsWithoutImage(ends, index).filter((id) => isLeft(index.find(id))),
    [state],
  );
  if (step !== undefined) await ui.warn(step);
}

export function be(count: number, one: 'is' | 'was'): string {
  if (count === 1) return one;
  return one === 'is' ? 'are' : 'were';
}
