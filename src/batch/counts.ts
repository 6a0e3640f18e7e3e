import { nameUses, type RowTable } from './run/table.ts';
import type { BatchState } from './folder/state.ts';
import type { Counts } from './types.ts';

/** Counts the rows of a table by the state of their slots. `isOwn`: whether a row belongs to this shard. */
export function countRows(
  table: Pick<RowTable, 'size' | 'slots' | 'edited' | 'parents'>,
  state: Pick<BatchState, 'links' | 'slots' | 'atService'>,
  isOwn: (place: number) => boolean = () => true,
): Counts {
  const outdated = findOutdated(table, state);
  function* listOwn(): Generator<CountedRow> {
    for (let place = 0; place < table.size; place++) {
      const slot = table.slots[place] as number;
      if (isOwn(place)) yield { slot, state, isEdited: table.edited.has(place), isOutdated: outdated.has(slot) };
    }
  }
  return countStates(listOwn());
}

/** A row by its slot, and the state that has the slot. A row without an answer can be edited, another one outdated. */
export interface CountedRow {
  slot: number;
  state: Pick<BatchState, 'slots' | 'atService'>;
  isEdited: boolean;
  isOutdated: boolean;
}

/** Counts rows, of one state or of several, by the state of their slots. */
export function countStates(rows: Iterable<CountedRow>): Counts {
  const counts: Counts = { jobs: 0, done: 0, incomplete: 0, failed: 0, unknown: 0, pending: 0 };
  for (const { slot, state, isEdited, isOutdated } of rows) {
    const { slots } = state;
    const told = getToldState(slot, state);
    counts.jobs++;
    counts[told] = (counts[told] ?? 0) + 1;
    if (told === 'pending' && isEdited) counts.edited = (counts.edited ?? 0) + 1;
    if (told !== 'done') continue;
    if (slots.has(slot, 'cut')) counts.incomplete++;
    if (slots.has(slot, 'again')) counts.again = (counts.again ?? 0) + 1;
    else if (slots.has(slot, 'tried')) counts.tried = (counts.tried ?? 0) + 1;
    if (isOutdated) counts.outdated = (counts.outdated ?? 0) + 1;
  }
  return counts;
}

type ToldState = keyof Pick<Counts, 'done' | 'failed' | 'unknown' | 'pending' | 'submitted'>;

/**
 * The state of a row as people are told it, by its slot; -1 is a slot that the batch does not have. A row that is to be made again is done:
 * its answer counts until then.
 */
export function getToldState(slot: number, { atService, slots }: Pick<BatchState, 'slots' | 'atService'>): ToldState {
  if (slot < 0) return 'pending';
  if (atService.has(slot)) return 'submitted';
  const state = slots.stateOf(slot);
  if (state === 'failed') return 'failed';
  if (state === 'sent') return 'unknown';
  return slots.answersOf(slot) > 0 ? 'done' : 'pending';
}

type LinkedTable = Pick<RowTable, 'parents' | 'slots'>;

/**
 * Finds the slots of rows whose answers were made of other answers than those that the rows they use have now; and the slots of rows that use
 * these: what makes the first again makes them again too.
 */
export function findOutdated(
  table: LinkedTable,
  { links, slots }: Pick<BatchState, 'links' | 'slots'>,
): ReadonlySet<number> {
  return findUsers(table, (place, parents) => {
    // In the folder of another shard, nothing is known of the row.
    const made = links.get(table.slots[place] as number);
    const used = parents.map((parent) => table.slots[parent] as number);
    const uses = used.map((slot) => ({ slot, generation: slots.countingOf(slot) }));
    return made && made.uses !== nameUses(uses, slots);
  });
}

/** Finds the slots of rows without an answer that wait for rows which failed, or may have been billed, however far. */
export function findWaiting(table: LinkedTable, { slots }: Pick<BatchState, 'slots'>): ReadonlySet<number> {
  const stateOf = (place: number) => slots.stateOf(table.slots[place] as number);
  return findUsers(table, (place, parents) =>
    stateOf(place) === 'pending' ? parents.some((parent) => ['failed', 'sent'].includes(stateOf(parent))) : undefined,
  );
}

/** Finds the slots of rows that are hit, and of all that use these. `isHit` returns undefined for a row that does not count. */
function findUsers(
  table: LinkedTable,
  isHit: (place: number, parents: readonly number[]) => boolean | undefined,
): ReadonlySet<number> {
  const found = new Set<number>();
  const users = new Map<number, number[]>();
  for (const [place, parents] of table.parents) {
    const hit = isHit(place, parents);
    if (hit === undefined) continue;
    if (hit) found.add(place);
    for (const parent of parents) {
      const known = users.get(parent);
      if (known) known.push(place);
      else users.set(parent, [place]);
    }
  }
  // The set grows while it is walked.
  for (const place of found) for (const user of users.get(place) ?? []) found.add(user);
  return new Set([...found].map((place) => table.slots[place] as number));
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
