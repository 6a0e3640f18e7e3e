import { type AnswerUse, readUse, type RowTable } from './run/table.ts';
import type { BatchState } from './folder/state.ts';
import type { Counts } from './types.ts';

/** Counts the rows of a table by the state of their slots. `isOwn`: whether a row belongs to this shard. */
export function countRows(
  table: Pick<RowTable, 'size' | 'slots' | 'edited'>,
  state: Pick<BatchState, 'slots' | 'atService' | 'manifest'>,
  isOwn: (place: number) => boolean = () => true,
): Counts {
  const { slots, atService } = state;
  const outdated = findOutdated(state);
  const counts: Counts = { jobs: 0, done: 0, incomplete: 0, failed: 0, unknown: 0, pending: 0 };
  for (let place = 0; place < table.size; place++) {
    if (!isOwn(place)) continue;
    counts.jobs++;
    const slot = table.slots[place] as number;
    const slotState = slots.stateOf(slot);
    if (atService.has(slot)) counts.submitted = (counts.submitted ?? 0) + 1;
    else if (slotState === 'failed') counts.failed++;
    else if (slotState === 'sent') counts.unknown++;
    else if (slots.answersOf(slot) === 0) {
      counts.pending++;
      if (table.edited.has(place)) counts.edited = (counts.edited ?? 0) + 1;
    } else {
      counts.done++;
      if (slots.has(slot, 'cut')) counts.incomplete++;
      if (slots.has(slot, 'again')) counts.again = (counts.again ?? 0) + 1;
      if (outdated.has(slot)) counts.outdated = (counts.outdated ?? 0) + 1;
    }
  }
  return counts;
}

/**
 * Finds the slots whose answers were made of an earlier answer than the one that counts by now, or of one to another question; and the
 * slots that use these: what makes the first again makes them again too.
 */
export function findOutdated(state: TableState): ReadonlySet<number> {
  const { slots } = state;
  return findUsers(state, (_, { slot: used, generation }) => {
    // In the folder of another shard, nothing is known of the row that is used.
    if (slots.answersOf(used) === 0) return undefined;
    return slots.countingOf(used) !== generation || !slots.has(used, 'wanted');
  });
}

/** Finds the slots of rows without an answer that wait for rows which failed, or may have been billed, however far. */
export function findWaiting(state: TableState): ReadonlySet<number> {
  const { slots } = state;
  return findUsers(state, (slot, { slot: used }) => {
    if (slots.stateOf(slot) !== 'pending') return undefined;
    return ['failed', 'sent'].includes(slots.stateOf(used));
  });
}

type TableState = Pick<BatchState, 'manifest' | 'slots'>;

/** Finds the slots with a use that is hit, and all that use these. `isHit` returns undefined for a use that does not count. */
function findUsers(
  { manifest, slots }: TableState,
  isHit: (slot: number, use: AnswerUse) => boolean | undefined,
): ReadonlySet<number> {
  const found = new Set<number>();
  const users = new Map<number, number[]>();
  for (const [slot, text] of manifest.uses)
    for (const name of text.split(' ')) {
      const use = readUse(name, slots);
      const hit = use.slot < 0 ? undefined : isHit(slot, use);
      if (hit === undefined) continue;
      if (hit) found.add(slot);
      const known = users.get(use.slot);
      if (known) known.push(slot);
      else users.set(use.slot, [slot]);
    }
  // The set grows while it is walked.
  for (const slot of found) for (const user of users.get(slot) ?? []) found.add(user);
  return found;
}

/** The number of answers that no row of the table wants. */
export function countAside({ slots }: Pick<BatchState, 'slots'>): number {
  let count = 0;
  for (let slot = 0; slot < slots.size; slot++) if (!slots.has(slot, 'wanted')) count += slots.answersOf(slot);
  return count;
}

/** The number of answers of a slot beside the one that counts. */
function countOtherAnswers(slot: number, { slots }: Pick<BatchState, 'slots'>): number {
  return slot < 0 ? 0 : Math.max(0, slots.answersOf(slot) - 1);
}

/** The number of answers of rows of the table beside those that count. */
export function countEarlier(state: Pick<BatchState, 'slots'>): number {
  const { slots } = state;
  let count = 0;
  for (let slot = 0; slot < slots.size; slot++) if (slots.has(slot, 'wanted')) count += countOtherAnswers(slot, state);
  return count;
}

/** `1 job`, `2 jobs` */
export function formatCount(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

/** At most this many of several jobs are named. */
export const maxNamed = 5;

/** The first few names, and the number of the others. `count`: how many there are, if `names` are only the first of them. */
export function nameSome(names: readonly string[], count = names.length): string {
  const named = names.slice(0, maxNamed);
  const more = count > named.length ? ` and ${count - named.length} more` : '';
  return `${named.join(', ')}${more}`;
}
