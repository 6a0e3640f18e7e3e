/** Values by their id, for as long as the gateway runs. If they get too large together, the oldest are dropped. */
export function createShelf<T extends { id: string }>({
  most,
  sizeOf,
  drop = () => undefined,
}: {
  most: number;
  sizeOf: (item: T) => number;
  drop?: (item: T) => void;
}) {
  const items = new Map<string, T>();
  let size = 0;
  const remove = (id: string): void => {
    const item = items.get(id);
    if (item === undefined) return;
    items.delete(id);
    size -= sizeOf(item);
    drop(item);
  };
  return {
    add(item: T): void {
      remove(item.id);
      items.set(item.id, item);
      size += sizeOf(item);
      for (const oldest of items.keys()) {
        if (size <= most) return;
        remove(oldest);
      }
    },
    find: (id: string): T | undefined => items.get(id),
    /** The newest first. */
    list: (): T[] => [...items.values()].toReversed(),
    remove,
    clear(): void {
      for (const id of items.keys()) remove(id);
    },
  };
}
