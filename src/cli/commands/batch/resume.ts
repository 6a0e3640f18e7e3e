import {
  countAside,
  countRows,
  type ChangedRow,
  findWithoutImage,
  formatCount,
  listIds,
  nameRows,
  sentBefore,
} from '../../../batch/index.ts';
import type { Context } from '../../context.ts';
import { describeCosts } from '../../../library/index.ts';
import type { PlannedBatch } from './batch.ts';
import type { JobSource } from './jobs/source.ts';
import { describeStates, listPlaces, listStates, readBilling } from './states.ts';
import { describeAside, missingImageStep } from './summary.ts';

/** Tells people of a batch that goes on, before any of its jobs is sent. */
export async function noteResume(batch: PlannedBatch): Promise<void> {
  const { plan, context, folder, state } = batch;
  const before = sentBefore(plan) + plan.again;
  if (before > 0) {
    const next = describeSending(batch);
    const states = listStates(countRows(plan.table, state, plan.isOwn), { billing: readBilling(state) });
    await context.ui.note(`${describeStates(states)}; ${next}`);
  }
  for (const line of await describeAgain(batch)) await context.ui.note(line);
  const aside = countAside(state);
  if (aside > 0) await context.ui.note(describeAside(aside, [folder?.outdir ?? batch.outdir]));
}

/** The number of jobs that are sent, and of those that are sent a second time: these may be paid for twice. */
function describeSending({ plan }: PlannedBatch): string {
  const { toSend, again, fresh } = plan;
  if (again === 0) return `${toSend} ${be(toSend, 'is')} sent now`;
  const changed = toSend - again - fresh;
  const others = [
    ...(changed > 0 ? [`${changed} as ${changed === 1 ? 'it' : 'they'} changed`] : []),
    ...(fresh > 0 ? [`${fresh} for the first time`] : []),
  ];
  return [`${again} ${be(again, 'is')} sent again`, ...others].join(', ');
}

/** Tells the jobs that are sent again, those that are sent because they were edited, and those that stay. */
export async function describeAgain(batch: PlannedBatch): Promise<string[]> {
  const { jobs, plan, policy } = batch;
  const { again, first, fresh } = plan;
  const twice =
    plan.twice > 0 ? ` (${plan.twice === again && again > 1 ? 'they' : plan.twice} may be billed twice)` : '';
  const lines = [
    again > 0 && `sent again: ${await nameRows(first.again, again, jobs)}${twice}`,
    policy.onlyNamed && fresh > 0 && `sent for the first time: ${await nameRows(first.fresh, fresh, jobs)}`,
    await describeChanged(batch),
    await describeLeft(batch),
    await describeStaying(batch),
  ];
  return lines.filter((line) => typeof line === 'string');
}

/** The rows that are sent because they, or answers that they use, changed. */
async function describeChanged({ jobs, plan, prices }: PlannedBatch): Promise<string | undefined> {
  const changed = plan.changed.filter(({ place }) => plan.due[place] === 1);
  const count = changed.length;
  if (count === 0) return undefined;
  const places = changed.map(({ place }) => place);
  const most = prices.sumMost(places) ?? [];
  const atMost = most.length > 0 ? `, for at most ${describeCosts(most)}` : '';
  const are = be(count, 'is');
  const changes = describeByKind(changed);
  const orNew = changed.some((row) => row.mayBeNew) ? ` or ${are} new, and ${are} paid for` : undefined;
  const what = orNew ?? (changes.length > 1 ? '; all are paid for again' : ` and ${are} paid for again`);
  return `${changes.join(', ')}${what}${atMost}: ${await nameRows(places, count, jobs)}`;
}

/** The rows that were edited, and that this run leaves. */
async function describeLeft({ host, jobs, plan }: PlannedBatch): Promise<string | undefined> {
  const left = [...plan.table.edited];
  const count = left.length;
  if (count === 0) return undefined;
  const orNew = plan.changed.some(({ mayBeNew }) => mayBeNew) ? ` or ${be(count, 'is')} new,` : '';
  const what = `${formatCount(count, 'job')} ${be(count, 'was')} edited${orNew} and left`;
  return `${what}: ${await nameRows(left, count, jobs)}; to make those again too: ${acceptCommand(host)}`;
}

/** The rows that keep what they have, though this run makes again what they use; those of earlier runs are told in the table of states. */
async function describeStaying(batch: PlannedBatch): Promise<string | undefined> {
  const { flags, host, jobs, plan } = batch;
  const staying = plan.kept.size === 0 || plan.again === 0 ? [] : listStaying(batch);
  if (staying.length === 0) return undefined;
  const [keep, they] = staying.length === 1 ? ['keeps', 'it'] : ['keep', 'they'];
  const what = `${formatCount(staying.length, 'job')} ${keep} what ${they} made of an earlier result`;
  const next = flags.dryRun
    ? `to make those again too: ${host.repeatCommand('--accept-changes')}`
    : `once the new one is there, to make those again too: ${acceptCommand(host)}`;
  return `${what}: ${await nameRows(staying, staying.length, jobs)}; ${next}`;
}

function acceptCommand(host: PlannedBatch['host']): string {
  return host.nextCommand('again', { flags: '--accept-changes' });
}

/** `2 jobs were edited`, `1 job uses a newer result`, `1 job comes from another shard`: those that there are. */
function describeByKind(rows: readonly ChangedRow[]): string[] {
  const says = {
    edited: (count: number) => `${be(count, 'was')} edited`,
    outdated: (count: number) => (count === 1 ? 'uses a newer result' : 'use a newer result'),
    resharded: (count: number) => (count === 1 ? 'comes from another shard' : 'come from another shard'),
  };
  const counts = Object.entries(says).map(([kind, say]) => ({
    say,
    count: rows.filter((row) => row.kind === kind).length,
  }));
  return counts.filter(({ count }) => count > 0).map(({ count, say }) => `${formatCount(count, 'job')} ${say(count)}`);
}

/** The rows that stay as they are, and those that use them: what makes the first again makes these again too. */
function listStaying({ plan: { due, kept, table }, state: { slots } }: Pick<PlannedBatch, 'plan' | 'state'>): number[] {
  const isKept = (place: number): boolean => due[place] === 0 && slots.answersOf(table.slots[place] as number) > 0;
  const staying = new Set([...kept.keys()].filter(isKept));
  for (const place of table.levels.flat())
    if (isKept(place) && table.links.get(place)?.parents.some((parent) => staying.has(parent))) staying.add(place);
  return [...staying].toSorted((a, b) => a - b);
}

/** Tells of rows of empty cells, which are no jobs. */
export async function noteEmptyRows({ name, emptyRows = 0 }: JobSource, { ui }: Context): Promise<void> {
  await ui.note(`${formatCount(emptyRows, 'row')} of ${name} without a value ${be(emptyRows, 'is')} left out`);
}

/** Tells of jobs that are done, and whose images were removed since. */
export async function noteGone({ context, folder, jobs, outdir, plan, state }: PlannedBatch): Promise<void> {
  const { due, table } = plan;
  const slots = new Set(await findWithoutImage(outdir, state));
  const places = slots.size > 0 ? listPlaces(table, (slot, place) => due[place] === 0 && slots.has(slot)) : [];
  const gone = missingImageStep(await listIds(places, jobs), folder);
  if (gone) await context.ui.warn(gone);
}

function be(count: number, one: 'is' | 'was'): string {
  if (count === 1) return one;
  return one === 'is' ? 'are' : 'were';
}
