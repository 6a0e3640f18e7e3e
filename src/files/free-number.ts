/** So many numbers are looked at one by one; behind them the steps double. */
const oneByOne = 8;

/**
 * A number from `from` on that is free. Where few are taken it is the first; behind a long row of taken ones it is found in a
 * number of looks that grows with the row's logarithm.
 */
export async function freeNumber(from: number, isTaken: (n: number) => Promise<boolean>): Promise<number> {
  let taken = from - 1;
  let free = from;
  for (let step = 1, looks = 1; await isTaken(free); looks++) {
    taken = free;
    if (looks >= oneByOne) step *= 2;
    free += step;
  }
  // Somewhere between the two the row ends.
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2);
    if (await isTaken(middle)) taken = middle;
    else free = middle;
  }
  return free;
}
