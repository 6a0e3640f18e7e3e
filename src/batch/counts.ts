import type { RowTable } from './run/table.ts';
import type { BatchState } from './folder/state.ts';
import type { Counts } from './types.ts';

/** Counts the rows of a table by the state of their slots. `isOwn`: whether a row belongs to this shard. */
export function countRows(
  table: Pick<RowTable, 'size' | 'slots'>,
  { slots, atService }: Pick<BatchState, 'slots' | 'atService'>,
  isOwn: (place: number) => boolean = () => true,
): Counts {
  const counts: Counts = { jobs: 0, done: 0, incomplete: 0, failed: 0, unknown: 0, pending: 0 };
  for (let place = 0; place < table.size; place++) {
    if (!isOwn(place)) continue;
    counts.jobs++;
    const slot = table.slots[place] as number;
    const state = slots.stateOf(slot);
    if (atService.has(slot)) counts.submitted = (counts.submitted ?? 0) + 1;
    else if (state === 'failed') counts.failed++;
    else if (state === 'sent') counts.unknown++;
    else if (slots.answersOf(slot) === 0) counts.pending++;
    else {
      counts.done++;
      if (slots.has(slot, 'cut')) counts.incomplete++;
      if (slots.has(slot, 'again')) counts.again = (counts.again ?? 0) + 1;
    }
  }
  return counts;
}

/** The number of slots with an answer that no row of the table wants. */
export function countAside({ slots }: Pick<BatchState, 'slots'>): number {
  let count = 0;
  for (let slot = 0; slot < slots.size; slot++) if (slots.answersOf(slot) > 0 && !slots.has(slot, 'wanted')) count++;
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
