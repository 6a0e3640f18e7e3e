import type { JobIndex } from './folder/state.ts';
import type { Counts } from './types.ts';

/** Counts jobs by their state; with `inFile`, those of the job file. */
export function countJobs(index: JobIndex, { jobs, inFile = false }: { jobs: number; inFile?: boolean }): Counts {
  const counts: Counts = { jobs, done: 0, incomplete: 0, failed: 0, unknown: 0, pending: 0 };
  for (let row = 0; row < index.size; row++) {
    if (index.has(row, 'removed')) counts.removed = (counts.removed ?? 0) + 1;
    if (index.has(row, 'removed') || (inFile && !index.has(row, 'inFile'))) continue;
    if (index.has(row, 'atService')) {
      counts.submitted = (counts.submitted ?? 0) + 1;
      continue;
    }
    const state = index.stateOf(row);
    if (state === 'done' || state === 'failed') counts[state]++;
    else if (state !== 'new') counts.unknown++;
    if (state === 'done' && index.has(row, 'incomplete')) counts.incomplete++;
  }
  const { done, failed, unknown, submitted = 0 } = counts;
  counts.pending = Math.max(0, jobs - done - failed - unknown - submitted);
  return counts;
}

/** `1 job`, `2 jobs` */
export function formatCount(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}
