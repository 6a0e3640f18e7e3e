import { maxNamed, nameSome } from '../counts.ts';
import type { BatchJobs, Job } from '../types.ts';

type ReadJobs = Pick<BatchJobs, 'read'>;

/** The ids of rows, by their places in the file. */
export async function listIds(places: readonly number[], jobs: ReadJobs): Promise<string[]> {
  return (await findRows(places, jobs)).map(({ id }) => id);
}

/** Names rows as `batch redo` takes them, by id and number: the first few of `places`, and how many more of `count` there are. */
export async function nameRows(places: readonly number[], count: number, jobs: ReadJobs): Promise<string> {
  const rows = await findRows(places.slice(0, maxNamed), jobs);
  const names = rows.map(({ id, number, isNumbered }) => (isNumbered ? id : `${id} (row ${number})`));
  return nameSome(names, count);
}

async function findRows(places: readonly number[], jobs: ReadJobs): Promise<Job[]> {
  const wanted = new Set(places);
  const rows: Job[] = [];
  let place = 0;
  if (wanted.size === 0) return rows;
  for await (const job of jobs.read(() => undefined)) {
    if (wanted.has(place++)) rows.push(job);
    if (rows.length === wanted.size) break;
  }
  return rows;
}
