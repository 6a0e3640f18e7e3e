/**
 * The candidate that a user most likely meant, or undefined if none is near.
 * Case, `-` and `_` are ignored, so that `base_url` finds `baseUrl`. `most` is the number of letters that may differ; a third of the
 * candidate's, if it is not given.
 */
export function closest(word: string, candidates: readonly string[], most?: number): string | undefined {
  const wanted = normalised(word);
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(wanted, normalised(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  if (best === undefined) return undefined;
  return best.distance <= (most ?? Math.max(1, Math.floor(best.candidate.length / 3))) ? best.candidate : undefined;
}

function normalised(word: string): string {
  return word.slice(0, 64).replaceAll('-', '').replaceAll('_', '').toLowerCase();
}

/** The number of letters that were added, dropped, replaced or swapped with the next one. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? Infinity) + 1 : Infinity;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
