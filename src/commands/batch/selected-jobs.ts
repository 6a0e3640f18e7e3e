import type { Job } from '../../batch/types.ts';
import { GatewayError } from '../../errors.ts';
import type { CheckedJob } from './request.ts';
import type { Batch } from './types.ts';

/** The jobs that this run sends, each once, in the order of their file. Throws GatewayError batch-locked where that changed since it was checked. */
export async function* dueJobs({ source, state: { table }, plan }: Batch): AsyncGenerator<Job, void> {
  let left = plan.due;
  for (const job of plan.ready.jobs()) {
    left--;
    table.setDue(table.find(job.key), false);
    yield job;
  }
  if (left === 0) return;
  const refuse = (cause: unknown): never => {
    throw changed(source.name, cause);
  };
  for await (const job of source.jobs(refuse)) {
    const slot = table.find(job.key);
    // What was added meanwhile is sent by the next run.
    if (slot < 0) continue;
    if (table.isReread(slot)) throw changed(`${source.name}:${job.line}`);
    table.markReread(slot);
    if (!table.isDue(slot)) continue;
    left--;
    table.setDue(slot, false);
    yield job;
  }
  if (left > 0) throw changed(source.name);
}

/** The request as it was checked, or built again from the file; what was checked is what is sent. Throws GatewayError batch-locked. */
export async function prepareDue(job: Job, { plan, builder, state, source }: Batch): Promise<CheckedJob> {
  const ready = plan.ready.take(job.id);
  const place = `${source.name}:${job.line}: the job or its files`;
  try {
    const checked = ready ?? (await builder.check(job, plan.origin));
    if (ready || state.table.requestOf(state.table.find(job.key)) === checked.request) return checked;
    await checked.own.end();
  } catch (error) {
    // It was whole when it was checked.
    throw error instanceof GatewayError && error.class === 'usage' ? changed(place, error) : error;
  }
  throw changed(place);
}

function changed(what: string, cause?: unknown): GatewayError {
  return new GatewayError('batch-locked', `${what} changed during the run`, {
    hint: 'run the same command again',
    sent: 'no',
    cause,
  });
}

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
