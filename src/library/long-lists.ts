// A spread into a call, `list.push(...items)`, overflows the stack from about 120,000 items. These take lists of any length.

/** Adds items to the end of a list. */
export function append<Item>(list: Item[], items: Iterable<Item>): void {
  for (const item of items) list.push(item);
}

/** The greatest number; -Infinity without one. */
export function maxOf(numbers: Iterable<number>): number {
  let found = -Infinity;
  for (const number of numbers) found = Math.max(found, number);
  return found;
}

/** The least number; Infinity without one. */
export function minOf(numbers: Iterable<number>): number {
  let found = Infinity;
  for (const number of numbers) found = Math.min(found, number);
  return found;
}
