/** The number of values on a shelf. */
const most = 1000;

/** Values by their id, for as long as the gateway runs. If there are too many, the oldest are dropped. */
export interface Shelf<T extends { id: string }> {
  add(item: T): void;
  find(id: string): T | undefined;
  /** The newest first. */
  list(): T[];
  remove(id: string): void;
}

export function createShelf<T extends { id: string }>(): Shelf<T> {
  const items = new Map<string, T>();
  return {
    add(item) {
      items.delete(item.id);
      items.set(item.id, item);
      const [oldest] = items.keys();
      if (items.size > most && oldest !== undefined) items.delete(oldest);
    },
    find: (id) => items.get(id),
    list: () => [...items.values()].toReversed(),
    remove: (id) => void items.delete(id),
  };
}
