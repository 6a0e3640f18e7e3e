import { isThere, nameUses, type RowTable } from './run/table.ts';
import type { BatchState } from './folder/state.ts';
import type { RowState } from './row.ts';
import type { Counts } from './types.ts';

/** Counts the rows of a table by the state of their slots. `isCounted`: whether a row is counted, by its place. */
export function countRows(
  table: NotedTable,
  state: NotedState,
  isCounted: (place: number) => boolean = () => true,
): Counts {
  const notes = findNotes(table, state);
  function* listCounted(): Generator<CountedRow> {
    for (let place = 0; place < table.size; place++)
      if (isCounted(place)) yield { slot: table.slots[place] as number, state, notes };
  }
  return countStates(listCounted());
}

/** A row by its slot, with the state that has the slot, and the notes on the rows of its table. */
export interface CountedRow {
  slot: number;
  state: Pick<BatchState, 'slots' | 'atService'>;
  notes: RowNotes;
}

/** Counts rows, of one state or of several, by the state of their slots. */
export function countStates(rows: Iterable<CountedRow>): Counts {
  const counts: Counts = { jobs: 0, done: 0, incomplete: 0, failed: 0, unknown: 0, pending: 0 };
  const count = (name: keyof Counts): void => void (counts[name] = (counts[name] ?? 0) + 1);
  for (const { slot, state, notes } of rows) {
    const { slots } = state;
    const told = getToldState(slot, state);
    count('jobs');
    count(told);
    if (told === 'pending') for (const name of ['edited', 'waiting'] as const) if (notes[name].has(slot)) count(name);
    if (told === 'unknown' && slots.answersOf(slot) > 0) count('answered');
    if (told !== 'done') continue;
    if (slots.has(slot, 'cut')) count('incomplete');
    if (slots.has(slot, 'again')) count('again');
    else if (slots.has(slot, 'tried')) count('tried');
    if (notes.outdated.has(slot)) count('outdated');
  }
  return counts;
}

/**
 * The state of a row as people are told it, by its slot; -1 is a slot that the batch does not have. A row that is to be made again is told as
 * what it was until then: done, as its answer counts, or, without one, failed or unknown.
 */
export function getToldState(slot: number, { atService, slots }: Pick<BatchState, 'slots' | 'atService'>): RowState {
  if (slot < 0) return 'pending';
  if (atService.has(slot)) return 'submitted';
  const state = slots.stateOf(slot);
  if (state === 'failed') return 'failed';
  if (state === 'sent') return 'unknown';
  if (slots.answersOf(slot) > 0) return 'done';
  if (!slots.has(slot, 'again')) return 'pending';
  return slots.has(slot, 'tried') ? 'failed' : 'unknown';
}

type NotedTable = Pick<RowTable, 'size' | 'slots' | 'edited' | 'links'>;
type NotedState = Pick<BatchState, 'links' | 'slots' | 'atService'>;

/** The slots of rows of which more is told than their state, by what earlier runs left and by the rows that they use. */
export interface RowNotes {
  edited: ReadonlySet<number>;
  /** Rows without an answer that cannot be sent before others have theirs. */
  waiting: ReadonlySet<number>;
  /** Rows whose answers were made of other answers than those that the rows they use have now, and the rows that use these: all are made again together. */
  outdated: ReadonlySet<number>;
}

export function findNotes(table: NotedTable, state: NotedState): RowNotes {
  const { links, slots } = state;
  const slotOf = (place: number): number => table.slots[place] as number;
  const waiting = new Set<number>();
  const outdated = new Set<number>();
  const users = new Map<number, number[]>();
  for (const [place, { parents }] of table.links) {
    const slot = slotOf(place);
    const uses = parents.map((parent) => ({ slot: slotOf(parent), generation: slots.countingOf(slotOf(parent)) }));
    if (getToldState(slot, state) === 'pending' && !uses.every((use) => isThere(use, slots))) waiting.add(slot);
    // In the folder of another shard, nothing is known of the row.
    const made = links.get(slot);
    if (made === undefined) continue;
    if (made.uses !== nameUses(uses, slots)) outdated.add(slot);
    for (const use of uses) {
      const known = users.get(use.slot);
      if (known) known.push(slot);
      else users.set(use.slot, [slot]);
    }
  }
  // The set grows while it is walked.
  for (const slot of outdated) for (const user of users.get(slot) ?? []) outdated.add(user);
  return { edited: new Set(Array.from(table.edited, slotOf)), waiting, outdated };
}

/** The number of answers that no row of the table wants. */
export function countAside({ slots }: Pick<BatchState, 'slots'>): number {
  let count = 0;
  for (let slot = 0; slot < slots.size; slot++) if (!slots.has(slot, 'wanted')) count += slots.answersOf(slot);
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
