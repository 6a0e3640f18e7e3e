/** How many numbers are tried one by one; then the steps double. */
const singleSteps = 8;

/**
 * A free number, from `from` on: the first one if few are taken; after many consecutive taken ones the number of checks is
 * logarithmic.
 */
export async function freeNumber(from: number, isTaken: (n: number) => Promise<boolean>): Promise<number> {
  let taken = from - 1;
  let free = from;
  for (let step = 1, checks = 1; await isTaken(free); checks++) {
    taken = free;
    if (checks >= singleSteps) step *= 2;
    free += step;
  }
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2);
    if (await isTaken(middle)) taken = middle;
    else free = middle;
  }
  return free;
}
