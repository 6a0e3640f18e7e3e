import { ownOf, type RowTable } from './table.ts';

/**
 * Whether the row at a place of the last run is another one than the row at a place now, though they have the same number: what it
 * asked is asked by more other rows now than then, or what it asks now was asked by more other rows then.
 */
export function isMoved(was: number, is: number, { before, now }: Record<'before' | 'now', RowTable>): boolean {
  const [old, current] = [questionOf(before, was), questionOf(now, is)];
  if (old === current) return false;
  const [oldThen, oldNow] = [countOthers(before, old, was), countOthers(now, old, is)];
  const [currentThen, currentNow] = [countOthers(before, current, was), countOthers(now, current, is)];
  return oldNow > oldThen || currentThen > currentNow;
}

/** What tells the question of a row from others, without the answers that it uses. */
function questionOf(table: RowTable, place: number): string | number {
  return ownOf(table, place) ?? (table.firsts[place] as number);
}

/** The number of rows that ask something, beside one row. */
function countOthers(table: RowTable, question: string | number, except: number): number {
  let count = 0;
  for (let place = 0; place < table.size; place++)
    if (place !== except && questionOf(table, place) === question) count++;
  return count;
}
