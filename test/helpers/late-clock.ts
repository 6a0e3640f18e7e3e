import type { Io } from '../../src/cli/terminal/io.ts';

/** A clock on which every wait lasts just as long as its timer: it fires at the moment when it is called off. */
export function lateClock(): Pick<Io, 'elapsed' | 'after'> {
  let now = 0;
  return {
    elapsed: () => now,
    after: (ms, act) => {
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        now += ms;
        act();
      };
    },
  };
}
