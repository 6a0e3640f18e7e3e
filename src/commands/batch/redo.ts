import type { Batch, Job } from '../../batch/index.ts';
import { isObject } from '../../json.ts';
import { type FoundRow, type NamedRow, noRowError, openRowNames } from './row-names.ts';

/** Finds the jobs of `--redo`. */
export function openRedo(words: readonly string[], { jobs }: Pick<Batch, 'jobs'>) {
  // Each word is tried as a whole, too, as an id can have a comma.
  const names = openRowNames(words.flatMap((word) => [word, ...word.split(',')]));
  async function findAll(word: string): Promise<readonly FoundRow[]> {
    const named = names.find(word);
    if (named.length > 0) return named;
    if (word.includes(',')) return (await Promise.all(word.split(',').map(findAll))).flat();
    throw await noRowError(word, jobs.name, listRows(jobs));
  }
  return {
    see: (job: Job, place: number): void => names.see(nameJob(job), place),
    /** The places of the jobs. Throws GatewayError usage for a word that names none. */
    async find(): Promise<Set<number>> {
      const found = (await Promise.all(words.map(findAll))).flat();
      return new Set(found.map(({ place }) => place));
    },
  };
}

/** The names of the row of a job in its file. */
export function nameJob({ id, lineId, line, number = line, isNumbered, values: { vars, prompt } }: Job): NamedRow {
  const text = typeof prompt === 'string' ? prompt : undefined;
  return { id, lineId, number, isNumbered, content: isObject(vars) ? vars : text };
}

async function* listRows(jobs: Batch['jobs']) {
  for await (const job of jobs.read(() => undefined)) yield nameJob(job);
}
