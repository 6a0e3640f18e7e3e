import { addAmounts, areWithin, greatest, heldFor } from './cost.ts';
import type { Bound, Budget } from './types.ts';

/** A budget of which a part is spent; `dearest` is the most that a request cost so far. */
export function createBudget({ most, spent, dearest }: { most: string; spent: string; dearest: string }): Budget {
  const underWay = new Set<Bound>();
  const waiting: (() => void)[] = [];
  let [used, top] = [spent, dearest];
  const roomOf = (bound: Bound): string => heldFor(bound, top);

  function end(bound: Bound, amount: string): void {
    if (!underWay.delete(bound)) return;
    used = addAmounts(used, amount);
    for (const wake of waiting.splice(0)) wake();
  }

  return {
    get spent() {
      return used;
    },
    async reserve(given, signal) {
      const bound = { ...given };
      for (;;) {
        signal?.throwIfAborted();
        const room = roomOf(bound);
        if (!areWithin([used, room], most)) return undefined;
        if (areWithin([used, room, ...[...underWay].map(roomOf)], most)) break;
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          signal?.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      underWay.add(bound);
      return {
        spend(cost) {
          if (cost !== undefined) top = greatest([top, cost.amount]);
          end(bound, cost?.amount ?? roomOf(bound));
        },
        free: () => end(bound, '0'),
      };
    },
  };
}
