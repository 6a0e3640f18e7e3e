import type { Job } from '../../batch/types.ts';
import type { CheckedJob } from './request.ts';

/** The first due jobs in the order of the file, as many as fit into little memory: they are not read again to be sent. */
export interface ReadyJobs {
  /** False from the first one on that is not kept: there is no room, or files stand behind it whose content may change. */
  keep(job: Job, checked: CheckedJob): boolean;
  /** It is forgotten: nothing else may hold it, for it grows with its answer. */
  take(id: string): CheckedJob | undefined;
  jobs(): Iterable<Job>;
}

/** What is kept at most: jobs, and characters of their bodies in all. */
const most = { jobs: 2048, characters: 4 * 1024 * 1024 };

export function createReadyJobs(): ReadyJobs {
  const kept = new Map<string, { job: Job; checked: CheckedJob }>();
  let characters = 0;
  return {
    keep(job, checked) {
      characters += checked.own.hasCleanups() || checked.hasFiles ? Number.POSITIVE_INFINITY : checked.characters;
      if (kept.size >= most.jobs || characters > most.characters) {
        characters = Number.POSITIVE_INFINITY;
        return false;
      }
      kept.set(job.id, { job, checked });
      return true;
    },
    take(id) {
      const ready = kept.get(id)?.checked;
      kept.delete(id);
      return ready;
    },
    *jobs() {
      for (const { job } of kept.values()) yield job;
    },
  };
}
