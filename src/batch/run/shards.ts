import { minOf } from '../../library/index.ts';
import type { Slots } from '../folder/slots.ts';
import type { Shard } from '../types.ts';
import type { RowTable } from './table.ts';

/** The shards of the rows of a table. To be asked once the slots of the rows are known. */
export interface Sharding {
  /** Whether a row belongs to the shard of this run. */
  isOwn(place: number): boolean;
  /** The number of the shard that a row belongs to, from 1. */
  shardOf(place: number): number;
}

/** Parts the rows among shards by their keys; rows that use each other go to one shard. */
export function partRows(table: RowTable, shard: Shard | undefined, slots: Slots): Sharding {
  if (shard === undefined) return { isOwn: () => true, shardOf: () => 1 };
  const families = table.links.size > 0 ? joinFamilies(table) : undefined;
  const shardOf = (place: number): number => {
    const roots = families?.rootsOf(place) ?? [place];
    return (minOf(roots.map((root) => slots.headOf(table.slots[root] as number))) % shard.total) + 1;
  };
  return { isOwn: (place) => shardOf(place) === shard.index, shardOf };
}

/** The families of rows that use each other, however far: all rows of a family go to one shard. */
function joinFamilies({ links, size }: RowTable): { rootsOf(place: number): readonly number[] } {
  const heads = new Int32Array(size).map((_, place) => place);
  const headOf = (place: number): number => {
    let head = place;
    while (heads[head] !== head) head = heads[head] as number;
    heads[place] = head;
    return head;
  };
  for (const [child, { parents }] of links)
    for (const parent of parents) {
      const [one, other] = [headOf(child), headOf(parent)];
      heads[Math.max(one, other)] = Math.min(one, other);
    }
  const roots = new Map<number, number[]>();
  for (const { parents } of links.values())
    for (const place of parents) {
      if (links.has(place)) continue;
      const known = roots.get(headOf(place)) ?? [];
      if (!known.includes(place)) known.push(place);
      roots.set(headOf(place), known);
    }
  return { rootsOf: (place) => roots.get(headOf(place)) ?? [place] };
}
