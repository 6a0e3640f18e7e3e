import { readUse, type RowTable } from './run/table.ts';
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
export function findOutdated({ manifest, slots }: Pick<BatchState, 'manifest' | 'slots'>): ReadonlySet<number> {
  const outdated = new Set<number>();
  const users = new Map<number, number[]>();
  for (const [slot, text] of manifest.uses)
    for (const name of text.split(' ')) {
      const { slot: used, generation } = readUse(name, slots);
      // In the folder of another shard, nothing is known of the row that is used.
      if (used < 0 || slots.answersOf(used) === 0) continue;
      if (slots.countingOf(used) !== generation || !slots.has(used, 'wanted')) outdated.add(slot);
      const known = users.get(used);
      if (known) known.push(slot);
      else users.set(used, [slot]);
    }
  // The set grows while it is walked.
  for (const slot of outdated) for (const user of users.get(slot) ?? []) outdated.add(user);
  return outdated;
}

/** Finds the slots of rows without an answer that wait for rows which failed, or may have been billed, however far. */
export function findWaiting({ manifest, slots }: Pick<BatchState, 'manifest' | 'slots'>): ReadonlySet<number> {
  const waiting = new Set<number>();
  const users = new Map<number, number[]>();
  for (const [slot, text] of manifest.uses) {
    if (slots.stateOf(slot) !== 'pending') continue;
    for (const name of text.split(' ')) {
      const { slot: used } = readUse(name, slots);
      if (used < 0) continue;
      if (['failed', 'sent'].includes(slots.stateOf(used))) waiting.add(slot);
      users.set(used, [...(users.get(used) ?? []), slot]);
    }
  }
  // The set grows while it is walked.
  for (const slot of waiting) for (const user of users.get(slot) ?? []) waiting.add(user);
  return waiting;
}

/** The number of answers that no row of the table wants. */
export function countAside({ slots }: Pick<BatchState, 'slots'>): number {
  let count = 0;
  for (let slot = 0; slot < slots.size; slot++) if (!slots.has(slot, 'wanted')) count += slots.answersOf(slot);
  return count;
}

/** The number of answers of a slot beside the one that counts. */
export function countOtherAnswers(slot: number, { slots }: Pick<BatchState, 'slots'>): number {
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
