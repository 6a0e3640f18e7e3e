import type { BatchState } from '../folder/state.ts';
import type { BatchPolicy } from '../types.ts';
import { isRetried } from './decide.ts';
import type { RowTable } from './table.ts';

/**
 * Finds the slots with which a row would stay as it is though what it uses is made again or was edited, as the user has not said to pay for
 * it, too: those of the same question, as the row had it or as another row left it; and the one that the row had if what it uses asks
 * something else now. To be asked once the slot of the row in this run is known.
 */
export function openStale(
  table: RowTable,
  { links, manifest: { rows: before }, slots }: Pick<BatchState, 'links' | 'manifest' | 'slots'>,
): (place: number) => Generator<number, void> {
  const byId = new Map<number, number>();
  // A row that was renamed has another id.
  const byOwn = new Map<string, number>();
  for (const [place, own] of before.own) {
    byId.set(before.ids[place] as number, place);
    byOwn.set(own, place);
  }
  const byQuestion = new Map<string, number[]>();
  for (const [slot, { asks }] of links) {
    const known = byQuestion.get(asks);
    if (known) known.push(slot);
    else byQuestion.set(asks, [slot]);
  }
  const isPaid = (slot: number): boolean => slots.answersOf(slot) > 0 || slots.stateOf(slot) === 'sent';
  const findHad = (place: number): number | undefined => {
    const own = table.own.get(place) as string;
    const sameId = byId.get(table.ids[place] as number) ?? -1;
    const was = before.own.get(sameId) === own ? sameId : byOwn.get(own);
    return was === undefined ? undefined : before.slots[was];
  };
  const known = new Set(links.size > 0 ? before.slots.subarray(0, before.size) : []);
  return function* (place) {
    const slot = table.slots[place] as number;
    const asks = table.links.get(place)?.asks;
    if (asks === undefined || isPaid(slot)) return;
    const had = findHad(place);
    // An earlier run was allowed to pay for it, and did not come to that.
    if (known.has(slot) || (had !== undefined && !isPaid(had))) return;
    const isUsable = (one: number): boolean => one !== slot && isPaid(one);
    if (had !== undefined && isUsable(had) && links.get(had)?.asks === asks) yield had;
    const same = byQuestion.get(asks) ?? [];
    // The newest comes first.
    for (let at = same.length - 1; at >= 0; at--) if (isUsable(same[at] as number)) yield same[at] as number;
    if (had !== undefined && isUsable(had)) yield had;
  };
}

/**
 * Finds the rows that wait: they use one that failed or may have been billed, and is not sent again; or one that waits. `see` takes each
 * row that has its slot, before the rows that use it.
 */
export function openWaiting(
  table: RowTable,
  { policy, state }: { policy: BatchPolicy; state: Pick<BatchState, 'atService' | 'slots'> },
): { has(place: number): boolean; see(place: number): void } {
  const { atService, slots } = state;
  const waiting = new Set<number>();
  const stateOf = (place: number) => slots.stateOf(table.slots[place] as number);
  const isLeft = (place: number): boolean => {
    const slot = table.slots[place] as number;
    return ['failed', 'sent'].includes(stateOf(place)) && !atService.has(slot) && !isRetried(slot, policy, state);
  };
  const has = (place: number): boolean =>
    (table.links.get(place)?.parents ?? []).some((used) => waiting.has(used.place) || isLeft(used.place));
  return {
    has,
    see(place) {
      if (stateOf(place) === 'pending' && has(place)) waiting.add(place);
    },
  };
}
